//! One row of the table: what is edited, what happens between the crash and the retry.

use std::{collections::BTreeSet, time::Duration};

use ledger::{
    item::OutboxItem,
    plan::{Entry, Key, Layer, PackedEntries, Plan, PlanChunk},
    store::{Breakers, Documents, Outbox, Recorder, Written},
};
use platform::fault::watched;
use routing::store::RouteStore;

use crate::{
    outcome::Outcome,
    world::{World, serial, source::Change, target::Mood},
};

/// Longer than the queue's delay and than the age at which a purge is repeated.
const DELAY: Duration = Duration::from_secs(45);
/// The age at which the source is trusted whatever it shows.
const TRUST: Duration = Duration::from_secs(300);

/// What an editor does to a small site: `home` and `other` show the banner; the menu is on no page yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// A further page with the banner.
    Create,
    /// `home` moves to this slug, and shows the menu instead of the banner.
    Rename(&'static str),
    /// `home` shows a hundred and fifty things more, too many for one transaction of the real store.
    Grow,
    /// `home` is unpublished.
    Delete,
    /// The banner changes.
    Component,
    /// The banner is deleted, and both pages show it still.
    DeleteComponent,
    /// `home` was deleted; then comes the webhook of an edit before that, which nothing shows.
    Impossible,
}

/// One row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case {
    /// The edit whose wake is killed.
    pub first: Option<Edit>,
    /// What is edited between the crash and the retry.
    pub newer: Option<Edit>,
    /// The newer event's message comes before the retry.
    pub overtakes: bool,
    /// The source shows the newer edit before the first wake already; its webhook comes after the crash.
    pub ahead: bool,
    /// The storefront is out until the retry.
    pub outage: bool,
    /// A plan of several chunks was left over by an earlier wake.
    pub leftover: bool,
}

/// What came of a run.
pub struct Played {
    /// The fault points that the first wake passed.
    pub reached: Vec<String>,
    /// Where everything ended.
    pub outcome: Outcome,
    /// What was purged after the newer edit.
    pub purged_since: BTreeSet<String>,
}

/// The site in one world, under ids of its own.
pub struct Site<'a, L, R> {
    pub world: &'a World<L, R>,
    pub prefix: String,
}

/// The documents of the site.
pub const DOCUMENTS: [&str; 5] = ["home", "other", "fresh", "banner", "menu"];
/// The slugs that any of them may have.
pub const SLUGS: [&str; 5] = ["/home", "/other", "/fresh", "/one", "/two"];

impl<L, R> Site<'_, L, R>
where
    L: Documents + Breakers + Recorder + Outbox,
    R: RouteStore,
{
    pub fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub fn slug(&self, slug: &str) -> String {
        slug.replacen('/', &format!("/{}", self.prefix), 1)
    }

    fn page(&self, name: &str, slug: &str, parts: &[&str]) -> Change {
        let parts: Vec<String> = parts.iter().map(|part| self.id(part)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.world
            .lake
            .write("page", &self.id(name), Some(&self.slug(slug)), &parts)
    }

    fn component(&self, kind: &str) -> Change {
        self.world.lake.write(kind, &self.id(kind), None, &[])
    }

    async fn open(&self) {
        self.component("banner");
        self.component("menu");
        for name in ["home", "other"] {
            let change = self.page(name, &format!("/{name}"), &["banner"]);
            let item = self.deliver(change).await;
            self.world.wake(&item).await.unwrap();
        }
        self.world.asked.clear();
    }

    async fn first(&self, edit: Edit) -> OutboxItem {
        if edit != Edit::Impossible {
            return self.deliver(self.edit(edit)).await;
        }
        let lost = self.edit(Edit::Rename("/one"));
        self.world.clock.skip(DELAY);
        // A delete bears the time of what it deletes.
        self.edit(Edit::Rename("/two"));
        let delete = self.deliver(self.edit(Edit::Delete)).await;
        self.world.wake(&delete).await.unwrap();
        self.world.asked.clear();
        let item = self.deliver(lost).await;
        self.world.clock.skip(TRUST);
        item
    }

    fn edit(&self, edit: Edit) -> Change {
        match edit {
            Edit::Create => self.page("fresh", "/fresh", &["banner"]),
            Edit::Rename(slug) => self.page("home", slug, &["menu"]),
            Edit::Impossible => unreachable!("only as the first edit"),
            Edit::Grow => {
                let parts: Vec<String> = (0..150).map(|part| format!("part-{part}")).collect();
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.page("home", "/one", &parts)
            }
            Edit::Delete => self.world.lake.delete(&self.id("home")),
            Edit::Component => self.component("banner"),
            Edit::DeleteComponent => self.world.lake.delete(&self.id("banner")),
        }
    }

    /// The webhook does not say the slug before: only the route knows it.
    async fn deliver(&self, mut change: Change) -> OutboxItem {
        change.body.as_object_mut().unwrap().remove("previousSlug");
        let item = self.world.deliver(&change).await;
        self.world.clock.skip(DELAY);
        item
    }

    /// As a wake leaves it that dies after its plan was stored.
    async fn leave_a_plan(&self, document_key: &str) {
        let chunks = (0..3).map(|number| {
            let slug = self.slug(&format!("/left-over-{number}"));
            let mut plan = Plan::default();
            let entry = Entry {
                key: Key::Slug { slug },
                behind: vec![],
            };
            plan.owe(&[entry], &[Layer::GraphqlCdn, Layer::Storefront], "before");
            PlanChunk {
                number,
                version: 1,
                chunks: (number == 0).then_some(3),
                entries: PackedEntries::pack(&Vec::from_iter(plan.entries())),
            }
        });
        let ledger = &self.world.ledger;
        let head = ledger.read(document_key, "").await.unwrap().head;
        let stored = ledger
            .put_plan(document_key, head.version, &Vec::from_iter(chunks))
            .await;
        assert_eq!(stored.unwrap(), Written::Done);
    }

    /// What was purged since the last call, as lines.
    fn purged(&self) -> BTreeSet<String> {
        let line = |layer: Layer, key: Key| match key {
            Key::Slug { slug } => format!("purged {layer:?} {slug}"),
            Key::Object { graphql_type, id } => format!("purged {layer:?} {graphql_type}:{id}"),
        };
        let lines = Layer::ALL.into_iter().flat_map(|layer| {
            let keys = self.world.asked.take(layer).into_iter();
            keys.map(move |key| line(layer, key))
        });
        lines.map(|line| line.replace(&self.prefix, "")).collect()
    }
}

impl Case {
    /// Plays the row; the first wake is killed at its point number `dies_at`.
    pub async fn play<L, R>(&self, world: &World<L, R>, dies_at: Option<usize>) -> Played
    where
        L: Documents + Breakers + Recorder + Outbox,
        R: RouteStore,
    {
        let prefix = format!("s{}-", serial());
        let site = Site { world, prefix };
        site.open().await;
        let first = site.first(self.first.unwrap()).await;
        let mut newer = self.newer.filter(|_| self.ahead).map(|edit| site.edit(edit));
        if self.leftover {
            site.leave_a_plan(&first.pk).await;
        }
        if self.outage {
            world.storefront.set(Mood::Out);
        }
        let watched = watched(world.wake(&first), dies_at).await;
        assert_eq!(watched.end.is_none(), dies_at.is_some());
        world.storefront.set(Mood::Works);

        let mut purged = site.purged();
        newer = newer.or_else(|| self.newer.map(|edit| site.edit(edit)));
        let mut items = vec![first];
        if let Some(newer) = newer {
            items.push(site.deliver(newer).await);
        }
        let mut messages = items.clone();
        if self.overtakes {
            messages.reverse();
        }
        for message in &messages {
            world.wake(message).await.unwrap();
        }
        world.drain(20).await;
        let purged_since = site.purged();
        purged.extend(purged_since.iter().cloned());
        Played {
            reached: watched.reached,
            outcome: Outcome::read(&site, &items, purged).await,
            purged_since,
        }
    }
}
