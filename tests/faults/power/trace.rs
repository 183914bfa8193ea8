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

use super::call::{Call, Event, request_id};
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
            unfinished: HashMap::new(),
        };
        for (place, line) in (first..).zip(&lines) {
            reader.take(place, line);
        }
        assert!(reader.unfinished.is_empty(), "they have all ended");
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
    /// Calls under way by their threads, from where on and what was shown of them.
    unfinished: HashMap<u32, (usize, String)>,
}

impl Reader<'_> {
    fn take(&mut self, place: usize, line: &Line<'_>) {
        let text = line.text;
        if text.starts_with("---") {
            return;
        }
        if text.starts_with("+++") {
            // A call that did not return is over by then.
            if let Some((began, text)) = self.unfinished.remove(&line.thread) {
                self.call([began, place], false, &text);
            }
            if text == "+++ exited with 0 +++" {
                self.note(place, Event::Given(success_of(line.thread)));
            }
            return;
        }
        let (began, text) = match text.split_once("resumed>") {
            Some((resumed, rest)) if resumed.starts_with("<... ") => {
                let (began, text) = self.unfinished.remove(&line.thread).unwrap();
                (began, text + rest)
            }
            _ => (place, text.to_owned()),
        };
        match without_result(&text) {
            Some(text) => {
                self.unfinished
                    .insert(line.thread, (began, text.to_owned()));
            }
            None => self.call([began, place], true, &text),
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
        let (name, rest) = text.split_once('(').unwrap();
        let (arguments, result) = match rest.rsplit_once(" = ") {
            Some((arguments, result)) => (arguments.trim_end(), result),
            None => (rest, ""),
        };
        let result = result.split(|sign: char| !sign.is_ascii_digit()).next();
        // An error begins with a sign.
        let result = result.unwrap_or_default().parse().ok();
        if has_returned && result.is_none() {
            return;
        }
        if let Some(id) = request_id(name, arguments) {
            // It may have been read before the call was over.
            self.note(began, Event::Given(id));
            return;
        }
        if name == "write" && arguments.starts_with("1<") {
            self.note(began, Event::Printed);
            return;
        }
        let call = Call {
            root: self.root,
            name,
            arguments,
            result,
        };
        if let Some(event) = call.event() {
            self.steps.push(Step {
                began,
                ended,
                has_returned,
                event,
            });
        }
    }
}

/// A call of which it is not known how it ended, `None` for another.
fn without_result(text: &str) -> Option<&str> {
    if let Some(text) = text.strip_suffix("<unfinished ...>") {
        return Some(text);
    }
    let (text, result) = text.rsplit_once(" = ")?;
    // The second was seen of a call that had done its work when the process was killed: no error has that number.
    (result == "?" || result.starts_with("-1 (errno ")).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::call::{ID_DIGITS, ID_HEADER};
    use super::*;

    /// Of a call of a thread, its result, and the ends of another thread and of this one.
    fn steps(call: &str, result: &str) -> Vec<Step> {
        let lines = [
            format!("7 1.0 {call} <unfinished ...>"),
            format!("7 1.1 <... resumed>) = {result}"),
            "8 1.2 +++ killed by SIGKILL +++".to_owned(),
            "7 1.3 +++ killed by SIGKILL +++".to_owned(),
        ];
        let mut reader = Reader {
            root: Path::new("/f"),
            steps: Vec::new(),
            unfinished: HashMap::new(),
        };
        for (place, line) in lines.iter().enumerate() {
            reader.take(place, &Line::new(line));
        }
        reader.steps
    }

    #[test]
    fn a_call_without_a_result_is_over_when_its_thread_has_ended() {
        let links = |result: &str| {
            let link = r#"link("\x2f\x66\x2f\x61", "\x2f\x66\x2f\x62""#;
            let steps = steps(link, result).into_iter().map(|step| {
                assert_eq!(step.event.found(Path::new("a")), Some(true));
                (step.began, step.ended, step.has_returned)
            });
            steps.collect::<Vec<_>>()
        };
        assert_eq!(links("0"), [(0, 1, true)]);
        assert_eq!(links("-1 EEXIST (File exists)"), []);
        assert_eq!(links("?"), [(0, 3, false)]);
        assert_eq!(links("-1 (errno 18446744073709551598)"), [(0, 3, false)]);
    }

    #[test]
    fn an_answer_may_have_been_given_from_its_beginning_on() {
        let answer = format!(r#"sendto(9, "{ID_HEADER}{}""#, r"\x30".repeat(ID_DIGITS));
        for result in ["80", "?"] {
            let [given] = &steps(&answer, result)[..] else {
                panic!("one step");
            };
            assert_eq!(given.began, 0);
            assert!(matches!(&given.event, Event::Given(id) if id == "0000000000000000"));
        }
    }
}
