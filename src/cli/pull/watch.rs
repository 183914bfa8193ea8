//! `pull --watch`: the folder is kept equal for as long as it runs. A server that can holds its answer
//! back until something is new; another one is asked from time to time.
//!
//! Somebody who cannot be told of it, on a full disk or behind a closed pipe, ends no watch.

use std::time::{Duration, Instant};

use super::bring::Done;
use super::fault::{Fault, Pulled};
use super::pace::{Answered, Pace};
use super::remote::client::jittered;
use super::remote::head::TaggedHead;
use super::trouble::Trouble;
use super::{Pulling, error};
use crate::cli::output::visible_lines;
use crate::cli::{Error, Outcome, Streams};

/// How long a question that is put off waits at most, where that is known of the server.
const PUT_OFF_MAX: Duration = Duration::from_mins(5);

/// Pulls until a signal. Ctrl-C is an interruption, SIGTERM the ordinary end.
pub(super) fn run(pulling: &mut Pulling, interval: Duration, streams: &mut Streams<'_>) -> Outcome {
    let stop = pulling.pull.stop.clone();
    let now = Instant::now();
    let mut watch = Watch {
        interval,
        pace: Pace::new(interval),
        trouble: Trouble::default(),
        exec_trouble: Trouble::default(),
        pull_at: now,
        exec_at: now,
        is_first: true,
        is_cut_told: false,
        put_off: None,
    };
    while watch.round(pulling, streams).is_ok() {
        let pause = watch.next(pulling);
        if stop.pause(pause).is_err() {
            break;
        }
    }
    match error(&Fault::Stopped, &stop) {
        Error::Interrupted(130) => Outcome::Interrupted,
        _ => Outcome::Fine,
    }
}

struct Watch {
    interval: Duration,
    pace: Pace,
    /// With the server, or with the folder.
    trouble: Trouble,
    /// With the command of `--exec`.
    exec_trouble: Trouble,
    /// When the next pull is due.
    pull_at: Instant,
    /// When the command may run next, if it is due.
    exec_at: Instant,
    /// True until a pull went well.
    is_first: bool,
    /// True if it was told that held questions break off, until one does not.
    is_cut_told: bool,
    /// What the server said when it put off a question that was to be held: it may have room for a plain one, which is
    /// the next.
    put_off: Option<String>,
}

impl Watch {
    /// Does what is due now, unless an end is asked for.
    fn round(&mut self, pulling: &mut Pulling, streams: &mut Streams<'_>) -> Pulled<()> {
        if self.pull_at <= Instant::now() {
            let pause = self.pull(pulling, streams)?;
            self.pull_at = Instant::now() + pause;
        }
        if pulling.is_exec_due() && self.exec_at <= Instant::now() {
            return self.exec(pulling, streams);
        }
        Ok(())
    }

    /// How long nothing is due.
    fn next(&self, pulling: &Pulling) -> Duration {
        let at = if pulling.is_exec_due() {
            self.pull_at.min(self.exec_at)
        } else {
            self.pull_at
        };
        at.saturating_duration_since(Instant::now())
    }

    /// Pulls once; gives the pause before the next time.
    fn pull(&mut self, pulling: &mut Pulling, streams: &mut Streams<'_>) -> Pulled<Duration> {
        let (answered, head) = self.ask(pulling, streams);
        let done = match head.and_then(|head| pulling.follow(head, streams)) {
            Ok(done) => done,
            Err(Fault::Stopped) => return Err(Fault::Stopped),
            // That it does not hold them now is known: the next question is a plain one.
            Err(Fault::Passing {
                after: Some(after), ..
            }) if self.is_cut_told && answered != Answered::Cut => {
                return Ok(jittered(after.min(PUT_OFF_MAX)));
            }
            Err(fault) => return Ok(self.fail(pulling, &fault, streams)),
        };
        if done != Done::Unchanged || self.is_first {
            let _told = pulling.teller.tell(&pulling.pull, &done, streams);
        }
        if done != Done::Unchanged {
            // It may be what the command waits for.
            self.exec_at = Instant::now();
        }
        self.is_first = false;
        if let Some(since) = self.trouble.end() {
            let text = format!("all is well again, after trouble since {since}");
            let _told = pulling.teller.remark(&text, streams);
        }
        let head = pulling
            .pull
            .state
            .as_ref()
            .map(|state| &state.head.short_id);
        let head = head.map_or("", String::as_str);
        Ok(self.pace.after(answered, &done, head))
    }

    /// Asks for the head, plainly where a question that was to be held broke off, or was refused, but for the
    /// token: something between may not know such a question. Where the server said when it wants to be asked again,
    /// that is the next question.
    fn ask(
        &mut self,
        pulling: &Pulling,
        streams: &mut Streams<'_>,
    ) -> (Answered, Pulled<TaggedHead>) {
        let Some(wait) = self.pace.wait() else {
            return (Answered::Plainly, pulling.pull.head(None));
        };
        if let Some(what) = self.put_off.take() {
            let head = pulling.pull.head(None);
            if head.is_ok() {
                self.tell_cut(&what, streams);
            } else {
                self.put_off = Some(what);
            }
            return (Answered::Cut, head);
        }
        // The command is not kept waiting.
        let wait = if pulling.is_exec_due() {
            let left = self.exec_at.saturating_duration_since(Instant::now());
            wait.min(left.max(Duration::from_secs(1)))
        } else {
            wait
        };
        let began = Instant::now();
        match pulling.pull.head(Some(wait)) {
            Err(Fault::Passing { what, after: None } | Fault::Lasting(what)) => {
                let head = pulling.pull.head(None);
                if head.is_ok() {
                    self.tell_cut(&what, streams);
                }
                (Answered::Cut, head)
            }
            head => {
                let answered = Answered::after(began.elapsed(), wait);
                if let Err(Fault::Passing { what, .. }) = &head {
                    self.put_off = Some(what.clone());
                }
                self.is_cut_told &= head.is_err() || answered != Answered::Held;
                (answered, head)
            }
        }
    }

    /// Says once that the server does not hold its answers, and why.
    fn tell_cut(&mut self, what: &str, streams: &mut Streams<'_>) {
        if !self.is_cut_told {
            self.is_cut_told = true;
            let _told = writeln!(
                streams.err,
                "siteconf: {}, while the server was to hold its answer; where that goes on it is asked every {} s",
                visible_lines(what),
                self.interval.as_secs()
            );
        }
    }

    /// Runs the command.
    fn exec(&mut self, pulling: &mut Pulling, streams: &mut Streams<'_>) -> Pulled<()> {
        match pulling.exec(streams) {
            Ok(()) => {
                if let Some(since) = self.exec_trouble.end() {
                    let text = format!("--exec goes well again, after trouble since {since}");
                    let _told = pulling.teller.remark(&text, streams);
                }
                Ok(())
            }
            Err(Fault::Stopped) => Err(Fault::Stopped),
            Err(fault) => {
                let (since, pause) = self.exec_trouble.fail(Duration::ZERO);
                self.exec_at = Instant::now() + pause;
                let _told = writeln!(
                    streams.err,
                    "siteconf: {}; trouble since {since}, it is run again in {} s",
                    visible_lines(&fault.to_string()),
                    pause.as_secs()
                );
                Ok(())
            }
        }
    }

    /// Says what is wrong and since when, and gives the pause after it.
    fn fail(&mut self, pulling: &Pulling, fault: &Fault, streams: &mut Streams<'_>) -> Duration {
        let wanted = match fault {
            Fault::Passing { after, .. } => after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let (since, pause) = self.trouble.fail(wanted);
        let holds = pulling.pull.state.as_ref().map_or_else(
            || "the folder stays as it is".to_owned(),
            |state| format!("the folder stays at {}", state.head.short_id),
        );
        let _told = writeln!(
            streams.err,
            "siteconf: {}; {holds}; trouble since {since}, next attempt in {} s",
            visible_lines(&fault.to_string()),
            pause.as_secs()
        );
        pause
    }
}
