//! One purge as a series of batches: what to send next, and what an answer means for each unit in it. No I/O.
//!
//! A *unit* is what a target knows by itself: a key, or one path of a key. Batches that fail as a whole are halved until the unit
//! at fault stands alone. Whether a server fault is the target's or a unit's is told by what succeeds around it: a unit that
//! fails alone is only a suspect until something else is confirmed. A target that is simply down must not cost a request a
//! unit, so after the first lone failure the widest untried batches go next, and a few more failures end the purge.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{Outage, Reason};

/// Failures in a row, beyond those needed to halve a batch down to one unit, after which the target counts as out.
const MORE_FAILURES: u32 = 3;

/// What was found out about a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Confirmed,
    /// The target refuses this unit.
    Refused(Reason),
    /// The target failed at this unit: the unit's fault, or the target's.
    Suspect(Reason),
    /// The answer did not tell this unit apart from others.
    Unclear(Reason),
}

/// What one request came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A verdict a unit, in the order sent.
    Each(Vec<Verdict>),
    /// The target is out.
    Outage(Outage),
    /// Some unit in the batch is refused, not said which.
    OfSomeUnit(Reason),
    /// A server fault: the target's, or that of some unit in the batch.
    OfSomeUnitOrTarget {
        reason: Reason,
        retry_after: Option<Duration>,
    },
    /// Our own time ran out.
    OutOfTime,
}

/// Units to send in one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Never empty.
    pub(crate) units: Vec<usize>,
    /// Each unit is to be told apart from the others in the answer.
    pub(crate) apart: bool,
    /// Failed batches it was cut from.
    depth: u32,
}

/// How a target wants its batches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Units a request.
    pub(crate) batch: usize,
    /// Units a request when each must be told apart: 1 if the target cannot do that within a request.
    pub(crate) apart: usize,
    /// Requests beyond those that send everything once.
    pub(crate) extra_requests: usize,
}

#[derive(Debug)]
enum Stop {
    Outage(Outage),
    Doubt,
    OutOfTime,
    TooManyRequests,
}

/// What became of a unit in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Confirmed,
    Refused(Reason),
    Failed(Reason),
}

/// The end of it.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// One a unit.
    pub(crate) found: Vec<Found>,
    pub(crate) outage: Option<Outage>,
    /// Units that may be what breaks the target.
    pub(crate) suspects: Vec<usize>,
}

impl Finished {
    /// Nothing was sent.
    pub(crate) fn out(units: usize, outage: Outage) -> Self {
        let found = vec![Found::Failed(outage.what.clone()); units];
        Self {
            found,
            outage: Some(outage),
            suspects: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Work {
    limits: Limits,
    pending: VecDeque<Batch>,
    in_flight: usize,
    requests_left: usize,
    found: Vec<Option<Found>>,
    /// What a unit's last failed batch said.
    said: Vec<Option<Reason>>,
    /// Suspects since the last confirmation.
    suspects: Vec<(usize, Reason)>,
    any_confirmed: bool,
    /// Server faults since the last confirmation.
    faults: u32,
    last_fault: Option<(Reason, Option<Duration>)>,
    patience: u32,
    stop: Option<Stop>,
}

impl Work {
    pub(crate) fn new(units: usize, limits: Limits) -> Self {
        let all: Vec<usize> = (0..units).collect();
        let pending: VecDeque<Batch> = all
            .chunks(limits.batch.max(1))
            .map(|units| Batch {
                units: units.to_vec(),
                apart: false,
                depth: 0,
            })
            .collect();
        let widest = pending.front().map_or(0, |batch| batch.units.len());
        Self {
            requests_left: pending.len() + limits.extra_requests,
            patience: 1 + widest.next_power_of_two().ilog2() + MORE_FAILURES,
            limits,
            pending,
            in_flight: 0,
            found: vec![None; units],
            said: vec![None; units],
            suspects: Vec::new(),
            any_confirmed: false,
            faults: 0,
            last_fault: None,
            stop: None,
        }
    }

    /// The batch to send now. `None` while there is none, or while the answer to one in flight must be known first.
    pub(crate) fn next(&mut self) -> Option<Batch> {
        // While the target is in doubt one request at a time asks; otherwise a target that is down is hit by all of them.
        if self.stop.is_some() || self.pending.is_empty() || (self.faults > 0 && self.in_flight > 0) {
            return None;
        }
        if self.requests_left == 0 {
            self.stop = Some(Stop::TooManyRequests);
            return None;
        }
        let place = match self.suspects.is_empty() {
            true => 0,
            // Probably down, or units at fault side by side: the widest untried batch tells most.
            false => (0..self.pending.len())
                .min_by_key(|place| self.pending[*place].depth)
                .unwrap_or(0),
        };
        let batch = self.pending.remove(place)?;
        self.requests_left -= 1;
        self.in_flight += 1;
        Some(batch)
    }

    /// Ends the work for want of time.
    pub(crate) fn out_of_time(&mut self) {
        self.stop.get_or_insert(Stop::OutOfTime);
    }

    /// Takes in the answer to a batch that [`Work::next`] gave out.
    pub(crate) fn answered(&mut self, batch: Batch, answer: Answer) {
        self.in_flight = self.in_flight.saturating_sub(1);
        match answer {
            Answer::Each(verdicts) => self.verdicts(batch, verdicts),
            Answer::Outage(outage) => {
                self.say(&batch.units, &outage.what);
                self.stop.get_or_insert(Stop::Outage(outage));
            }
            Answer::OfSomeUnit(reason) => match batch.units.as_slice() {
                [unit] => self.found[*unit] = Some(Found::Refused(reason)),
                _ => self.halve(batch, &reason),
            },
            Answer::OfSomeUnitOrTarget { reason, retry_after } => {
                self.fault(reason.clone(), retry_after);
                match batch.units.as_slice() {
                    [unit] => self.suspects.push((*unit, reason)),
                    _ => self.halve(batch, &reason),
                }
            }
            Answer::OutOfTime => {
                self.stop.get_or_insert(Stop::OutOfTime);
            }
        }
    }

    fn verdicts(&mut self, batch: Batch, verdicts: Vec<Verdict>) {
        let alone = batch.apart || batch.units.len() == 1;
        let mut unclear = Vec::new();
        let mut fault = None;
        let mut confirmed = false;
        for (unit, verdict) in batch.units.iter().copied().zip(verdicts) {
            match verdict {
                Verdict::Confirmed => {
                    confirmed = true;
                    self.found[unit] = Some(Found::Confirmed);
                }
                Verdict::Refused(reason) => self.found[unit] = Some(Found::Refused(reason)),
                Verdict::Unclear(reason) if alone => self.found[unit] = Some(Found::Refused(reason)),
                Verdict::Unclear(reason) => {
                    self.say(&[unit], &reason);
                    unclear.push(unit);
                }
                Verdict::Suspect(reason) => {
                    fault = Some(reason.clone());
                    self.suspects.push((unit, reason));
                }
            }
        }
        if confirmed {
            self.any_confirmed = true;
            self.faults = 0;
            for (unit, reason) in std::mem::take(&mut self.suspects) {
                self.found[unit] = Some(Found::Refused(reason));
            }
        } else if let Some(reason) = fault {
            self.fault(reason, None);
        }
        for units in unclear.chunks(self.limits.apart.max(1)).rev() {
            self.pending.push_front(Batch {
                units: units.to_vec(),
                apart: true,
                depth: batch.depth + 1,
            });
        }
    }

    fn fault(&mut self, reason: Reason, retry_after: Option<Duration>) {
        self.faults += 1;
        let longest = self.last_fault.take().and_then(|(_, wait)| wait).max(retry_after);
        self.last_fault = Some((reason, longest));
        if self.faults >= self.patience {
            self.stop.get_or_insert(Stop::Doubt);
        }
    }

    fn halve(&mut self, mut batch: Batch, reason: &Reason) {
        self.say(&batch.units, reason);
        let second = batch.units.split_off(batch.units.len() / 2);
        let depth = batch.depth + 1;
        for units in [second, batch.units] {
            self.pending.push_front(Batch {
                units,
                apart: batch.apart,
                depth,
            });
        }
    }

    fn say(&mut self, units: &[usize], reason: &Reason) {
        for unit in units {
            self.said[*unit] = Some(reason.clone());
        }
    }

    /// What became of every unit. Nothing may be in flight any more.
    pub(crate) fn finish(mut self) -> Finished {
        let outage = match &self.stop {
            Some(Stop::Outage(outage)) => Some(outage.clone()),
            Some(Stop::Doubt) => self.nothing_succeeds(),
            // Without one confirmation a fault is the target's, until others show that it works.
            _ if self.any_confirmed => None,
            _ => self.nothing_succeeds(),
        };
        let mut suspects = Vec::new();
        for (unit, reason) in std::mem::take(&mut self.suspects) {
            self.found[unit] = Some(match outage {
                Some(_) => {
                    suspects.push(unit);
                    Found::Failed(reason)
                }
                None => Found::Refused(reason),
            });
        }
        let untried = match (&self.stop, &outage) {
            (Some(Stop::OutOfTime), _) => Reason::new("deadline"),
            (Some(Stop::TooManyRequests), _) => Reason::new("not tried: too many requests for one purge"),
            (_, Some(outage)) => Reason::new(format!("not tried: {}", outage.what)),
            (_, None) => Reason::new("not tried"),
        };
        let said = self.said;
        let found = self
            .found
            .into_iter()
            .zip(said)
            .map(|(found, said)| match (found, &self.stop) {
                (Some(found), _) => found,
                (None, Some(Stop::OutOfTime)) => Found::Failed(untried.clone()),
                (None, _) => Found::Failed(said.unwrap_or_else(|| untried.clone())),
            })
            .collect();
        Finished {
            found,
            outage,
            suspects,
        }
    }

    fn nothing_succeeds(&self) -> Option<Outage> {
        let (reason, retry_after) = self.last_fault.as_ref()?;
        Some(Outage {
            retry_after: *retry_after,
            what: Reason::new(format!("nothing succeeds: {reason}")),
        })
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
