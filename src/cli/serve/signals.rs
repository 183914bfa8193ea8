//! Signals: SIGTERM and Ctrl-C stop the service, SIGHUP and SIGUSR1 reload it.

use std::fs;
use std::io::{self, IsTerminal, stderr, stdin, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};
use tokio::sync::oneshot;

use super::reload::Trigger;
use crate::cli::log;

/// The exit code of a stop.
const STOPPED: i32 = 0;
/// The exit code of a stop that did not wait for everything in flight.
const CUT_OFF: i32 = 1;

/// Signals that are kept for [`watch`] from the beginning of a start on: those that ask for a reload. Those that ask
/// for an end do end a start, which may take long.
#[derive(Debug)]
pub(super) struct HeldSignals {
    signals: Signals,
    /// True until [`watch`] sees to the signals that ask for an end.
    is_starting: Arc<AtomicBool>,
    /// As the process was started.
    outlives_terminal: bool,
    terminals: [bool; 3],
}

/// Keeps what comes from now on; SIGTERM and Ctrl-C end the process at once, as a stop that was asked for. Without a
/// handler they would pass by the first process of a container.
pub(super) fn keep() -> io::Result<HeldSignals> {
    let is_starting = Arc::new(AtomicBool::new(true));
    for signal in [SIGTERM, SIGINT] {
        flag::register_conditional_shutdown(signal, STOPPED, Arc::clone(&is_starting))?;
    }
    Ok(HeldSignals {
        is_starting,
        // Looked at before the handler is there, which changes it.
        outlives_terminal: ignores_hangup(),
        terminals: terminals(),
        signals: Signals::new([SIGHUP, SIGUSR1])?,
    })
}

/// What a stop waits for. The senders have nothing to send: that they are gone is the word.
#[derive(Debug)]
pub(super) struct Stop {
    /// It begins.
    pub(super) begins: oneshot::Receiver<()>,
    /// Nothing more is to be taken.
    pub(super) is_due: oneshot::Receiver<()>,
}

/// A stop begins with the first SIGTERM, Ctrl-C or end of the terminal, and is due so long after it, or at the next of
/// these. From then on the process has until the limit, or until one more signal, whatever hangs in it. Any other
/// SIGHUP is a reload.
pub(super) fn watch(
    kept: HeldSignals,
    drain: Duration,
    limit: Duration,
    rest_of_log: log::Rest,
    reload: Trigger,
) -> io::Result<Stop> {
    let HeldSignals {
        mut signals,
        is_starting,
        outlives_terminal,
        terminals,
    } = kept;
    let stopping = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        // In this order: the first signal finds the mark not yet set. Both act in the handler itself,
        // so the second signal needs no thread of ours.
        flag::register_conditional_shutdown(signal, CUT_OFF, Arc::clone(&stopping))?;
        // Where requests are taken for a while, the second signal ends that alone.
        if drain.is_zero() {
            flag::register(signal, Arc::clone(&stopping))?;
        }
        signals.add_signal(signal)?;
    }
    is_starting.store(false, Ordering::SeqCst);
    let (begin, begins) = oneshot::channel::<()>();
    let (stop, is_due) = oneshot::channel::<()>();
    let watch = move || {
        let hung_up = || !outlives_terminal && self::terminals() != terminals;
        let mut stops = |signal: &i32| {
            let stops = match *signal {
                SIGUSR1 => false,
                SIGHUP => hung_up(),
                _ => true,
            };
            if !stops {
                reload.pull();
            }
            stops
        };
        let arrivals = signals.handle();
        let mut arriving = signals.forever();
        arriving.find(&mut stops);
        drop(begin);
        if !drain.is_zero() {
            let end_arrivals = move || {
                thread::sleep(drain);
                arrivals.close();
            };
            // Without a thread that ends the wait there is none.
            let ending = thread::Builder::new().name("drain".to_owned());
            if ending.spawn(end_arrivals).is_ok() {
                arriving.find(&mut stops);
            }
        }
        stopping.store(true, Ordering::SeqCst);
        drop(stop);
        thread::sleep(limit);
        tracing::warn!(
            shutdown_s = limit.as_secs(),
            "the time for a stop is over; ending with requests in flight"
        );
        drop(rest_of_log);
        // Not through the end of `main`, which waits for what hangs. The store survives a kill.
        low_level::exit(CUT_OFF);
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(watch)?;
    Ok(Stop { begins, is_due })
}

/// Which of the standard streams are terminals. One whose window was closed no longer is.
fn terminals() -> [bool; 3] {
    [
        stdin().is_terminal(),
        stdout().is_terminal(),
        stderr().is_terminal(),
    ]
}

/// True if the process was started to outlive its terminal, as `nohup` does.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}
