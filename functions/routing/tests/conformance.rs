//! One suite for every store of routes: what it asserts of the store in memory it asserts of DynamoDB.
//!
//! DynamoDB's half runs where `CASCATA_TEST_DYNAMODB_URL` names an emulator, as it does in `make test`; without it that half
//! says that it did not run.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(unreachable_pub, reason = "the suite is shared by two modules of this test")]

mod suite;

use routing::store::memory::MemoryStore;

macro_rules! conformance {
    ($($case:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $case() {
                super::suite::$case(&super::MemoryStore::new()).await;
            })*
        }
        mod dynamo {
            $(#[tokio::test]
            async fn $case() {
                match super::suite::dynamo::store().await {
                    Some(store) => super::suite::$case(&store).await,
                    None => println!("SKIPPED on DynamoDB: CASCATA_TEST_DYNAMODB_URL is not set"),
                }
            })*
        }
    };
}

conformance!(
    nothing_is_held_at_first,
    law_9_a_route_its_edges_and_its_pointer_are_written_together,
    law_9_a_write_over_another_version_changes_nothing,
    law_9_a_change_made_twice_is_made_once,
    law_9_of_twenty_writers_at_once_one_wins,
    law_9_edges_follow_the_route,
    law_9_dependants_are_bounded_by_documents,
    law_9_a_delete_never_touches_the_neighbours_pointer,
    law_9_two_pages_swap_their_slugs_in_either_order,
    law_9_a_removed_route_is_not_brought_back,
    a_page_made_of_more_documents_than_a_transaction_holds,
    many_routes_are_read_at_once_and_in_order,
    neighbours_in_name_are_told_apart,
    a_slug_may_hold_anything,
    law_13_a_walk_names_every_document_known,
);
