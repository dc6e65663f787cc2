//! A server on loopback, in this thread, that answers whatever it is told to, and the runtime it lives in.
//!
//! An input is the text of an answer: the status, headers a line each, an empty line, the body. What does not look so is a body
//! with status 200. The transport itself is not bent: reading HTTP is hyper's.

use std::{cell::RefCell, future::Future};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
};

/// Headers that mean something to a client of ours.
const HEADERS: [&str; 3] = ["retry-after", "location", "content-type"];

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ADDRESS: String = serve();
}

/// Runs it here; the server answers meanwhile.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(work))
}

/// Where the server of this thread is.
pub fn address() -> String {
    ADDRESS.with(Clone::clone)
}

/// From now on every request is answered with this input.
pub fn answering(input: &[u8]) {
    ANSWER.set(as_http(input));
}

fn serve() -> String {
    let listener = block_on(TcpListener::bind(("127.0.0.1", 0))).expect("a port on loopback");
    let address = listener.local_addr().expect("its address");
    RUNTIME.with(|runtime| {
        runtime.spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(converse(connection));
            }
        })
    });
    format!("http://{address}")
}

async fn converse(mut connection: TcpStream) {
    let mut request = Vec::new();
    loop {
        let Some(length) = length(&request) else {
            if !matches!(connection.read_buf(&mut request).await, Ok(1..)) {
                return;
            }
            continue;
        };
        if request.len() < length {
            if !matches!(connection.read_buf(&mut request).await, Ok(1..)) {
                return;
            }
            continue;
        }
        request.drain(..length);
        let answer = ANSWER.with_borrow(Clone::clone);
        if connection.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// Bytes of the request at the front, once its head is there.
fn length(request: &[u8]) -> Option<usize> {
    let head = request.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
    let body = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap_or(0));
    Some(head + body)
}

fn as_http(input: &[u8]) -> Vec<u8> {
    let parted = input.windows(2).position(|two| two == b"\n\n").and_then(|end| {
        let mut lines = std::str::from_utf8(&input[..end]).ok()?.lines();
        let status: u16 = lines.next()?.parse().ok()?;
        let wanted = |line: &&str| HEADERS.iter().any(|name| line.starts_with(&format!("{name}: ")));
        let sendable = |line: &&str| line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let headers: Vec<&str> = lines.filter(wanted).filter(sendable).collect();
        (200..600)
            .contains(&status)
            .then(|| (status, headers, &input[end + 2..]))
    });
    let (status, headers, body) = parted.unwrap_or((200, vec![], input));
    let mut answer = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n", body.len());
    for line in headers {
        answer.push_str(line);
        answer.push_str("\r\n");
    }
    answer.push_str("\r\n");
    let mut answer = answer.into_bytes();
    answer.extend_from_slice(body);
    answer
}
