//! Time for what expires. It never goes back, whatever becomes of the machine's clock
//! (`objects-layout.md`, "Time").

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::base::actor::Actor;
use crate::base::clock::{CLOCK_DOUBT_S, Clock, Timestamp, told_of_skew};
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::{ClockRecord, SkippedRecord, SkippedTime};
use crate::store::background_writes::BackgroundWrites;
use crate::store::{Batch, Expect, Result, Store};

/// How many seconds may pass between two calls of [`SteadyClock::tick`]: by as much the mark in the
/// store is behind after a crash.
pub const TICK_S: u64 = 60;
/// In milliseconds.
const DOUBT_MS: i64 = CLOCK_DOUBT_S.cast_signed() * 1000;
/// So many skips are kept in mind. Of more than a day each, they reach back for months.
const SKIPPED_MAX: usize = 64;
/// A clock that went back by less is not worth a line in the log.
const TOLD_BACK_MS: i64 = 60_000;

/// The time by which sessions and tokens expire: that of the machine's clock, or the highest that was
/// seen and what has passed since, if that is later.
///
/// A clock that jumps ahead by more than [`CLOCK_DOUBT_S`] is doubted: what it makes expire is refused
/// as long as it shows so, but it does not move the mark until it has run so for as long. What it has skipped then
/// makes nothing old that is removed by its age: it may have been wrong all the same.
#[derive(Debug)]
pub struct SteadyClock {
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    background: Arc<BackgroundWrites>,
    /// The mark, as the time at which the uptime was zero. Read from the store when it is first needed.
    origin: OnceLock<AtomicI64>,
    /// As [`SkippedRecord::times`], read with the mark.
    skipped: Mutex<Vec<SkippedTime>>,
    /// What the last tick found.
    standing: Mutex<Option<Standing>>,
}

/// A reading of the clocks. Times are given as those at which the uptime was zero.
#[derive(Clone, Copy, Debug)]
struct Look {
    uptime: i64,
    /// By the machine's clock.
    shown: i64,
    /// By the mark.
    mark: i64,
}

impl Look {
    fn at(self, origin: i64) -> Timestamp {
        Timestamp::from_ms(origin.saturating_add(self.uptime))
    }
}

/// Where the machine's clock stands against the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    InStep,
    Behind,
    /// Too far ahead: the time at which the uptime was zero by it, and the uptime when it was found.
    Ahead {
        origin: i64,
        since: i64,
    },
}

impl SteadyClock {
    pub(super) fn new(
        clock: &Arc<dyn Clock>,
        store: &Arc<dyn Store>,
        background: &Arc<BackgroundWrites>,
    ) -> Self {
        Self {
            clock: Arc::clone(clock),
            store: Arc::clone(store),
            background: Arc::clone(background),
            origin: OnceLock::new(),
            skipped: Mutex::default(),
            standing: Mutex::default(),
        }
    }

    /// Now, by a clock that may be doubted.
    pub fn now(&self) -> Timestamp {
        let look = self.look();
        look.at(look.shown.max(look.mark))
    }

    /// Now, for what must not be undone: by no clock that is doubted, nor by a mark that is ahead of the machine's
    /// clock, as after a start with a wrong one.
    pub fn believed(&self) -> Timestamp {
        let look = self.look();
        look.at(look.mark.min(look.shown))
    }

    /// So many seconds ago, for what is removed by its age: time that was skipped does not count. What is of an earlier
    /// time is older, whatever clock was wrong since.
    pub fn ago(&self, s: u64) -> Timestamp {
        let now = self.believed();
        let mut at = now.minus_s(s);
        let skipped = self.skipped();
        // A clock that was put right is before the end of what it had skipped.
        for skip in skipped.iter().rev().filter(|skip| skip.to <= now) {
            if at >= skip.to {
                break;
            }
            let ms = skip.to.ms().saturating_sub(skip.from.ms()).max(0);
            at = Timestamp::from_ms(at.ms().saturating_sub(ms));
        }
        at
    }

    /// By how many seconds the mark is ahead of the machine's clock, 0 where it is not.
    pub fn ahead_s(&self) -> u64 {
        let look = self.look();
        look.mark.saturating_sub(look.shown).max(0).unsigned_abs() / 1000
    }

    /// Puts the mark back to the machine's clock, which the audit log tells. What expired by the mark, and was not
    /// marked as expired, counts again.
    ///
    /// # Errors
    /// Those of the store.
    pub fn trust_clock(&self, actor: &Actor) -> Result<()> {
        // With what was skipped.
        let origin = self.origin();
        let now = self.clock.now();
        let mut batch = Batch::with_reserve();
        batch.write(
            key::CLOCK.to_owned(),
            Expect::Anything,
            &ClockRecord { mark: now },
        );
        // What was skipped before this is as it was.
        let mut times = self.skipped().clone();
        times.retain(|time| time.to <= now);
        let record = SkippedRecord { times };
        batch.write(key::CLOCK_SKIPPED.to_owned(), Expect::Anything, &record);
        let told = AuditRecord::new(now, actor, Action::ClockTrusted);
        batch.append_to(key::AUDIT, &told);
        self.store.commit(batch)?;
        let trusted = now.ms().saturating_sub(self.clock.uptime_ms());
        origin.store(trusted, Ordering::Relaxed);
        *self.skipped() = record.times;
        Ok(())
    }

    /// Reads the clocks, and moves the mark unless the machine's is doubted.
    fn look(&self) -> Look {
        // In this order: what passes between the two would be added to the mark, and never taken away again.
        let now = self.clock.now().ms();
        let uptime = self.clock.uptime_ms();
        let shown = now.saturating_sub(uptime);
        let origin = self.origin();
        let mut mark = origin.load(Ordering::Relaxed);
        if mark < shown && shown.saturating_sub(mark) <= DOUBT_MS {
            mark = origin.fetch_max(shown, Ordering::Relaxed).max(shown);
        }
        Look {
            uptime,
            shown,
            mark,
        }
    }

    /// Looks at the machine's clock, says in the log when it has jumped, and has the mark written soon, unless the
    /// store has a clock of its own that is far from it, or not known yet.
    /// Whoever serves calls it every [`TICK_S`] seconds.
    pub fn tick(&self) {
        let look = self.look();
        let Look {
            uptime,
            shown,
            mark,
        } = look;
        let mut last = self.standing.lock().expect("no panic while held");
        let standing = match *last {
            _ if shown.saturating_sub(mark) <= DOUBT_MS => {
                if mark.saturating_sub(shown) > TOLD_BACK_MS {
                    Standing::Behind
                } else {
                    Standing::InStep
                }
            }
            Some(Standing::Ahead { origin, since })
                if shown.saturating_sub(origin).abs() <= DOUBT_MS =>
            {
                Standing::Ahead { origin, since }
            }
            _ => Standing::Ahead {
                origin: shown,
                since: uptime,
            },
        };
        tell(*last, standing, look.at(shown), look.at(mark));
        *last = Some(standing);
        if let Standing::Ahead { since, .. } = standing
            && uptime.saturating_sub(since) >= DOUBT_MS
        {
            tracing::info!(
                "the clock has run on for a day since it jumped ahead, and is believed; what it skipped makes nothing \
                 old that is removed by its age"
            );
            self.skip(SkippedTime {
                from: Timestamp::from_ms(mark.saturating_add(since)),
                to: Timestamp::from_ms(shown.saturating_add(since)),
            });
            self.origin().fetch_max(shown, Ordering::Relaxed);
            *last = Some(Standing::InStep);
        }
        drop(last);
        // The mark is that of all who serve the store. A clock that is far from the one they have in common would make
        // it theirs at their next start.
        let ahead_ms = self.store.clock_ahead_ms();
        if ahead_ms.is_none_or(|ahead_ms| told_of_skew(ahead_ms).is_some()) {
            return;
        }
        let mut batch = Batch::default();
        let look = self.look();
        let mark = look.at(look.mark);
        batch.write(
            key::CLOCK.to_owned(),
            Expect::Anything,
            &ClockRecord { mark },
        );
        let times = self.skipped().clone();
        if !times.is_empty() {
            let record = SkippedRecord { times };
            batch.write(key::CLOCK_SKIPPED.to_owned(), Expect::Anything, &record);
        }
        self.background.put(key::CLOCK.to_owned(), batch);
    }

    /// Keeps in mind what was skipped, and forgets the earliest of too many.
    fn skip(&self, time: SkippedTime) {
        let mut skipped = self.skipped();
        skipped.push(time);
        let surplus = skipped.len().saturating_sub(SKIPPED_MAX);
        skipped.drain(..surplus);
    }

    fn skipped(&self) -> MutexGuard<'_, Vec<SkippedTime>> {
        self.skipped.lock().expect("no panic while held")
    }

    fn origin(&self) -> &AtomicI64 {
        self.origin.get_or_init(|| {
            let kept = self.store.value::<ClockRecord>(key::CLOCK);
            let mark = kept.unwrap_or_else(|error| {
                tracing::error!(%error, "the highest time seen cannot be read; it begins anew");
                None
            });
            let mark = mark.map_or_else(|| self.clock.now(), |kept| kept.value.mark);
            match self.store.value::<SkippedRecord>(key::CLOCK_SKIPPED) {
                Ok(kept) => {
                    let times = kept.map(|kept| kept.value.times.clone());
                    *self.skipped() = times.unwrap_or_default();
                }
                Err(error) => tracing::error!(%error, "what the clock has skipped cannot be read"),
            }
            AtomicI64::new(mark.ms().saturating_sub(self.clock.uptime_ms()))
        })
    }
}

/// Says in the log where the machine's clock has come to stand.
fn tell(before: Option<Standing>, now: Standing, clock: Timestamp, expected: Timestamp) {
    match (before, now) {
        (Some(before), now) if before == now => {}
        // A service that stood still for long starts so.
        (None, Standing::Ahead { .. }) => tracing::info!(
            %clock,
            last_seen = %expected,
            "the clock is more than a day ahead of the time that was last seen"
        ),
        (_, Standing::Ahead { .. }) => tracing::warn!(
            %clock,
            %expected,
            "the clock has jumped ahead by more than a day; if it is wrong, put it right within a day: \
             then what it says has expired does so for good"
        ),
        (_, Standing::Behind) => tracing::warn!(
            %clock,
            %expected,
            "the clock has gone back; sessions and tokens expire by the time that was expected; if the clock is \
             right, start once with --trust-clock"
        ),
        (None | Some(Standing::InStep), Standing::InStep) => {}
        (Some(_), Standing::InStep) => tracing::info!(%clock, "the clock is as expected again"),
    }
}
