use ledger::{
    item::{State, Status},
    store::{
        Documents, Outbox, Recorder, Written,
        jobs::{Bookmarks, Letters, Wakes},
        operator::Inspection,
    },
};

use super::{deferral, event, mark, soon};

pub async fn law_13_a_bookmark_is_moved_by_one_run_only(ledger: &impl Bookmarks) {
    assert_eq!(ledger.bookmark("changes").await.unwrap(), (0, None));
    assert_eq!(
        ledger.set_bookmark("changes", 0, "a").await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.set_bookmark("changes", 0, "b").await.unwrap(),
        Written::Moved
    );
    assert_eq!(
        ledger.set_bookmark("changes", 1, "b").await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.bookmark("changes").await.unwrap(),
        (2, Some("b".to_owned()))
    );
    assert_eq!(
        ledger.bookmark("other").await.unwrap(),
        (0, None),
        "each job has its own"
    );
}

pub async fn law_8_a_wake_is_put_once(ledger: &(impl Wakes + Letters + Outbox)) {
    let item = event("page-1", "r1", 100).item;
    assert_eq!(ledger.wake(&item).await.unwrap(), Written::Done);
    assert_eq!(ledger.wake(&item).await.unwrap(), Written::Moved);
    assert_eq!(ledger.item(&item.pk, &item.sk).await.unwrap(), Some(item.clone()));
    let due = ledger.due("READY#0", i64::MAX, None).await.unwrap();
    assert_eq!(due.keys.len(), 1);
}

pub async fn law_15_a_failed_item_leaves_the_ready_index_and_is_listed(
    ledger: &(impl Recorder + Documents + Letters + Outbox + Inspection),
) {
    let event = event("page-1", "r1", 100);
    ledger.record(&event, soon()).await.unwrap();
    ledger.defer(&event.item, &deferral("then")).await.unwrap();
    assert_eq!(
        ledger.fail(&event.item, "it crashed").await.unwrap(),
        Written::Done
    );
    assert_eq!(ledger.fail(&event.item, "again").await.unwrap(), Written::Moved);
    let held = ledger
        .item(&event.item.pk, &event.item.sk)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((held.state, held.status), (State::Failed, None));
    assert_eq!(held.reason.as_deref(), Some("it crashed"));
    // What the consumer said of it last is what a person has to know.
    assert_eq!(held.last_error.as_deref(), Some("Stellate: 503"));
    assert_eq!(held.last_attempt.as_deref(), Some("then"));
    assert!(
        ledger
            .due("READY#0", i64::MAX, None)
            .await
            .unwrap()
            .keys
            .is_empty()
    );
    let listed = ledger.by_state("failed", "", 10, None).await.unwrap();
    assert_eq!(listed.items, std::slice::from_ref(&held));
    // Failed is still open: a later wake can apply it, and then nobody has to look at it any more.
    assert_eq!(ledger.mark(&held, &mark()).await.unwrap(), Written::Done);
    let listed = ledger.by_state("failed", "", 10, None).await.unwrap();
    assert!(listed.items.is_empty());
}

pub async fn law_12_what_is_settled_does_not_fail_any_more(
    ledger: &(impl Recorder + Documents + Letters + Outbox),
) {
    let event = event("page-1", "r1", 100);
    ledger.record(&event, soon()).await.unwrap();
    ledger.mark(&event.item, &mark()).await.unwrap();
    assert_eq!(
        ledger.fail(&event.item, "too late").await.unwrap(),
        Written::Moved
    );
    let held = ledger
        .item(&event.item.pk, &event.item.sk)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((held.state, held.status), (State::Applied, Some(Status::Sent)));
}
