//! What `strace` tells of processes: which calls changed files, when each began and was over, and when
//! answers were given.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::call::{Call, Event};
use crate::load::success_of;

/// All by which a file or a name can change, and what carries answers. A process that begins to use one of
/// those that are not understood is found by that.
const CALLS: &str = "trace=write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,ftruncate,truncate,\
     fallocate,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,\
     rmdir,open,openat,openat2,creat,fsync,fdatasync,msync,sync_file_range,copy_file_range,sendfile,\
     splice,lseek,mmap";
/// An event with its place among the lines of all logs.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) began: usize,
    pub(super) ended: usize,
    /// False where the process was killed in the call: it may have done all of it, a part, or nothing.
    pub(super) has_returned: bool,
    pub(super) event: Event,
}

/// Puts processes behind `strace`, which writes a log of each.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    logs: Arc<tempfile::TempDir>,
    begun: Arc<AtomicUsize>,
    /// Logs that were read.
    read: usize,
}

impl Recorder {
    pub(super) fn new() -> Self {
        Self {
            logs: Arc::new(tempfile::tempdir().unwrap()),
            begun: Arc::default(),
            read: 0,
        }
    }

    fn log(&self, number: usize) -> PathBuf {
        self.logs.path().join(number.to_string())
    }

    /// `strace`, behind which the command is to be put. The process that is started becomes the command's.
    pub(super) fn behind(&self) -> Command {
        let mut strace = self.strace();
        // Stops at these calls only. It does not go together with faults.
        strace.arg("--seccomp-bpf");
        strace
    }

    fn strace(&self) -> Command {
        let mut strace = Command::new("strace");
        strace
            .args(["-D", "-f", "-y", "-xx", "-s", "100000000"])
            .arg("--absolute-timestamps=format:unix,precision:ns")
            .args(["-e", CALLS, "-o"])
            .arg(self.log(self.begun.fetch_add(1, Ordering::Relaxed)))
            .stdin(Stdio::null());
        strace
    }

    /// The same with the command.
    pub(super) fn trace(&self, command: &Command) -> Command {
        with(self.behind(), command)
    }

    /// The same with the command, of which the first thread does not outlive its sync of this number.
    pub(super) fn kill_at_sync(&self, command: &Command, number: u32) -> Command {
        let mut strace = self.strace();
        let inject = format!("inject=fsync,fdatasync:signal=KILL:when={number}");
        strace.args(["-e", &inject]);
        with(strace, command)
    }

    /// Reads what the processes did that have ended since the last time, from this place on; gives the
    /// place behind it.
    pub(super) fn read(&mut self, root: &Path, first: usize) -> (Vec<Step>, usize) {
        let logs: Vec<_> = (self.read..self.begun.load(Ordering::Relaxed))
            .map(|number| self.log(number))
            .collect();
        self.read += logs.len();
        let texts: Vec<_> = logs.iter().map(|log| whole(log)).collect();
        for log in logs {
            fs::remove_file(log).unwrap();
        }
        let mut lines: Vec<_> = texts
            .iter()
            .flat_map(|text| text.lines())
            .map(Line::new)
            .collect();
        // In a log they are in order already: of two at once the first stays the first.
        lines.sort_by_key(|line| line.at);
        let mut reader = Reader {
            root,
            steps: Vec::new(),
            held: HashMap::new(),
        };
        for (place, line) in (first..).zip(&lines) {
            reader.take(place, line);
        }
        assert!(reader.held.is_empty(), "they have all ended");
        (reader.steps, first + lines.len())
    }
}

/// The command behind `strace`; its output is read.
fn with(mut strace: Command, command: &Command) -> Command {
    strace
        .arg(command.get_program())
        .args(command.get_args())
        .stdout(Stdio::piped());
    strace
}

/// A log of a process that has ended, to its last line.
fn whole(log: &Path) -> String {
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(log).unwrap();
        let process = text.split(' ').next().unwrap_or_default();
        let last = text.lines().next_back().unwrap_or_default();
        if last.starts_with(process) && last.ends_with("+++") && text.ends_with('\n') {
            return text;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "{last:.200}");
        thread::yield_now();
    }
}

/// A line of a log.
struct Line<'a> {
    /// The thread, which is the process itself for its first one.
    thread: u32,
    /// Seconds and nanoseconds, as digits of always the same number.
    at: &'a str,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn new(line: &'a str) -> Self {
        let (thread, rest) = line.split_once(' ').unwrap();
        let (at, text) = rest.trim_start().split_once(' ').unwrap();
        Self {
            thread: thread.parse().unwrap(),
            at,
            text,
        }
    }
}

/// Makes steps of lines.
struct Reader<'a> {
    root: &'a Path,
    steps: Vec<Step>,
    /// Calls by their threads, from where on and what was shown of them: those under way, and those that did
    /// not do all that they were asked to. Of a thread that is killed in a call `strace` has shown results that
    /// were not its own, such as an error of a link that was made.
    held: HashMap<u32, (usize, String)>,
}

impl Reader<'_> {
    fn take(&mut self, place: usize, line: &Line<'_>) {
        let text = line.text;
        if text.starts_with("---") {
            return;
        }
        let held = self.held.remove(&line.thread);
        if text.starts_with("+++") {
            if let Some((began, text)) = held {
                self.call([began, place], false, &text);
            }
            if text == "+++ exited with 0 +++" {
                self.note(place, Event::Given(success_of(line.thread)));
            }
            return;
        }
        let (began, text) = match text.split_once("resumed>") {
            Some((resumed, rest)) if resumed.starts_with("<... ") => {
                let (began, text) = held.unwrap();
                (began, text + rest)
            }
            _ => {
                // Its thread went on, so that it is true.
                if let Some((began, text)) = held {
                    self.call([began, place], true, &text);
                }
                (place, text.to_owned())
            }
        };
        if let Some(text) = text.strip_suffix("<unfinished ...>") {
            self.held.insert(line.thread, (began, text.to_owned()));
        } else if Call::new(self.root, &text).is_whole() {
            self.call([began, place], true, &text);
        } else {
            self.held.insert(line.thread, (began, text));
        }
    }

    /// Notes what is seen from a place on.
    fn note(&mut self, place: usize, event: Event) {
        self.steps.push(Step {
            began: place,
            ended: place,
            has_returned: true,
            event,
        });
    }

    fn call(&mut self, [began, ended]: [usize; 2], has_returned: bool, text: &str) {
        let mut call = Call::new(self.root, text);
        if !has_returned {
            call.result = None;
        } else if call.result.is_none() {
            return;
        }
        if let Some(id) = call.request_id() {
            // It may have been read before the call was over.
            self.note(began, Event::Given(id));
        } else if call.prints() {
            self.note(began, Event::Printed);
        } else if let Some(event) = call.event() {
            self.steps.push(Step {
                began,
                ended,
                has_returned,
                event,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::{ID_DIGITS, ID_HEADER};
    use super::*;

    /// Of a call of a thread, its result, what the thread does then, and its end.
    fn steps(call: &str, result: &str, then: &str) -> Vec<Step> {
        let lines = [
            format!("7 1.0 {call} <unfinished ...>"),
            format!("7 1.1 <... resumed>) = {result}"),
            then.to_owned(),
            "7 1.3 +++ killed by SIGKILL +++".to_owned(),
        ];
        let mut reader = Reader {
            root: Path::new("/f"),
            steps: Vec::new(),
            held: HashMap::new(),
        };
        for (place, line) in lines.iter().enumerate() {
            reader.take(place, &Line::new(line));
        }
        reader.steps
    }

    /// Another thread's end, and another call.
    const THEN: [&str; 2] = ["8 1.2 +++ killed by SIGKILL +++", "7 1.2 fsync(9</>) = 0"];

    #[test]
    fn a_call_that_was_not_whole_is_over_when_its_thread_has_ended_or_goes_on() {
        let links = |result: &str| {
            let link = r#"link("\x2f\x66\x2f\x61", "\x2f\x66\x2f\x62""#;
            THEN.map(|then| {
                let steps = steps(link, result, then).into_iter().map(|step| {
                    assert_eq!(step.event.found(Path::new("a")), Some(true));
                    (step.ended, step.has_returned)
                });
                steps.collect::<Vec<_>>()
            })
        };
        assert_eq!(links("0"), [[(1, true)]; 2]);
        let not_known = [vec![(3, false)], vec![]];
        assert_eq!(links("-1 EEXIST (File exists)"), not_known);
        assert_eq!(links("-1 (errno 18446744073709551598)"), not_known);
        assert_eq!(links("?"), not_known);
        assert_eq!(links("? <unavailable>"), not_known);
    }

    #[test]
    fn a_write_is_as_long_as_is_shown_if_its_thread_goes_on() {
        let writes = |result: &str| {
            let write =
                r#"pwrite64(9</f/a>, "\x30\x30\x30", 3, 0"#.replace("/f/a", r"\x2f\x66\x2f\x61");
            THEN.map(|then| match &steps(&write, result, then)[..] {
                [
                    Step {
                        ended,
                        has_returned,
                        event: Event::Write { bytes, .. },
                        ..
                    },
                ] => (*ended, *has_returned, bytes.len()),
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(writes("3"), [(1, true, 3); 2]);
        assert_eq!(writes("2"), [(3, false, 3), (2, true, 2)]);
    }

    #[test]
    fn an_answer_may_have_been_given_from_its_beginning_on() {
        let answer = format!(r#"sendto(9, "{ID_HEADER}{}""#, r"\x30".repeat(ID_DIGITS));
        for result in ["80", "?"] {
            let given = steps(&answer, result, THEN[0]);
            assert_eq!((given.len(), given[0].began), (1, 0));
            assert!(matches!(&given[0].event, Event::Given(id) if id == "0000000000000000"));
        }
    }
}
