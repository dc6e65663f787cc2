//! A process that can die between any two awaits, or stand still for minutes in the middle of a call.

use std::{
    future::Future,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use crate::{config::Config, random::Random};

/// Seconds that every call of a kind takes: from, to.
pub type Takes = (f64, f64);

/// Calls within which a process may freeze; the draw for later ones is never reached.
const CALLS: f64 = 1_000.0;

/// One process: the invocation of a function.
#[derive(Debug)]
pub struct Process {
    random: Mutex<Random>,
    crash: f64,
    busy: f64,
    /// The call that stands still, counted down.
    freezes_in: Mutex<Option<u32>>,
    dead: AtomicBool,
    died: Notify,
}

/// What a call comes to, apart from its effect.
struct Fate {
    before: f64,
    after: f64,
    dies: Option<Moment>,
    busy: Option<Moment>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

/// The process ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Died;

impl Process {
    /// A process with the faults of `config`.
    pub fn new(mut random: Random, config: &Config) -> Self {
        let freezes_in = (config.frozen > 0.0).then(|| {
            let calls = (1.0 - random.unit()).ln() / (1.0 - config.frozen).ln();
            calls.min(CALLS) as u32
        });
        Self {
            random: Mutex::new(random),
            crash: config.crash,
            busy: config.busy,
            freezes_in: Mutex::new(freezes_in.filter(|calls| f64::from(*calls) < CALLS)),
            dead: AtomicBool::new(false),
            died: Notify::new(),
        }
    }

    /// A draw of this process.
    pub fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work` until it ends or the process dies; what is left of it is dropped where it stands.
    ///
    /// # Errors
    /// It died.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Died> {
        tokio::select! {
            biased;
            () = self.died.notified() => Err(Died),
            answer = work => Ok(answer),
        }
    }

    /// Makes a call: time passes, the effect takes place, time passes. The process may die before the effect or after it.
    pub async fn call<T>(&self, takes: Takes, effect: impl Future<Output = T>) -> T {
        let fate = self.fate(takes);
        self.endure(fate, effect).await
    }

    /// A call to a service that may be busy; none: it said so, and it is not known whether it did what it was asked.
    pub async fn call_busy<T>(&self, takes: Takes, effect: impl Future<Output = T>) -> Option<T> {
        let fate = self.fate(takes);
        match fate.busy {
            None => Some(self.endure(fate, effect).await),
            Some(Moment::Before) => {
                self.endure(fate, async {}).await;
                None
            }
            Some(Moment::After) => {
                self.endure(fate, effect).await;
                None
            }
        }
    }

    fn fate(&self, (low, high): Takes) -> Fate {
        let (crash, busy) = (self.crash, self.busy);
        self.draw(|random| {
            let takes = random.between(low, high);
            let part = random.unit();
            let mut moment = |chance| {
                let struck = random.chance(chance);
                let moment = if random.chance(0.5) {
                    Moment::Before
                } else {
                    Moment::After
                };
                struck.then_some(moment)
            };
            Fate {
                before: takes * part,
                after: takes * (1.0 - part),
                dies: moment(crash),
                busy: moment(busy),
            }
        })
    }

    async fn endure<T>(&self, mut fate: Fate, effect: impl Future<Output = T>) -> T {
        if self.freezes_now() {
            let stands_still = self.draw(|random| random.between(20.0, 700.0));
            if self.draw(|random| random.chance(0.5)) {
                fate.before += stands_still;
            } else {
                fate.after += stands_still;
            }
        }
        pause(fate.before).await;
        self.live_on(fate.dies == Some(Moment::Before)).await;
        let answer = effect.await;
        pause(fate.after).await;
        self.live_on(fate.dies == Some(Moment::After)).await;
        answer
    }

    fn freezes_now(&self) -> bool {
        let mut freezes_in = self.freezes_in.lock().unwrap_or_else(PoisonError::into_inner);
        match freezes_in.as_mut() {
            Some(0) => {
                *freezes_in = None;
                true
            }
            Some(calls) => {
                *calls -= 1;
                false
            }
            None => false,
        }
    }

    /// Whether this process will stand still.
    pub fn will_freeze(&self) -> bool {
        self.freezes_in
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    async fn live_on(&self, dies: bool) {
        if dies {
            self.dead.store(true, Ordering::Relaxed);
            self.died.notify_one();
        }
        if self.dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

/// Virtual time passes.
pub async fn pause(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds.max(0.0))).await;
}
