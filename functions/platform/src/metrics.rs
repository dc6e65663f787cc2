//! Metrics in CloudWatch's embedded metric format: a JSON line on standard output, no call and no permission.
//!
//! The namespace is `Cascata` and the only dimension is `Stage`, because every further value of a dimension is a
//! metric of its own and is billed as one. The function's name travels as a plain property, to be searched in logs.
//! Source of the format and its bounds (100 values a metric, 100 metrics a line): "CloudWatch embedded metric format
//! specification" of the CloudWatch user guide.
//!
//! A line carries no log level, so Lambda treats it as INFO: a function whose application log level is above INFO
//! loses its metrics.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use time::OffsetDateTime;

/// The namespace of every metric of this application.
pub const NAMESPACE: &str = "Cascata";

const VALUES_A_METRIC: usize = 100;
const METRICS_A_LINE: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Count,
    Milliseconds,
    Seconds,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Milliseconds => "Milliseconds",
            Self::Seconds => "Seconds",
        }
    }
}

#[derive(Debug, Clone)]
struct Metric {
    unit: Unit,
    values: Vec<f64>,
}

/// Collects the metrics of one invocation until [`Metrics::flush`] writes them.
#[derive(Debug)]
pub struct Metrics {
    stage: String,
    function: String,
    collected: Mutex<BTreeMap<String, Metric>>,
}

impl Metrics {
    /// Metrics of the function `function` in the stage `stage`.
    pub fn new(stage: impl Into<String>, function: impl Into<String>) -> Self {
        Self {
            stage: stage.into(),
            function: function.into(),
            collected: Mutex::default(),
        }
    }

    /// Adds to a count; counts of one name are summed. Adding 0 makes the metric exist, with value 0.
    pub fn count(&self, name: &str, by: u64) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let metric = collected.entry(name.to_owned()).or_insert_with(|| Metric {
            unit: Unit::Count,
            values: vec![0.0],
        });
        if let Some(sum) = metric.values.first_mut() {
            *sum += by as f64;
        }
    }

    /// Records one duration in milliseconds. Every value is kept, so that percentiles can be had of it.
    pub fn milliseconds(&self, name: &str, took: Duration) {
        self.record(name, Unit::Milliseconds, took.as_secs_f64() * 1000.0);
    }

    /// Records one duration in seconds.
    pub fn seconds(&self, name: &str, took: Duration) {
        self.record(name, Unit::Seconds, took.as_secs_f64());
    }

    /// Records one value of a gauge that is a number of things, such as a backlog; unlike [`Metrics::count`] values
    /// are not summed.
    pub fn gauge(&self, name: &str, value: f64) {
        self.record(name, Unit::Count, value);
    }

    fn record(&self, name: &str, unit: Unit, value: f64) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let metric = collected
            .entry(name.to_owned())
            .or_insert_with(|| Metric { unit, values: vec![] });
        metric.values.push(if value.is_finite() { value } else { 0.0 });
    }

    /// What has been collected and not yet written: every value by the metric's name.
    pub fn collected(&self) -> BTreeMap<String, Vec<f64>> {
        let collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected
            .iter()
            .map(|(name, metric)| (name.clone(), metric.values.clone()))
            .collect()
    }

    /// The sum of what has been collected and not yet written under `name`; 0 for nothing.
    pub fn sum(&self, name: &str) -> f64 {
        let collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected
            .get(name)
            .map_or(0.0, |metric| metric.values.iter().sum())
    }

    /// Writes what was collected to standard output and starts anew. Nothing collected, nothing written.
    pub fn flush(&self) {
        let mut out = std::io::stdout().lock();
        for line in self.take_lines(OffsetDateTime::now_utc()) {
            if writeln!(out, "{line}").is_err() {
                tracing::warn!("metrics could not be written");
            }
        }
    }

    /// What [`Metrics::flush`] would write, as lines without their ends, with the time `now`; starts anew. One line,
    /// but for more than 100 values of a metric or more than 100 metrics.
    pub fn take_lines(&self, now: OffsetDateTime) -> Vec<String> {
        let collected = std::mem::take(&mut *self.collected.lock().unwrap_or_else(PoisonError::into_inner));
        let mut lines: Vec<BTreeMap<&str, (Unit, &[f64])>> = vec![];
        for (name, metric) in &collected {
            for values in metric.values.chunks(VALUES_A_METRIC) {
                let has_room = |line: &&mut BTreeMap<&str, _>| {
                    line.len() < METRICS_A_LINE && !line.contains_key(name.as_str())
                };
                match lines.iter_mut().find(has_room) {
                    Some(line) => _ = line.insert(name, (metric.unit, values)),
                    None => lines.push(BTreeMap::from([(name.as_str(), (metric.unit, values))])),
                }
            }
        }
        lines.into_iter().map(|line| self.render(line, now)).collect()
    }

    fn render(&self, line: BTreeMap<&str, (Unit, &[f64])>, now: OffsetDateTime) -> String {
        let definitions: Vec<Value> = line
            .iter()
            .map(|(name, (unit, _))| json!({"Name": name, "Unit": unit.name()}))
            .collect();
        let mut document = Map::new();
        document.insert(
            "_aws".into(),
            json!({
                "Timestamp": (now.unix_timestamp_nanos() / 1_000_000) as i64,
                "CloudWatchMetrics": [{
                    "Namespace": NAMESPACE, "Dimensions": [["Stage"]], "Metrics": definitions,
                }],
            }),
        );
        document.insert("Stage".into(), self.stage.clone().into());
        document.insert("function".into(), self.function.clone().into());
        for (name, (_, values)) in line {
            let value = if let [one] = values {
                json!(one)
            } else {
                json!(values)
            };
            document.insert(name.into(), value);
        }
        Value::Object(document).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(metrics: &Metrics) -> Vec<Value> {
        let now = OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
        metrics
            .take_lines(now)
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn one_line_says_everything() {
        let metrics = Metrics::new("prod", "webhook");
        metrics.count("EventsAccepted", 1);
        metrics.count("EventsAccepted", 2);
        metrics.milliseconds("FenceWait", Duration::from_millis(1500));
        metrics.milliseconds("FenceWait", Duration::from_micros(2500));
        metrics.seconds("OutboxOldestReadyAge", Duration::from_millis(1500));
        assert_eq!(
            lines(&metrics),
            [json!({
                "_aws": {
                    "Timestamp": 1_700_000_000_000_i64,
                    "CloudWatchMetrics": [{
                        "Namespace": "Cascata",
                        "Dimensions": [["Stage"]],
                        "Metrics": [
                            {"Name": "EventsAccepted", "Unit": "Count"},
                            {"Name": "FenceWait", "Unit": "Milliseconds"},
                            {"Name": "OutboxOldestReadyAge", "Unit": "Seconds"},
                        ],
                    }],
                },
                "Stage": "prod",
                "function": "webhook",
                "EventsAccepted": 3.0,
                "FenceWait": [1500.0, 2.5],
                "OutboxOldestReadyAge": 1.5,
            })]
        );
        assert!(lines(&metrics).is_empty(), "a flush starts anew");
    }

    #[test]
    fn a_zero_count_is_written() {
        let metrics = Metrics::new("prod", "relay");
        metrics.count("OutboxDied", 0);
        assert_eq!(lines(&metrics)[0]["OutboxDied"], json!(0.0));
    }

    #[test]
    fn more_values_than_the_format_allows_go_to_further_lines() {
        let metrics = Metrics::new("prod", "consumer");
        for i in 0..250 {
            metrics.milliseconds("FenceWait", Duration::from_millis(i));
        }
        metrics.count("EventsApplied", 250);
        let lines = lines(&metrics);
        let sizes: Vec<usize> = lines
            .iter()
            .map(|line| line["FenceWait"].as_array().unwrap().len())
            .collect();
        assert_eq!(sizes, [100, 100, 50]);
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.get("EventsApplied").is_some())
                .count(),
            1
        );
    }
}
