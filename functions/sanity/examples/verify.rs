//! Compares the signature check with what Sanity's package said, over any file of the test vectors' format:
//! `cargo run -q -p sanity --example verify -- tests/vectors/sanity-signature.json`
//!
//! A line a case; at the end "N right, M wrong, K differ knowingly". Ends with status 1 if any is wrong, 2 if the file
//! cannot be read. A case may differ knowingly only where a check of the bytes differs from the package's verdict.

use std::process::ExitCode;

#[path = "../tests/vectors/mod.rs"]
mod vectors;

use vectors::{Judgement, read};

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("say which file: verify FILE");
        return ExitCode::from(2);
    };
    let cases = match std::fs::read(&file)
        .map_err(|e| e.to_string())
        .and_then(|bytes| read(&bytes))
    {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            return ExitCode::from(2);
        }
    };
    let (mut right, mut wrong, mut knowingly) = (0, 0, 0);
    for case in &cases {
        let (word, why) = match case.judge() {
            Judgement::Right => {
                right += 1;
                ("right", String::new())
            }
            Judgement::Wrong(why) => {
                wrong += 1;
                ("WRONG", why)
            }
            Judgement::Knowingly(why) => {
                knowingly += 1;
                ("differs knowingly", why.to_owned())
            }
        };
        let verdict = match (case.verdict(), case.error_status) {
            (Ok(_), _) => "accepted".to_owned(),
            (Err(error), Some(status)) if status != error.status() => {
                format!("refused {}, package {status}: {error}", error.status())
            }
            (Err(error), _) => format!("refused {}: {error}", error.status()),
        };
        let why = if why.is_empty() { why } else { format!(" -- {why}") };
        println!("{word}: {} ({verdict}){why}", case.name);
    }
    println!("{right} right, {wrong} wrong, {knowingly} differ knowingly");
    if wrong == 0 && !cases.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
