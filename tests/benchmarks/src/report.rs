//! The table that a person reads.

use crate::Cost;

/// Growth allowed from the smallest to the largest table.
pub const BAR: f64 = 1.1;

/// One size of the table.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Routes.
    pub routes: usize,
    /// Items of the routes table: routes, edges, pointers.
    pub items: usize,
    /// The cascade by edges.
    pub edges: Cost,
    /// The Scan, and its read units.
    pub scan: (Cost, f64),
}

/// The table, as Markdown that reads well in a terminal too.
pub fn table(lines: &[Line]) -> String {
    let mut text = format!(
        "| {:>7} | {:>7} | {:>8} | {:>10} | {:>10} | {:>8} | {:>14} | {:>10} | {:>10} | {:>8} |\n",
        "routes",
        "items",
        "requests",
        "items read",
        "read units",
        "time",
        "Scan: requests",
        "items read",
        "read units",
        "time"
    );
    text.push_str("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for line in lines {
        let (scan, units) = line.scan;
        text.push_str(&format!(
            "| {:>7} | {:>7} | {:>8} | {:>10} | {:>10} | {:>5} ms | {:>14} | {:>10} | {units:>10} | {:>5} ms |\n",
            line.routes,
            line.items,
            line.edges.reading.requests,
            line.edges.reading.items,
            line.edges.reading.units,
            line.edges.time.as_millis(),
            scan.reading.requests,
            scan.reading.items,
            scan.time.as_millis(),
        ));
    }
    text
}

/// How much more the last takes than the first: requests and read units of the cascade.
pub fn growth(first: &Cost, last: &Cost) -> (f64, f64) {
    let ratio = |first: usize, last: usize| last as f64 / first.max(1) as f64;
    let (first, last) = (first.reading, last.reading);
    (
        ratio(first.requests, last.requests),
        ratio(first.units, last.units),
    )
}

/// Whether that growth is within the bar, and the sentence that says so.
pub fn verdict(lines: &[Line]) -> (bool, String) {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return (false, "nothing was measured".to_owned());
    };
    let (requests, units) = growth(&first.edges, &last.edges);
    let met = requests <= BAR && units <= BAR;
    let text = format!(
        "From {} to {} routes the cascade takes {requests:.2} times the requests and {units:.2} times the read units; \
         the bar is {BAR} times: {}.",
        first.routes,
        last.routes,
        if met { "met" } else { "NOT met" }
    );
    (met, text)
}
