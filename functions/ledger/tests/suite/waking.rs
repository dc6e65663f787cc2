use ledger::{
    head::{Handled, Head},
    history::History,
    item::{Kind, Origin, OutboxItem, State, Status},
    plan::{Entry, Key, Layer, Plan, PlanChunk, merge_into_chunks},
    slugs::SlugsEver,
    store::{Advance, Breakers, Documents, Outbox, Recorder, Written, operator::Inspection},
};

use super::{NOW, deferral, event, mark, only, soon};

fn plan(count: usize) -> Plan {
    let entries: Vec<Entry> = (0..count)
        .map(|number| Entry {
            key: Key::Slug {
                slug: format!("/página-{number}"),
            },
            behind: vec![],
        })
        .collect();
    let mut plan = Plan::default();
    plan.owe(&entries, &Layer::ALL, "token");
    plan
}

fn advance(of: &OutboxItem, from_version: u64, chunks: Vec<PlanChunk>) -> Advance {
    let mut slugs = SlugsEver::default();
    slugs.remember("/página");
    let head = Head {
        slugs,
        second: Some(of.second),
        handled: [Handled::of(of)].into(),
        marks_owed: vec![of.sk.clone()],
        open_second: Some(of.second),
        version: from_version + 1,
        ..Head::default()
    };
    let wake = OutboxItem {
        sk: format!("{}#c{}", of.sk, from_version + 1),
        kind: Kind::Recheck,
        message_group_id: None,
        message_deduplication_id: None,
        next_attempt: Some(NOW + 300),
        source: Origin::Consumer,
        entries: Some(ledger::plan::PackedEntries::pack(&plan(2).keys())),
        ..of.clone()
    };
    Advance {
        document_key: of.pk.clone(),
        from_version,
        head,
        wakes: vec![wake],
        chunks,
        history: History::new(
            &of.pk,
            &of.sk,
            NOW * 1000 + from_version as i64,
            "began".to_owned(),
        ),
    }
}

pub async fn law_5_a_read_shows_the_head_the_open_items_and_the_plan(ledger: &(impl Recorder + Documents)) {
    for (revision, second) in [("r1", 100), ("r2", 101), ("r3", 102)] {
        ledger
            .record(&event("page-1", revision, second), soon())
            .await
            .unwrap();
    }
    let newest = event("page-1", "r3", 102).item;
    let before = ledger.read(&newest.pk, &newest.sk).await.unwrap();
    assert_eq!(before.items.len(), 3, "without a head everything may be open");
    assert_eq!(before.head, Head::default());
    let chunks = merge_into_chunks(plan(3).entries(), &[]).unwrap();
    assert_eq!(
        ledger.put_plan(&newest.pk, 0, &chunks).await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.advance(&advance(&newest, 0, vec![])).await.unwrap(),
        Written::Done
    );
    let after = ledger.read(&newest.pk, &newest.sk).await.unwrap();
    assert_eq!(after.head.version, 1);
    assert_eq!(after.head.second, Some(102));
    assert_eq!(after.head.slugs.as_slice(), ["/página"]);
    assert_eq!(after.chunks, chunks);
    let keys: Vec<&str> = after.items.iter().map(|item| item.sk.as_str()).collect();
    assert_eq!(
        keys,
        [newest.sk.clone(), format!("{}#c1", newest.sk)],
        "from the open second on"
    );
    let wake = &after.items[1];
    assert_eq!(
        wake.entries.as_ref().unwrap().unpack::<Entry>().unwrap(),
        plan(2).keys()
    );
    let older = event("page-1", "r1", 100).item;
    assert_eq!(ledger.read(&older.pk, &older.sk).await.unwrap().items.len(), 4);
}

pub async fn law_8_a_plan_is_stored_only_while_the_head_is_at_the_version_read(
    ledger: &(impl Recorder + Documents),
) {
    let item = event("page-1", "r1", 100).item;
    let first = merge_into_chunks(plan(3).entries(), &[]).unwrap();
    assert_eq!(
        ledger.put_plan(&item.pk, 1, &first).await.unwrap(),
        Written::Moved,
        "there is no head"
    );
    assert_eq!(ledger.put_plan(&item.pk, 0, &first).await.unwrap(), Written::Done);
    assert_eq!(
        ledger.put_plan(&item.pk, 0, &first).await.unwrap(),
        Written::Moved,
        "the chunk is there"
    );
    let second = merge_into_chunks(plan(4).entries(), &first).unwrap();
    assert_eq!(
        ledger.advance(&advance(&item, 0, first.clone())).await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.put_plan(&item.pk, 0, &second).await.unwrap(),
        Written::Moved,
        "the head moved"
    );
    let anew = merge_into_chunks(plan(4).entries(), &[]).unwrap();
    assert_eq!(ledger.put_plan(&item.pk, 1, &anew).await.unwrap(), Written::Done);
    assert_eq!(
        ledger.read(&item.pk, &item.sk).await.unwrap().plan().unwrap(),
        plan(4)
    );
}

pub async fn law_8_a_plan_of_many_chunks_reads_back_whole(ledger: &(impl Recorder + Documents)) {
    let item = event("page-1", "r1", 100).item;
    let large = plan(14_500);
    let chunks = merge_into_chunks(large.entries(), &[]).unwrap();
    assert!(chunks.len() > 12, "more than one transaction: {}", chunks.len());
    assert_eq!(
        ledger.put_plan(&item.pk, 0, &chunks).await.unwrap(),
        Written::Done
    );
    let state = ledger.read(&item.pk, &item.sk).await.unwrap();
    assert_eq!(state.chunks[0].chunks, Some(chunks.len() as u32));
    assert_eq!(state.plan().unwrap(), large);
    assert_eq!(
        ledger.advance(&advance(&item, 0, chunks)).await.unwrap(),
        Written::Done
    );
    assert!(ledger.read(&item.pk, &item.sk).await.unwrap().chunks.is_empty());
}

pub async fn law_10_a_chunk_is_confirmed_over_the_version_read(ledger: &(impl Recorder + Documents)) {
    let item = event("page-1", "r1", 100).item;
    let first = merge_into_chunks(plan(3).entries(), &[]).unwrap();
    assert_eq!(
        ledger.confirm(&item.pk, &first[0]).await.unwrap(),
        Written::Moved,
        "nothing is stored"
    );
    ledger.put_plan(&item.pk, 0, &first).await.unwrap();
    let second = PlanChunk {
        version: 2,
        ..first[0].clone()
    };
    assert_eq!(ledger.confirm(&item.pk, &second).await.unwrap(), Written::Done);
    assert_eq!(ledger.confirm(&item.pk, &second).await.unwrap(), Written::Moved);
}

pub async fn law_12_the_head_advances_in_one_step_with_its_wakes_and_without_the_plan(
    ledger: &(impl Recorder + Documents),
) {
    let event = event("page-1", "r1", 100);
    ledger.record(&event, soon()).await.unwrap();
    let chunks = merge_into_chunks(plan(3).entries(), &[]).unwrap();
    ledger.put_plan(&event.item.pk, 0, &chunks).await.unwrap();
    let stale = vec![PlanChunk {
        version: 9,
        ..chunks[0].clone()
    }];
    assert_eq!(
        ledger.advance(&advance(&event.item, 0, stale)).await.unwrap(),
        Written::Moved
    );
    assert_eq!(
        ledger
            .advance(&advance(&event.item, 0, chunks.clone()))
            .await
            .unwrap(),
        Written::Done
    );
    let state = ledger.read(&event.item.pk, &event.item.sk).await.unwrap();
    assert!(state.chunks.is_empty());
    assert_eq!(state.head.marks_owed, std::slice::from_ref(&event.item.sk));
    assert_eq!(state.items.len(), 2);
    assert_eq!(
        ledger.advance(&advance(&event.item, 0, vec![])).await.unwrap(),
        Written::Moved
    );
}

pub async fn law_12_marks_are_conditional_and_leave_the_ready_index(
    ledger: &(impl Recorder + Documents + Outbox),
) {
    let event = event("page-1", "r1", 100);
    assert_eq!(ledger.mark(&event.item, &mark()).await.unwrap(), Written::Moved);
    ledger.record(&event, soon()).await.unwrap();
    assert_eq!(ledger.mark(&event.item, &mark()).await.unwrap(), Written::Done);
    assert_eq!(ledger.mark(&event.item, &mark()).await.unwrap(), Written::Moved);
    let state = ledger.read(&event.item.pk, &event.item.sk).await.unwrap();
    let item = only(&state.items);
    assert_eq!((item.state, item.status), (State::Applied, Some(Status::Sent)));
    assert_eq!(item.routes_affected, Some(2));
    assert_eq!(item.expires_at, Some(NOW + 86_400));
    assert_eq!(item.next_attempt, None);
    assert!(
        ledger
            .due("READY#0", i64::MAX, None)
            .await
            .unwrap()
            .keys
            .is_empty()
    );
}

pub async fn law_5_what_is_set_aside_leaves_the_ready_index_and_waits_for_a_person(
    ledger: &(impl Recorder + Documents + Outbox + Inspection),
) {
    let event = event("page-1", "r1", 100);
    let set_aside = || ledger.set_aside(&event.item, "late", "2026-01-01T00:00:00.000Z");
    assert_eq!(set_aside().await.unwrap(), Written::Moved);
    ledger.record(&event, soon()).await.unwrap();
    assert_eq!(set_aside().await.unwrap(), Written::Done);
    assert_eq!(set_aside().await.unwrap(), Written::Moved);
    let state = ledger.read(&event.item.pk, &event.item.sk).await.unwrap();
    let item = only(&state.items);
    assert_eq!((item.state, item.status), (State::InReview, None));
    assert_eq!(item.reason.as_deref(), Some("late"));
    assert_eq!((item.next_attempt, item.expires_at), (None, None));
    let due = ledger.due("READY#0", i64::MAX, None).await.unwrap().keys;
    assert!(due.is_empty());
    let waiting = ledger.by_state("in_review", "", 10, None).await.unwrap().items;
    assert_eq!(only(&waiting).sk, event.item.sk);
    assert_eq!(
        ledger.mark(&event.item, &mark()).await.unwrap(),
        Written::Moved,
        "only a person takes it on"
    );
}

pub async fn law_11_putting_off_answers_the_sends(ledger: &(impl Recorder + Documents)) {
    let event = event("page-1", "r1", 100);
    let deferral = deferral("now");
    assert_eq!(
        ledger.defer(&event.item, &deferral).await.unwrap(),
        Written::Moved
    );
    ledger.record(&event, soon()).await.unwrap();
    for defers in 1..=2 {
        assert_eq!(ledger.defer(&event.item, &deferral).await.unwrap(), Written::Done);
        let state = ledger.read(&event.item.pk, &event.item.sk).await.unwrap();
        let item = only(&state.items);
        assert_eq!(
            (item.defers, item.attempts, item.next_attempt),
            (defers, 0, Some(NOW + 60))
        );
        assert_eq!(item.last_error.as_deref(), Some("Stellate: 503"));
        assert_eq!(item.status, Some(Status::Ready));
    }
    ledger.mark(&event.item, &mark()).await.unwrap();
    assert_eq!(
        ledger.defer(&event.item, &deferral).await.unwrap(),
        Written::Moved
    );
}

pub async fn law_11_breakers_are_shared_and_versioned(ledger: &impl Breakers) {
    assert_eq!(ledger.breaker("stellate").await.unwrap(), (0, None));
    assert_eq!(
        ledger.set_breaker("stellate", 0, "open").await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.set_breaker("stellate", 0, "other").await.unwrap(),
        Written::Moved
    );
    assert_eq!(
        ledger.breaker("stellate").await.unwrap(),
        (1, Some("open".to_owned()))
    );
    assert_eq!(
        ledger.set_breaker("stellate", 1, "closed").await.unwrap(),
        Written::Done
    );
    assert_eq!(
        ledger.breaker("stellate").await.unwrap(),
        (2, Some("closed".to_owned()))
    );
    assert_eq!(ledger.breaker("next").await.unwrap(), (0, None));
}
