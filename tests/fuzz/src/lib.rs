//! What comes from outside, bent at random: no input makes a function panic or take memory without bound.
//!
//! A target is a function of bytes. `cargo test -p fuzz` runs each over its seeds and some thousand mutations, the same ones
//! every time; `make rig` lets libFuzzer search, see `tests/fuzz/run.sh`. The crashes that it finds belong into [`seeds`].
//!
//! Beyond not panicking, each target states what must hold of every input.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what surprises here is what is looked for"
)]

pub mod answers;
pub mod mutate;
pub mod requests;
pub mod seeds;
pub mod server;
pub mod texts;

use std::{alloc::System, sync::Once};

use cap::Cap;

/// Counts and limits what Rust code allocates; libFuzzer's own memory is not in it.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What one input may need at most, in bytes. Inputs are at most [`LONGEST`] bytes long; serde's tree of a worst case is about
/// forty times its text.
const MEMORY: usize = 24 * 1024 * 1024;
/// Longest input, in bytes.
pub const LONGEST: usize = 128 * 1024;

/// Something that reads what comes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    run: fn(&[u8]),
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 9] = [
    Target {
        name: "signature_header",
        run: requests::signature_header,
        seeds: seeds::signatures,
    },
    Target {
        name: "webhook_body",
        run: requests::webhook_body,
        seeds: seeds::bodies,
    },
    Target {
        name: "http_event",
        run: requests::http_event,
        seeds: seeds::http_events,
    },
    Target {
        name: "sqs_body",
        run: texts::sqs_body,
        seeds: seeds::sqs_bodies,
    },
    Target {
        name: "pipe_record",
        run: texts::pipe_record,
        seeds: seeds::pipe_records,
    },
    Target {
        name: "sanity_answer",
        run: answers::sanity,
        seeds: seeds::sanity_answers,
    },
    Target {
        name: "stellate_answer",
        run: answers::stellate,
        seeds: seeds::stellate_answers,
    },
    Target {
        name: "next_answer",
        run: answers::next,
        seeds: seeds::next_answers,
    },
    Target {
        name: "routes_toml",
        run: texts::routes_toml,
        seeds: seeds::configurations,
    },
];

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Runs one input. Panics, or ends the process when the memory is not enough.
    pub fn run(&self, input: &[u8]) {
        let input = &input[..input.len().min(LONGEST)];
        lift_the_limit_in_panics();
        let limit = ALLOCATOR.allocated() + MEMORY;
        ALLOCATOR
            .set_limit(limit)
            .expect("a limit above what is allocated");
        (self.run)(input);
        ALLOCATOR.set_limit(usize::MAX).expect("no limit");
    }
}

/// Telling a panic needs memory of its own: a backtrace more than any input.
fn lift_the_limit_in_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = ALLOCATOR.set_limit(usize::MAX);
            tell(panic);
        }));
    });
}
