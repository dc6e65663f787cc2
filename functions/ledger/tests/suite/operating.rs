use ledger::{
    history::History,
    intervention::Intervention,
    item::{Kind, OutboxItem, State, Status},
    record::Decision,
    store::{
        Advance, Documents, Outbox, Recorder, Written,
        jobs::Letters,
        operator::{Change, Happened, Inspection, Interventions, Request},
    },
};

use super::{event, event_of, soon};

fn asked(item: &OutboxItem, at: i64) -> Intervention {
    Intervention {
        pk: item.pk.clone(),
        sk: Intervention::sort_key(at, item.message_base()),
        verb: "reprocess".to_owned(),
        requester: "somebody".to_owned(),
        because: "a test".to_owned(),
        event_id: item.event_id.clone(),
        from_state: None,
        generation: Some(1),
        at: "2030-01-01T00:00:00.000Z".to_owned(),
        handler_version: "1".to_owned(),
    }
}

fn reprocess(item: &OutboxItem) -> OutboxItem {
    OutboxItem {
        sk: format!("{}#g1", item.sk),
        kind: Kind::Reprocess,
        generation: Some(1),
        state_key: None,
        state: State::Pending,
        reason: None,
        ..item.clone()
    }
}

fn in_review() -> Decision {
    Decision::InReview {
        reason: "unknown_type".to_owned(),
    }
}

pub async fn law_15_what_waits_for_an_operator_is_listed_page_by_page(ledger: &(impl Recorder + Inspection)) {
    for number in 0..5 {
        let body = format!(r#"{{"_id":"page-{number}","_type":"page","_rev":"r1","operation":"update"}}"#);
        ledger
            .record(&event_of(body.as_bytes(), in_review()), soon())
            .await
            .unwrap();
    }
    ledger.record(&event("page-9", "r1", 100), soon()).await.unwrap();
    let mut seen = Vec::new();
    let mut from: Option<String> = None;
    for _ in 0..10 {
        let page = ledger
            .by_state("in_review", "", 2, from.as_deref())
            .await
            .unwrap();
        assert!(page.items.len() <= 2);
        seen.extend(page.items.into_iter().filter_map(|item| item.document_id));
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, ["page-0", "page-1", "page-2", "page-3", "page-4"]);
    let later = ledger
        .by_state("in_review", "2099-01-01T00:00:00.000Z", 10, None)
        .await
        .unwrap();
    assert!(later.items.is_empty());
    assert!(
        ledger
            .by_state("failed", "", 10, None)
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

pub async fn law_14_a_request_is_taken_whole_or_not_at_all(
    ledger: &(impl Recorder + Letters + Inspection + Interventions),
) {
    let event = event("page-1", "r1", 100);
    ledger.record(&event, soon()).await.unwrap();
    let request = |at| Request {
        intervention: asked(&event.item, at),
        wake: Some(reprocess(&event.item)),
        change: None,
    };
    assert_eq!(ledger.intervene(&request(1)).await.unwrap(), Written::Done);
    assert_eq!(
        ledger.intervene(&request(2)).await.unwrap(),
        Written::Moved,
        "the same generation"
    );
    let happened = ledger.happened(&event.item.pk, 10).await.unwrap();
    assert_eq!(
        happened.len(),
        1,
        "what was not taken leaves no trace: {happened:?}"
    );
    let wake = reprocess(&event.item);
    assert_eq!(ledger.item(&wake.pk, &wake.sk).await.unwrap(), Some(wake));
}

pub async fn law_14_the_history_keeps_wakes_and_requests_in_order(
    ledger: &(impl Recorder + Documents + Inspection + Interventions),
) {
    let event = event("page-1", "r1", 100);
    ledger.record(&event, soon()).await.unwrap();
    let request = Request {
        intervention: asked(&event.item, 1_000),
        wake: None,
        change: None,
    };
    ledger.intervene(&request).await.unwrap();
    for (version, at) in [(0, 500), (1, 2_000)] {
        let advance = Advance {
            document_key: event.item.pk.clone(),
            from_version: version,
            head: ledger::head::Head {
                version: version + 1,
                ..Default::default()
            },
            wakes: vec![],
            chunks: vec![],
            history: History::new(&event.item.pk, &event.item.sk, at, "then".to_owned()),
        };
        assert_eq!(ledger.advance(&advance).await.unwrap(), Written::Done);
    }
    let kinds = |happened: Vec<Happened>| -> Vec<&'static str> {
        happened
            .iter()
            .map(|it| match it {
                Happened::Wake(_) => "wake",
                Happened::Operator(_) => "operator",
            })
            .collect()
    };
    let all = ledger.happened(&event.item.pk, 10).await.unwrap();
    assert_eq!(kinds(all), ["wake", "operator", "wake"]);
    let newest = ledger.happened(&event.item.pk, 2).await.unwrap();
    assert_eq!(kinds(newest), ["operator", "wake"]);
}

pub async fn law_14_an_event_in_review_is_accepted_or_closed_once(
    ledger: &(impl Recorder + Documents + Letters + Outbox + Interventions + Inspection),
) {
    let event = event_of(
        br#"{"_id":"page-1","_type":"page","_rev":"r1","operation":"update"}"#,
        in_review(),
    );
    ledger.record(&event, soon()).await.unwrap();
    let request = |at, change| Request {
        intervention: asked(&event.item, at),
        wake: None,
        change: Some((event.item.clone(), change)),
    };
    assert_eq!(
        ledger.intervene(&request(1, Change::Accept)).await.unwrap(),
        Written::Done
    );
    let close = || Change::Close {
        reason: "closed".to_owned(),
        expires_at: 2_000_000_000,
    };
    assert_eq!(
        ledger.intervene(&request(2, close())).await.unwrap(),
        Written::Moved,
        "read before"
    );
    let item = |pk: String, sk: String| async move { ledger.item(&pk, &sk).await.unwrap().unwrap() };
    let held = item(event.item.pk.clone(), event.item.sk.clone()).await;
    assert_eq!((held.state, held.status), (State::Pending, None));
    assert!(
        ledger
            .by_state("in_review", "", 10, None)
            .await
            .unwrap()
            .items
            .is_empty()
    );

    // What is pending is not closed; what failed is.
    let refused = Request {
        change: Some((held.clone(), close())),
        ..request(3, close())
    };
    assert_eq!(ledger.intervene(&refused).await.unwrap(), Written::Moved);
    ledger.fail(&held, "it crashed").await.unwrap();
    let failed = item(held.pk.clone(), held.sk.clone()).await;
    let closing = Request {
        change: Some((failed.clone(), close())),
        ..request(4, close())
    };
    assert_eq!(ledger.intervene(&closing).await.unwrap(), Written::Done);
    let closed = item(held.pk.clone(), held.sk.clone()).await;
    assert_eq!((closed.state, closed.status), (State::Ignored, None));
    assert_eq!(
        (closed.reason.as_deref(), closed.expires_at),
        (Some("closed"), Some(2_000_000_000))
    );

    // DEAD waits for a person, too.
    let other = super::event("page-2", "r1", 100);
    ledger.record(&other, soon()).await.unwrap();
    ledger.bury(&other.item, "nobody answered").await.unwrap();
    let dead = item(other.item.pk.clone(), other.item.sk.clone()).await;
    assert_eq!(dead.status, Some(Status::Dead));
    let closing = Request {
        intervention: asked(&dead, 5),
        wake: None,
        change: Some((dead, close())),
    };
    assert_eq!(ledger.intervene(&closing).await.unwrap(), Written::Done);
}

pub async fn evidence_reads_back_as_it_was_recorded(ledger: &(impl Recorder + Inspection)) {
    let event = event("page-1", "r1", 100);
    assert_eq!(ledger.evidence(event.event_id()).await.unwrap(), None);
    ledger.record(&event, soon()).await.unwrap();
    let held = ledger.evidence(event.event_id()).await.unwrap();
    assert_eq!(held, Some(event.record));
}
