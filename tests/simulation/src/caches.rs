//! Three layers of caches, filled by visitors whose renders read at one moment and store at a later one.

use std::{collections::BTreeMap, sync::Arc};

use ledger::plan::{Key, Layer};

use crate::{
    lake::{self, Page, Shown},
    process::pause,
    random::Random,
    world::World,
};

/// Seconds from a render's last read to its storing: from, to, evenly in orders of magnitude.
const RENDER: (f64, f64) = (0.1, 10.0);

/// What is cached, by slug.
#[derive(Debug, Default)]
pub struct Caches {
    /// The GraphQL CDN, one answer a page.
    pub answers: BTreeMap<usize, Shown>,
    /// The GraphQL CDN, "which page is at this slug?".
    pub routing: BTreeMap<usize, Option<usize>>,
    /// The GraphQL CDN, objects of pages with what they show.
    pub objects: BTreeMap<usize, Option<Page>>,
    /// The storefront.
    pub storefront: BTreeMap<usize, Shown>,
    /// The HTML CDN.
    pub html: BTreeMap<usize, Shown>,
}

impl World {
    /// A layer lets go of a key.
    pub fn let_go(self: &Arc<Self>, layer: Layer, key: &Key) {
        self.log(|| format!("    {layer:?} lets go of {}", name(key)));
        self.note_let_go(layer, key);
        let mut freed = None;
        self.caches(|caches| match key {
            Key::Slug { slug } => {
                let Some(slug) = lake::slug_number(slug) else {
                    return;
                };
                match layer {
                    Layer::GraphqlCdn => {
                        caches.answers.remove(&slug);
                        caches.routing.remove(&slug);
                    }
                    Layer::Storefront => {
                        caches.storefront.remove(&slug);
                    }
                    Layer::HtmlCdn => {
                        caches.html.remove(&slug);
                        freed = Some(slug);
                    }
                }
            }
            Key::Object { id, .. } => {
                let Some(document) = lake::document(&self.config, id) else {
                    return;
                };
                caches.objects.retain(|page, object| {
                    let shows = |(component, _): &(usize, Option<String>)| *component == document;
                    *page != document && !object.as_ref().is_some_and(|(_, parts)| parts.iter().any(shows))
                });
            }
        });
        if let Some(slug) = freed {
            self.expect_visitor(slug);
        }
    }

    /// The next visitor of a slug comes after a while.
    pub fn expect_visitor(self: &Arc<Self>, slug: usize) {
        let wait = self.draw("visitors", |random| random.exponential(self.script.visits[slug]));
        let world = self.clone();
        tokio::spawn(async move {
            pause(wait).await;
            world.visit(slug);
        });
    }

    /// A visitor; others follow until the HTML CDN holds the page.
    pub fn visit(self: &Arc<Self>, slug: usize) {
        if self.caches(|caches| caches.html.contains_key(&slug)) {
            return;
        }
        let world = self.clone();
        let random = self.draw("visitors", |random| {
            Random::new(random.unit().to_bits(), "render")
        });
        tokio::spawn(async move { world.render(slug, random).await });
        self.expect_visitor(slug);
    }

    async fn render(&self, slug: usize, mut random: Random) {
        pause(random.between(0.005, 0.05)).await;
        let held = self.caches(|caches| caches.storefront.get(&slug).cloned());
        let shown = match held {
            Some(shown) => shown,
            None => {
                let shown = if self.script.split {
                    self.query_apart(slug, &mut random).await
                } else {
                    self.query(slug, &mut random).await
                };
                let (low, high) = RENDER;
                pause(low * (high / low).powf(random.unit())).await;
                self.log(|| format!("    storefront stores {} {}", lake::slug_name(slug), text(&shown)));
                self.caches(|caches| caches.storefront.insert(slug, shown.clone()));
                shown
            }
        };
        pause(random.between(0.02, 0.2)).await;
        self.log(|| format!("    html stores {} {}", lake::slug_name(slug), text(&shown)));
        self.caches(|caches| caches.html.insert(slug, shown));
    }

    /// One answer a page.
    async fn query(&self, slug: usize, random: &mut Random) -> Shown {
        if let Some(held) = self.caches(|caches| caches.answers.get(&slug).cloned()) {
            return held;
        }
        pause(random.between(0.01, 0.1)).await;
        let now = self.seconds();
        let shown = self.lake(|lake| lake.shown(slug, |document| lake.visible(document, now, random)));
        pause(random.between(0.02, 0.5)).await;
        self.log(|| format!("    graphql stores {} {}", lake::slug_name(slug), text(&shown)));
        self.caches(|caches| caches.answers.insert(slug, shown.clone()));
        shown
    }

    /// The routing answer first, then the object.
    async fn query_apart(&self, slug: usize, random: &mut Random) -> Shown {
        let held = self.caches(|caches| caches.routing.get(&slug).copied());
        let page = match held {
            Some(page) => page,
            None => {
                pause(random.between(0.01, 0.1)).await;
                let now = self.seconds();
                let page = self
                    .lake(|lake| lake.shown(slug, |document| lake.visible(document, now, random)))
                    .map(|(page, _)| page);
                pause(random.between(0.02, 0.5)).await;
                self.caches(|caches| caches.routing.insert(slug, page));
                page
            }
        }?;
        if let Some(object) = self.caches(|caches| caches.objects.get(&page).cloned()) {
            return object.map(|object| (page, object));
        }
        pause(random.between(0.01, 0.1)).await;
        let now = self.seconds();
        let object = self.lake(|lake| lake.object(page, |document| lake.visible(document, now, random)));
        pause(random.between(0.02, 0.5)).await;
        self.caches(|caches| caches.objects.insert(page, object.clone()));
        object.map(|object| (page, object))
    }

    /// Until the last edit, caches drop entries by themselves.
    pub async fn evict(self: Arc<Self>) {
        pause(30.0).await;
        while self.seconds() < self.script.end {
            let (slug, both) = self.draw("evictions", |random| {
                (random.whole(0, self.config.slugs - 1), random.chance(0.5))
            });
            self.caches(|caches| {
                caches.html.remove(&slug);
                if both {
                    caches.storefront.remove(&slug);
                }
            });
            self.expect_visitor(slug);
            let wait = self.draw("evictions", |random| random.exponential(20.0));
            pause(wait).await;
        }
    }
}

/// A key in words.
pub fn name(key: &Key) -> String {
    match key {
        Key::Slug { slug } => slug.clone(),
        Key::Object { graphql_type, id } => format!("{graphql_type}:{id}"),
    }
}

/// What a visitor gets, in words.
pub fn text(shown: &Shown) -> String {
    match shown {
        None => "404".to_owned(),
        Some((page, (version, parts))) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|(component, revision)| {
                    format!("{component}:{}", revision.as_deref().unwrap_or("absent"))
                })
                .collect();
            format!("page {page} version {version} [{}]", parts.join(" "))
        }
    }
}
