//! `pull --watch`: the folder is kept equal for as long as it runs. A server that can holds its answer
//! back until something is new; another one is asked from time to time.

use std::time::{Duration, Instant};

use super::bring::Done;
use super::fault::{Fault, Pulled};
use super::remote::client::jittered;
use super::{Pulling, error};
use crate::base::clock::{Clock, SystemClock, Timestamp};
use crate::cli::{Outcome, Result, Streams};

/// How long the server is asked to wait for something new.
const WAIT: Duration = Duration::from_secs(30);
/// An answer without something new that came sooner was not waited for.
const SOON: Duration = Duration::from_secs(5);
/// First pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_mins(5);

/// Pulls until a signal. Ctrl-C is an interruption, SIGTERM the ordinary end.
pub(super) fn run(
    pulling: &mut Pulling,
    interval: Duration,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let stopping = pulling.pull.stopping.clone();
    let mut watch = Watch {
        interval,
        waits: false,
        soon: 0,
        trouble: None,
    };
    loop {
        let pause = watch.round(pulling, streams)?;
        if pause.and_then(|pause| stopping.pause(pause)).is_err() {
            break;
        }
    }
    match error(&Fault::Stopped, &stopping) {
        crate::cli::Error::Interrupted(130) => Ok(Outcome::Interrupted),
        _ => Ok(Outcome::Fine),
    }
}

struct Watch {
    interval: Duration,
    /// True once the folder is known to hold a head: then there is something to wait for.
    waits: bool,
    /// How many answers without something new came at once, one after the other.
    soon: u32,
    trouble: Option<Trouble>,
}

/// Failures one after the other.
struct Trouble {
    since: Timestamp,
    pause: Duration,
}

impl Watch {
    /// Pulls once; gives the pause before the next time.
    fn round(
        &mut self,
        pulling: &mut Pulling,
        streams: &mut Streams<'_>,
    ) -> Result<Pulled<Duration>> {
        let began = Instant::now();
        let asked = self.waits.then_some(WAIT);
        let done = match pulling.once(asked, streams) {
            Ok(done) => done,
            Err(Fault::Stopped) => return Ok(Err(Fault::Stopped)),
            Err(fault) => return self.fail(pulling, &fault, streams).map(Ok),
        };
        let took = began.elapsed();
        if done != Done::Unchanged || !self.waits {
            pulling.tell(&done, streams)?;
        }
        match pulling.exec(streams)? {
            Ok(()) => {}
            Err(Fault::Stopped) => return Ok(Err(Fault::Stopped)),
            Err(fault) => return self.fail(pulling, &fault, streams).map(Ok),
        }
        if let Some(trouble) = self.trouble.take() {
            writeln!(
                streams.out,
                "all is well again, after trouble since {}",
                trouble.since
            )?;
            streams.out.flush()?;
        }
        Ok(Ok(self.next(&done, asked.is_some(), took)))
    }

    /// The pause after a success.
    fn next(&mut self, done: &Done, asked: bool, took: Duration) -> Duration {
        let is_soon = asked && *done == Done::Unchanged && took < SOON;
        self.soon = if is_soon { self.soon + 1 } else { 0 };
        self.waits = true;
        // The first may have told a tag that is new while the head is not.
        if self.soon < 2 {
            return Duration::ZERO;
        }
        self.soon = 1;
        jittered(self.interval)
    }

    /// Says what is wrong and since when, and gives the pause after it.
    fn fail(
        &mut self,
        pulling: &Pulling,
        fault: &Fault,
        streams: &mut Streams<'_>,
    ) -> Result<Duration> {
        let since = match &self.trouble {
            Some(trouble) => trouble.since,
            None => SystemClock.now(),
        };
        let pause = match &self.trouble {
            Some(trouble) => (trouble.pause * 2).min(PAUSE_MAX),
            None => FIRST_PAUSE,
        };
        self.trouble = Some(Trouble { since, pause });
        let wanted = match fault {
            Fault::Passing { after, .. } => after.unwrap_or_default().min(PAUSE_MAX),
            _ => Duration::ZERO,
        };
        let pause = jittered(pause.max(wanted));
        let holds = pulling.pull.state.as_ref().map_or_else(
            || "the folder stays as it is".to_owned(),
            |state| format!("the folder stays at {}", state.head.short_id),
        );
        writeln!(
            streams.err,
            "siteconf: {}; {holds}; trouble since {since}, next attempt in {} s",
            crate::cli::output::visible_lines(&fault.to_string()),
            pause.as_secs().max(1)
        )?;
        Ok(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_wait_is_asked_from_time_to_time() {
        let interval = Duration::from_secs(30);
        let mut watch = Watch {
            interval,
            waits: false,
            soon: 0,
            trouble: None,
        };
        let at_once = Duration::from_millis(3);
        // The first question waits for nothing; then one that is held is tried twice.
        assert_eq!(watch.next(&Done::Unchanged, false, at_once), Duration::ZERO);
        assert_eq!(watch.next(&Done::Unchanged, true, at_once), Duration::ZERO);
        for _ in 0..3 {
            let pause = watch.next(&Done::Unchanged, true, at_once);
            assert!(interval <= pause && pause < interval * 2, "{pause:?}");
        }
        // One that was held shows that the server can.
        assert_eq!(watch.next(&Done::Unchanged, true, WAIT), Duration::ZERO);
        assert_eq!(watch.next(&Done::Unchanged, true, at_once), Duration::ZERO);
    }
}
