//! `make bench-cascade`: one cascade on routes tables of growing size, beside a Scan with `contains`. Status 0 only if the bar
//! is met. `SIZES=1000,10000` measures other sizes and writes no file.

use std::{path::Path, time::Instant};

use benchmarks::{
    Failure, cascade_cost, client,
    meter::Meter,
    report::{Line, table, verdict},
    scan::scan_cost,
    site::{self, Loaded},
};
use routing::store::dynamo::{DynamoStore, create_table};
use time::OffsetDateTime;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// Runs of a cascade; the table shows the median time.
const TIMES: usize = 5;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let asked = std::env::var("SIZES").ok().filter(|sizes| !sizes.is_empty());
    let sizes = match &asked {
        Some(sizes) => sizes
            .split(',')
            .map(|size| size.trim().parse())
            .collect::<Result<Vec<usize>, _>>()?,
        None => SIZES.to_vec(),
    };
    if sizes.iter().any(|size| *size < 2 * site::DEPENDANTS) || !sizes.is_sorted() {
        return Err("SIZES: ascending numbers of routes, at least 100 each".into());
    }
    let lines = measure(&sizes).await?;
    let (met, sentence) = verdict(&lines);
    let text = format!("{}\n{sentence}\n", table(&lines));
    println!("\n{text}");
    if asked.is_none() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("cascade.md");
        std::fs::write(file, page(&text))?;
    }
    if met {
        Ok(())
    } else {
        Err("the bar is not met".into())
    }
}

async fn measure(sizes: &[usize]) -> Result<Vec<Line>, Failure> {
    let meter = Meter::default();
    let client = client(&meter).await;
    let serial = std::process::id();
    let (routes, alone) = (format!("routes-{serial}"), format!("routes-alone-{serial}"));
    create_table(&client, &routes).await?;
    create_table(&client, &alone).await?;
    let store = DynamoStore::new(client.clone(), routes.as_str());
    let (mut lines, mut pages) = (Vec::new(), 0);
    let (mut held, mut held_alone) = (Loaded::default(), Loaded::default());
    for size in sizes {
        let began = Instant::now();
        held = held.and(site::load(&client, &routes, pages, *size).await?);
        held_alone = held_alone.and(site::load_routes_alone(&client, &alone, pages, *size).await?);
        pages = *size;
        println!("{size} routes: loaded in {} s", began.elapsed().as_secs());
        lines.push(Line {
            routes: *size,
            items: held.items,
            edges: cascade_cost(&store, &meter, TIMES).await?,
            scan: scan_cost(&client, &alone, held_alone, &meter).await?,
        });
    }
    Ok(lines)
}

fn page(text: &str) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("a processor that does not say its name", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let today = OffsetDateTime::now_utc().date();
    format!(
        "# One cascade: a component that {dependants} pages show\n\n\
         `make bench-cascade`, {today}, {model}, {cores} cores.\n\n\
         First what the routes table is asked, by edges; then a Scan with `contains` over the dependencies in a table of nothing\n\
         but routes.\n\n{text}\n\
         - Requests and items are counted by an interceptor of the SDK. Read units are computed from the sizes of the items read:\n\
         \x20 consistent reads, one unit for 4 KB, a Query's items added up, each item of a BatchGetItem by itself; the Scan\n\
         \x20 eventually consistent, half a unit for 4 KB of the whole table.\n\
         - Time is wall clock against the emulator on this machine, a debug build, without Sanity's answer to the routing query:\n\
         \x20 the median of {TIMES} cascades, one Scan. It says how time grows, not how long AWS takes.\n\
         - The component's edit changes no route, so nothing is written. The Scan's way would add a conditional put for every\n\
         \x20 page it found.\n",
        dependants = site::DEPENDANTS
    )
}
