//! What goes wrong below HTTP, tokens, deadlines, and what must not be seen.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use platform::{Deadline, FixedSecrets, Secret, SecretCache, SecretError};
use purge::{Renewal, SecretField, SecretIn, Storefront, StorefrontConfig, Target, TokenSource};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use wiremock::matchers::header;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::server::{a_minute, asked, json as answer, outage, reason, serve, short, slug, slugs};

type Later<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

fn storefront(url: String, token: impl TokenSource + 'static) -> Storefront {
    let config = StorefrontConfig {
        request_timeout: Duration::from_millis(300),
        batch_size: 2,
        concurrency: 1,
        ..StorefrontConfig::new(url)
    };
    Storefront::new(config, token).unwrap()
}

fn ok() -> ResponseTemplate {
    answer(200, r#"{"revalidated":true}"#)
}

#[tokio::test]
async fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let target = storefront(format!("http://127.0.0.1:{port}"), Secret::new("s"));
    let report = target.purge(&slugs(5), a_minute()).await;
    assert_eq!(
        (short(&report).as_str(), outage(&report), report.calls),
        ("fffff", "no connection", 1)
    );
    assert_eq!(reason(&report, 4), "not tried: no connection");
}

#[tokio::test]
async fn no_answer_in_time() {
    let server = serve(|_, _| ok().set_delay(Duration::from_secs(30))).await;
    let report = storefront(server.uri(), Secret::new("s"))
        .purge(&slugs(5), a_minute())
        .await;
    assert_eq!(
        (short(&report).as_str(), outage(&report), report.calls),
        ("fffff", "no answer in time", 1)
    );
}

#[tokio::test]
async fn an_answer_that_breaks_off_confirms_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";
        stream
            .write_all(format!("{head}{{\"revalidated\":true}}").as_bytes())
            .await
            .unwrap();
    });
    let target = storefront(format!("http://{address}"), Secret::new("s"));
    let report = target.purge(&[slug("/a")], a_minute()).await;
    assert_eq!(
        (short(&report).as_str(), outage(&report)),
        ("f", "the answer broke off")
    );
    server.await.unwrap();
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let server = serve(|_, _| answer(200, &" ".repeat(2 * 1024 * 1024))).await;
    let report = storefront(server.uri(), Secret::new("s"))
        .purge(&[slug("/a")], a_minute())
        .await;
    assert_eq!(outage(&report), "the answer is larger than any that was expected");
}

#[tokio::test]
async fn what_there_is_no_time_for_says_deadline_and_is_no_outage() {
    let server = serve(|_, _| ok()).await;
    let target = storefront(server.uri(), Secret::new("s"));
    let report = target.purge(&slugs(3), Deadline::after(Duration::ZERO)).await;
    assert_eq!(
        (short(&report).as_str(), report.calls, outage(&report)),
        ("fff", 0, "")
    );
    assert_eq!(reason(&report, 0), "deadline");
    assert!(asked(&server).await.is_empty());
}

#[tokio::test]
async fn a_deadline_on_the_way_keeps_what_was_confirmed() {
    let server = serve(|request, _| match request {
        0 => ok(),
        _ => ok().set_delay(Duration::from_secs(30)),
    })
    .await;
    let config = StorefrontConfig {
        batch_size: 2,
        concurrency: 1,
        ..StorefrontConfig::new(server.uri())
    };
    let target = Storefront::new(config, Secret::new("s")).unwrap();
    let report = target
        .purge(&slugs(6), Deadline::after(Duration::from_millis(900)))
        .await;
    assert_eq!(
        (short(&report).as_str(), report.calls, outage(&report)),
        ("..ffff", 2, "")
    );
    assert_eq!((reason(&report, 2), reason(&report, 5)), ("deadline", "deadline"));
}

/// A token that is rotated: each renewal gives the next.
struct Rotating {
    tokens: Vec<&'static str>,
    now: Mutex<usize>,
    renewals: AtomicUsize,
}

impl Rotating {
    fn new(tokens: Vec<&'static str>) -> &'static Self {
        Box::leak(Box::new(Self {
            tokens,
            now: Mutex::new(0),
            renewals: AtomicUsize::new(0),
        }))
    }
}

impl TokenSource for &'static Rotating {
    fn current(&self) -> Later<'_, Result<Secret, SecretError>> {
        Box::pin(async { Ok(Secret::new(self.tokens[*self.now.lock().unwrap()])) })
    }

    fn renewed(&self) -> Later<'_, Renewal> {
        Box::pin(async {
            self.renewals.fetch_add(1, Ordering::SeqCst);
            let mut now = self.now.lock().unwrap();
            *now = (*now + 1).min(self.tokens.len() - 1);
            Ok(Some(Secret::new(self.tokens[*now])))
        })
    }
}

#[tokio::test]
async fn a_rotated_token_is_read_anew_once() {
    let server = MockServer::start().await;
    for (token, answer) in [("new", ok()), ("old", ResponseTemplate::new(401))] {
        let bearer = header("authorization", format!("Bearer {token}").as_str());
        Mock::given(bearer).respond_with(answer).mount(&server).await;
    }
    let tokens = Rotating::new(vec!["old", "new"]);
    let report = storefront(server.uri(), tokens)
        .purge(&slugs(6), a_minute())
        .await;
    assert_eq!((short(&report).as_str(), outage(&report)), ("......", ""));
    assert_eq!((report.calls, tokens.renewals.load(Ordering::SeqCst)), (4, 1));
}

#[tokio::test]
async fn a_token_that_stays_refused_is_an_outage() {
    for (tokens, calls) in [(vec!["old"], 1), (vec!["old", "also-old"], 2)] {
        let server = serve(|_, _| ResponseTemplate::new(403)).await;
        let report = storefront(server.uri(), Rotating::new(tokens))
            .purge(&slugs(6), a_minute())
            .await;
        assert_eq!(
            (short(&report).as_str(), outage(&report), report.calls),
            ("ffffff", "HTTP 403", calls)
        );
    }
}

#[tokio::test]
async fn a_token_that_is_not_filled_in_is_an_outage_without_a_call() {
    let server = serve(|_, _| ok()).await;
    let secrets = FixedSecrets {
        current: Secret::new(r#"{"storefront_secret":""}"#),
        previous: None,
    };
    let cache = std::sync::Arc::new(SecretCache::with_source(secrets, Duration::from_secs(300)));
    let empty = storefront(server.uri(), SecretField::new(cache, "storefront_secret"));
    let broken = storefront(server.uri(), Secret::new("a\nb"));
    let report = empty
        .purge(&[slug("/a"), slug(&"x".repeat(2000))], a_minute())
        .await;
    assert_eq!((short(&report).as_str(), report.calls), ("fR", 0));
    assert_eq!(outage(&report), "the token cannot be read: the secret is empty");
    let report = broken.purge(&[slug("/a")], a_minute()).await;
    let characters = "the token has characters that a header cannot hold";
    assert_eq!(outage(&report), characters);
    // So is a header of a protected deployment: without it every page would be refused.
    for (value, expected) in [
        ("a\nb", characters),
        (
            "",
            "the value of header x-bypass cannot be read: the secret is empty",
        ),
    ] {
        let target = storefront(server.uri(), Secret::new("abc"));
        let target = target.with_header("x-bypass", Secret::new(value)).unwrap();
        let report = target.purge(&[slug("/a")], a_minute()).await;
        assert_eq!((short(&report).as_str(), outage(&report)), ("f", expected));
    }
    assert!(asked(&server).await.is_empty());
}

#[tokio::test]
async fn no_secret_is_ever_shown() {
    let secret = "s3cret&value/with=signs";
    let server = serve(move |_, _| {
        let said = format!(
            "wrong secret {secret} at /api/revalidate?secret=s3cret%26value%2Fwith%3Dsigns, bypass-me"
        );
        answer(400, &serde_json::json!({ "message": said }).to_string())
    })
    .await;
    let config = StorefrontConfig {
        secret_in: SecretIn::Query,
        ..StorefrontConfig::new(server.uri())
    };
    let target = Storefront::new(config, Secret::new(secret)).unwrap();
    let target = target.with_header("x-bypass", Secret::new("bypass-me")).unwrap();
    let report = target.purge(&[slug("/a")], a_minute()).await;
    let seen = format!("{target:?} {report:?}");
    assert_eq!(
        reason(&report, 0),
        "HTTP 400: wrong secret [secret] at /api/revalidate?secret=[secret], [secret]"
    );
    for part in ["s3cret&", "s3cret%26", "bypass-me"] {
        assert!(!seen.contains(part), "{part} is shown in {seen}");
    }
}
