use ledger::{
    item::{OutboxItem, State, Status},
    resend::Claim,
    store::{Documents, Outbox, Ready, Recorder, Written},
};

use super::{NOW, event, mark, soon};

fn claim(number: u32) -> Claim {
    Claim {
        resends: number,
        attempts: number,
        next_attempt: NOW + 5000,
        message_deduplication_id: format!("evt#a{number}"),
    }
}

async fn held(ledger: &impl Outbox, item: &OutboxItem) -> OutboxItem {
    ledger.item_and_head(&item.pk, &item.sk).await.unwrap().unwrap().0
}

pub async fn law_12_the_ready_index_gives_what_is_due_and_claims_are_exclusive(
    ledger: &(impl Recorder + Outbox),
) {
    assert_eq!(ledger.ready("READY#0").await.unwrap(), Ready::default());
    for number in 0..3 {
        ledger
            .record(&event(&format!("page-{number}"), "r1", 100), soon())
            .await
            .unwrap();
    }
    let ready = Ready {
        count: 3,
        oldest_accepted_at: Some(NOW * 1000),
    };
    assert_eq!(ledger.ready("READY#0").await.unwrap(), ready);
    assert!(
        ledger
            .due("READY#0", NOW + 1499, None)
            .await
            .unwrap()
            .keys
            .is_empty(),
        "the grace"
    );
    let due = ledger.due("READY#0", NOW + 1500, None).await.unwrap();
    assert_eq!(due.keys.len(), 3);
    let item = event("page-0", "r1", 100).item;
    assert!(due.keys.contains(&(item.pk.clone(), item.sk.clone(), NOW + 1500)));
    assert_eq!(
        ledger.claim(&item, &claim(1), "group").await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.claim(&item, &claim(1), "group").await.unwrap(),
        Written::Moved
    );
    let claimed = held(ledger, &item).await;
    assert_eq!(
        (claimed.resends, claimed.attempts, claimed.next_attempt),
        (1, 1, Some(NOW + 5000))
    );
    assert_eq!(claimed.message_group_id.as_deref(), Some("group"));
    assert_eq!(
        ledger.due("READY#0", NOW + 1500, None).await.unwrap().keys.len(),
        2
    );
}

pub async fn law_12_a_claim_that_was_not_sent_is_taken_back(ledger: &(impl Recorder + Outbox)) {
    let item = event("page-0", "r1", 100);
    ledger.record(&item, soon()).await.unwrap();
    let item = item.item;
    ledger.claim(&item, &claim(1), "group").await.unwrap();
    assert_eq!(
        ledger.unclaim(&item, &claim(1), NOW + 60).await.unwrap(),
        Written::Done
    );
    let back = held(ledger, &item).await;
    assert_eq!(
        (back.resends, back.attempts, back.next_attempt),
        (1, 0, Some(NOW + 60))
    );
    assert_eq!(
        ledger.unclaim(&item, &claim(1), NOW + 60).await.unwrap(),
        Written::Moved
    );
}

pub async fn law_12_dead_items_leave_the_ready_index_and_can_still_be_applied(
    ledger: &(impl Recorder + Documents + Outbox),
) {
    let event = event("page-0", "r1", 100);
    ledger.record(&event, soon()).await.unwrap();
    assert_eq!(
        ledger.bury(&event.item, "nobody answered").await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.bury(&event.item, "nobody answered").await.unwrap(),
        Written::Moved
    );
    let dead = held(ledger, &event.item).await;
    assert_eq!((dead.status, dead.state), (Some(Status::Dead), State::Pending));
    assert_eq!(dead.state_key.as_deref(), Some("STATE#dead"));
    assert_eq!(ledger.ready("READY#0").await.unwrap().count, 0);
    assert_eq!(ledger.mark(&dead, &mark()).await.unwrap(), Written::Done);
    let applied = held(ledger, &event.item).await;
    assert_eq!((applied.status, applied.state_key), (Some(Status::Sent), None));
}

pub async fn every_verb_on_what_is_not_there_moves_nothing(ledger: &(impl Recorder + Documents + Outbox)) {
    let item = event("page-0", "r1", 100).item;
    assert!(ledger.item_and_head(&item.pk, &item.sk).await.unwrap().is_none());
    assert_eq!(
        ledger.claim(&item, &claim(1), "group").await.unwrap(),
        Written::Moved
    );
    assert_eq!(ledger.bury(&item, "x").await.unwrap(), Written::Moved);
    assert_eq!(ledger.settle(&item, &mark()).await.unwrap(), Written::Moved);
    assert!(ledger.read(&item.pk, &item.sk).await.unwrap().items.is_empty());
}
