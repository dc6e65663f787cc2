//! The secret cache against a source that a test directs, in paused time.

#![allow(clippy::unwrap_used)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use platform::{Refresh, Secret, SecretCache, SecretError, SecretSource, SecretVersion};

struct Source {
    current: Mutex<Result<Option<Secret>, SecretError>>,
    previous: Mutex<Result<Option<Secret>, SecretError>>,
    reads: AtomicUsize,
}

impl SecretSource for &Source {
    async fn fetch(&self, version: SecretVersion) -> Result<Option<Secret>, SecretError> {
        match version {
            SecretVersion::Current => {
                self.reads.fetch_add(1, Ordering::SeqCst);
                self.current.lock().unwrap().clone()
            }
            SecretVersion::Previous => self.previous.lock().unwrap().clone(),
        }
    }
}

impl Source {
    fn holding(current: &str) -> Self {
        Self {
            current: Mutex::new(Ok(Some(Secret::new(current)))),
            previous: Mutex::new(Ok(None)),
            reads: AtomicUsize::new(0),
        }
    }

    fn rotate(&self, to: &str) {
        let mut current = self.current.lock().unwrap();
        *self.previous.lock().unwrap() = std::mem::replace(&mut *current, Ok(Some(Secret::new(to))));
    }

    fn fail(&self) {
        *self.current.lock().unwrap() = Err(SecretError::Unavailable("Throttling".into()));
    }

    fn mend(&self, current: &str) {
        *self.current.lock().unwrap() = Ok(Some(Secret::new(current)));
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

const TTL: Duration = Duration::from_secs(300);

fn current(text: &str) -> Vec<(SecretVersion, Secret)> {
    vec![(SecretVersion::Current, Secret::new(text))]
}

fn both(current: &str, previous: &str) -> Vec<(SecretVersion, Secret)> {
    vec![
        (SecretVersion::Current, Secret::new(current)),
        (SecretVersion::Previous, Secret::new(previous)),
    ]
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn it_reads_once_a_ttl() {
    let source = Source::holding("one");
    let cache = SecretCache::with_source(&source, TTL);
    assert_eq!(cache.current_and_previous().await, Ok(current("one")));
    pass(299).await;
    assert_eq!(cache.current_and_previous().await, Ok(current("one")));
    assert_eq!(source.reads(), 1);
    source.rotate("two");
    pass(1).await;
    assert_eq!(cache.current_and_previous().await, Ok(both("two", "one")));
    assert_eq!(source.reads(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_missing_previous_version_is_no_fault_but_an_unreadable_one_is() {
    let source = Source::holding("one");
    let cache = SecretCache::with_source(&source, TTL);
    *source.previous.lock().unwrap() = Err(SecretError::Denied);
    assert_eq!(cache.current_and_previous().await, Err(SecretError::Denied));
    *source.previous.lock().unwrap() = Ok(Some(Secret::new("")));
    assert_eq!(cache.current_and_previous().await, Ok(current("one")));
}

#[tokio::test(start_paused = true)]
async fn an_empty_or_absent_secret_is_an_error_of_ours() {
    let source = Source::holding("");
    let cache = SecretCache::with_source(&source, TTL);
    assert_eq!(cache.current_and_previous().await, Err(SecretError::Empty));
    *source.current.lock().unwrap() = Ok(None);
    assert_eq!(cache.current_and_previous().await, Err(SecretError::Missing));
}

#[tokio::test(start_paused = true)]
async fn a_failing_store_is_bridged_for_an_hour_and_no_longer() {
    let source = Source::holding("one");
    let cache = SecretCache::with_source(&source, TTL);
    cache.current_and_previous().await.unwrap();
    source.fail();
    pass(300).await;
    for _ in 0..5 {
        assert_eq!(cache.current_and_previous().await, Ok(current("one")));
    }
    assert_eq!(source.reads(), 2, "a failing store is not asked by every request");
    pass(30).await;
    assert_eq!(cache.current_and_previous().await, Ok(current("one")));
    assert_eq!(source.reads(), 3);
    pass(3600 - 330).await;
    assert!(cache.current_and_previous().await.is_err());
    source.mend("three");
    assert_eq!(cache.current_and_previous().await, Ok(current("three")));
}

#[tokio::test(start_paused = true)]
async fn an_early_refresh_finds_a_rotation_and_is_rate_limited() {
    let source = Source::holding("one");
    let cache = SecretCache::with_source(&source, TTL);
    cache.current_and_previous().await.unwrap();
    pass(30).await;
    source.rotate("two");
    assert_eq!(
        cache.refresh_early().await,
        Ok(Refresh::Renewed(both("two", "one")))
    );
    for _ in 0..100 {
        assert_eq!(cache.refresh_early().await, Ok(Refresh::AlreadyFresh));
    }
    assert_eq!(source.reads(), 2);
    pass(30).await;
    assert!(matches!(cache.refresh_early().await, Ok(Refresh::Renewed(_))));
}

#[tokio::test(start_paused = true)]
async fn an_early_refresh_that_fails_stays_a_failure_until_the_next_try() {
    let source = Source::holding("one");
    let cache = SecretCache::with_source(&source, TTL);
    cache.current_and_previous().await.unwrap();
    pass(30).await;
    source.fail();
    for _ in 0..100 {
        assert!(
            cache.refresh_early().await.is_err(),
            "a mismatch now proves nothing"
        );
    }
    assert_eq!(source.reads(), 2);
    assert_eq!(cache.current_and_previous().await, Ok(current("one")));
    source.mend("one");
    pass(30).await;
    assert_eq!(cache.refresh_early().await, Ok(Refresh::Renewed(current("one"))));
}

struct Hanging;

impl SecretSource for Hanging {
    async fn fetch(&self, _: SecretVersion) -> Result<Option<Secret>, SecretError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_a_store_that_is_down() {
    let cache = SecretCache::with_source(Hanging, TTL);
    assert_eq!(
        cache.current_and_previous().await,
        Err(SecretError::Unavailable("timeout".into()))
    );
}

#[tokio::test(start_paused = true)]
async fn json_is_read_and_a_bad_one_does_not_leak() {
    #[derive(serde::Deserialize)]
    struct Tokens {
        token: String,
    }
    let source = Source::holding(r#"{"token":"hunter2"}"#);
    let cache = SecretCache::with_source(&source, TTL);
    assert_eq!(cache.json::<Tokens>().await.unwrap().token, "hunter2");
    let source = Source::holding(r#""hunter2""#);
    let cache = SecretCache::with_source(&source, TTL);
    let error = cache
        .json::<Tokens>()
        .await
        .map(|tokens| tokens.token)
        .unwrap_err();
    assert_eq!(error, SecretError::NotJson);
    assert!(!format!("{error} {error:?} {cache:?}", cache = cache.current().await).contains("hunter2"));
}
