//! What Sanity, Stellate and the storefront answer, over HTTP and through the functions' own clients.

use std::time::Duration;

use ledger::plan::Key;
use platform::{Deadline, Secret};
use purge::{PurgeReport, Stellate, StellateConfig, Storefront, StorefrontConfig, Target};
use routing::row::Rows;
use sanity::query::{self, Client, QueryConfig, Token, observe};
use serde_json::{Map, Value};

use crate::server::{address, answering, block_on};

/// Dependencies of a row at most.
const DEPENDENCIES: usize = 50;

fn a_while() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

/// The query API: what is asked for has a row, or a reason why not.
pub fn sanity(input: &[u8]) {
    thread_local! {
        static CLIENT: Client = Client::new(
            query::http_client().expect("a client"),
            QueryConfig {
                api_url: Some(address()),
                project: "localproject".to_owned(),
                version: "v2025-02-19".to_owned(),
                token: Token::fixed(Secret::new("t")),
            },
        )
        .expect("a client");
    }
    answering(input);
    let ids = ["home", "about"].map(str::to_owned);
    CLIENT.with(|client| {
        let observed = block_on(observe(client, "production", &ids, a_while()));
        assert!(observed.is_err() || observed.is_ok_and(|all| all.len() == ids.len()));
        let asked = client.query::<Value>("production", "*", Map::new(), a_while());
        if let Ok(answer) = block_on(asked) {
            let mut rows = Rows::default();
            rows.read(&ids, &answer, DEPENDENCIES);
            for id in &ids {
                if let Ok(Some(row)) = rows.get(id) {
                    row.second();
                }
            }
        }
    });
}

fn keys() -> Vec<Key> {
    let object = |id: &str| Key::Object {
        graphql_type: "Page".to_owned(),
        id: id.to_owned(),
    };
    let slug = |slug: &str| Key::Slug {
        slug: slug.to_owned(),
    };
    vec![object("home"), object("about"), slug("/home"), slug("/about")]
}

/// Every key is answered exactly once, in the order given.
fn judge(keys: &[Key], report: &PurgeReport) {
    let answered: Vec<&Key> = report.outcomes.iter().map(|(key, _)| key).collect();
    assert_eq!(answered, keys.iter().collect::<Vec<_>>());
    let confirmed = report
        .outcomes
        .iter()
        .filter(|(_, outcome)| outcome.is_confirmed());
    assert!(
        report.outage.is_none() || confirmed.count() <= keys.len(),
        "{report:?}"
    );
}

/// Stellate's purging API.
pub fn stellate(input: &[u8]) {
    thread_local! {
        static STELLATE: Stellate = Stellate::new(StellateConfig::new(address()), Secret::new("t")).expect("a target");
    }
    answering(input);
    let keys = keys();
    STELLATE.with(|target| judge(&keys, &block_on(target.purge(&keys, a_while()))));
}

/// The storefront's route.
pub fn next(input: &[u8]) {
    thread_local! {
        static STOREFRONT: Storefront =
            Storefront::new(StorefrontConfig::new(address()), Secret::new("t")).expect("a target");
    }
    answering(input);
    let keys: Vec<Key> = keys().split_off(2);
    STOREFRONT.with(|target| judge(&keys, &block_on(target.purge(&keys, a_while()))));
}
