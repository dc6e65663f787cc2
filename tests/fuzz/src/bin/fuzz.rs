//! libFuzzer's entry: the target that `FUZZ_TARGET` names. With `FUZZ_SEEDS`, writes the seeds of all targets there and ends.

#![no_main]
#![allow(
    unsafe_code,
    reason = "the entry point that libFuzzer calls has to be exported by its name"
)]
#![allow(clippy::expect_used, reason = "without a target there is nothing to do")]

use std::{path::PathBuf, sync::OnceLock};

use fuzz::{TARGETS, Target};

static TARGET: OnceLock<Target> = OnceLock::new();

/// Before libFuzzer reads its arguments.
fn begin() {
    if let Ok(directory) = std::env::var("FUZZ_SEEDS") {
        for target in TARGETS {
            let directory = PathBuf::from(&directory).join(target.name);
            std::fs::create_dir_all(&directory).expect("a directory for the seeds");
            for (number, seed) in (target.seeds)().iter().enumerate() {
                std::fs::write(directory.join(format!("seed-{number:03}")), seed).expect("a seed is written");
            }
            println!("{}", target.name);
        }
        std::process::exit(0);
    }
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let target = Target::named(&name).expect("FUZZ_TARGET names a target that exists");
    TARGET.get_or_init(|| target);
}

libfuzzer_sys::fuzz_target!(init: begin(), |input: &[u8]| {
    TARGET.get().expect("begun").run(input);
});
