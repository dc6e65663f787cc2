//! One suite for every ledger: what it asserts of the ledger in memory it asserts of DynamoDB.
//!
//! DynamoDB's half runs where `CASCATA_TEST_DYNAMODB_URL` names an emulator, as it does in `make test`; without it that half
//! says that it did not run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod suite;

use ledger::store::memory::MemoryLedger;

macro_rules! conformance {
    ($($case:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $case() {
                super::suite::$case(&super::MemoryLedger::new()).await;
            })*
        }
        mod dynamo {
            $(#[tokio::test]
            async fn $case() {
                match super::suite::dynamo(stringify!($case)).await {
                    Some(ledger) => super::suite::$case(&ledger).await,
                    None => println!("not run on DynamoDB: CASCATA_TEST_DYNAMODB_URL is not set"),
                }
            })*
        }
    };
}

conformance!(
    law_2_an_event_is_recorded_once_however_often_it_is_sent,
    law_2_twenty_at_once_leave_one_event_and_one_item,
    law_2_a_delivery_is_counted_on_an_existing_item_only,
    law_5_a_revision_told_again_with_other_content_is_kept_once_and_in_review,
    law_4_a_large_event_is_recorded,
    law_5_a_read_shows_the_head_the_open_items_and_the_plan,
    law_8_a_plan_is_stored_only_while_the_head_is_at_the_version_read,
    law_8_a_plan_of_many_chunks_reads_back_whole,
    law_10_a_chunk_is_confirmed_over_the_version_read,
    law_12_the_head_advances_in_one_step_with_its_wakes_and_without_the_plan,
    law_12_marks_are_conditional_and_leave_the_ready_index,
    law_5_what_is_set_aside_leaves_the_ready_index_and_waits_for_a_person,
    law_11_putting_off_answers_the_sends,
    law_12_the_ready_index_gives_what_is_due_and_claims_are_exclusive,
    law_12_a_claim_that_was_not_sent_is_taken_back,
    law_12_dead_items_leave_the_ready_index_and_can_still_be_applied,
    law_11_breakers_are_shared_and_versioned,
    law_8_a_webhook_of_a_reconciled_event_still_brings_its_slugs,
    law_8_a_reconciled_duplicate_of_a_webhook_adds_nothing,
    law_13_a_bookmark_is_moved_by_one_run_only,
    law_8_a_wake_is_put_once,
    law_15_a_failed_item_leaves_the_ready_index_and_is_listed,
    law_12_what_is_settled_does_not_fail_any_more,
    law_15_what_waits_for_an_operator_is_listed_page_by_page,
    law_14_a_request_is_taken_whole_or_not_at_all,
    law_14_the_history_keeps_wakes_and_requests_in_order,
    law_14_an_event_in_review_is_accepted_or_closed_once,
    evidence_reads_back_as_it_was_recorded,
    every_verb_on_what_is_not_there_moves_nothing,
);
