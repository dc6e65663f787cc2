//! `run HISTORIES [CONFIG]`: a table. `trace SEED CONFIG [without=…]`: one history in words. `shrink SEED CONFIG`: the smallest
//! history that still fails.

use std::process::ExitCode;

use simulation::{config, history::History, table};

const USAGE: &str = "run HISTORIES [CONFIG…] | trace SEED CONFIG [without=…] | shrink SEED CONFIG";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["run", histories, configs @ ..] => run(histories, configs),
        ["trace", seed, config] => trace(seed, config, ""),
        ["trace", seed, config, without] => trace(seed, config, without),
        ["shrink", seed, config] => shrink(seed, config),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn run(histories: &str, configs: &[&str]) -> Result<bool, String> {
    let histories = number(histories)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let configs = if configs.is_empty() {
        &config::NAMES[..]
    } else {
        configs
    };
    println!("{}", table::Sum::head());
    let mut good = true;
    for config in configs {
        let sum = table::run(config, 0, histories, threads)?;
        println!("{}", sum.row(config));
        if let Some(late) = sum.late() {
            println!("{late}");
        }
        good &= sum.bad.is_empty();
        for seed in sum.bad.iter().take(3) {
            println!("  a law is broken: {}", History::new(*seed, config).command());
        }
        if sum.bad.len() > 3 {
            println!("  and {} more", sum.bad.len() - 3);
        }
    }
    Ok(good)
}

fn trace(seed: &str, config: &str, without: &str) -> Result<bool, String> {
    let without = without.strip_prefix("without=").unwrap_or(without);
    let names = without.split(',').filter(|name| !name.is_empty());
    let history = History {
        without: names.map(str::to_owned).collect(),
        ..History::new(number(seed)?, config)
    };
    let outcome = history.run(true)?;
    for line in outcome.log {
        println!("{line}");
    }
    println!("{:?}", outcome.counts);
    println!("{:#?}", outcome.verdict);
    Ok(!outcome.verdict.is_bad())
}

fn shrink(seed: &str, config: &str) -> Result<bool, String> {
    let (smallest, verdict) = History::new(number(seed)?, config).shrink()?;
    println!("{:#?}", verdict);
    println!("{}", smallest.command());
    Ok(!verdict.is_bad())
}
