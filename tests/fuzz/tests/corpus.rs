//! Every target over its seeds and some thousand mutations of them. The searching fuzzer is in `make rig`.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::sync::Mutex;

use fuzz::{Target, mutate::mutated};

/// Mutations a target.
const MUTATIONS: u64 = 3_000;
/// The memory that one input may take is a limit of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn over_seeds_and_mutations(name: &str) {
    let _turn = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let target = Target::named(name).unwrap();
    let seeds = (target.seeds)();
    assert!(seeds.len() > 3, "{name} has too few seeds");
    for seed in &seeds {
        target.run(seed);
    }
    for number in 0..MUTATIONS {
        let pick = |salt: u64| &seeds[fastrand::Rng::with_seed(number ^ salt).usize(0..seeds.len())];
        let input = mutated(pick(0), pick(1 << 40), number);
        let broken = std::panic::catch_unwind(|| target.run(&input)).is_err();
        assert!(
            !broken,
            "{name} breaks at mutation {number}: {:?}",
            String::from_utf8_lossy(&input)
        );
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            over_seeds_and_mutations(stringify!($name));
        })*

        #[test]
        fn every_target_is_tested() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(fuzz::TARGETS.map(|target| target.name).as_slice(), tested);
        }
    };
}

targets! {
    signature_header
    webhook_body
    http_event
    sqs_body
    pipe_record
    sanity_answer
    stellate_answer
    next_answer
    routes_toml
}
