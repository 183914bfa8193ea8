//! What `strace` tells of processes: which calls changed files, when each began and was over, and when
//! answers were given.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::load::success_of;

/// All by which a file or a name can change, and what carries answers. A process that begins to use one of
/// those that are not understood is found by that.
const CALLS: &str = "trace=write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,ftruncate,truncate,\
     fallocate,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,\
     rmdir,open,openat,openat2,creat,fsync,fdatasync,msync,sync_file_range,copy_file_range,sendfile,\
     splice,lseek,mmap";
/// `X-Request-Id: ` as it is shown.
const ID_HEADER: &str = r"\x58\x2d\x52\x65\x71\x75\x65\x73\x74\x2d\x49\x64\x3a\x20";
const ID_DIGITS: usize = 16;

/// What a call did, by paths below the traced folder.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Open {
        path: PathBuf,
        creates: bool,
        truncates: bool,
    },
    /// At this place, else where the last such write of the file ended.
    Write {
        path: PathBuf,
        at: Option<usize>,
        bytes: Vec<u8>,
    },
    Seek {
        path: PathBuf,
        to: usize,
    },
    Resize {
        path: PathBuf,
        length: usize,
        cuts: bool,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
    MakeFolder(PathBuf),
    Sync(PathBuf),
    /// The answer of this id, or the end of a process in success, by [`success_of`].
    Given(String),
    /// A process has printed something.
    Printed,
}

/// An event with its place among the lines of all logs.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) began: usize,
    /// `None` where the process was killed in the call.
    pub(super) ended: Option<usize>,
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
        for (began, text) in std::mem::take(&mut reader.unfinished).into_values() {
            reader.call(began, None, &text);
        }
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

/// False for the index of the log, which SQLite makes anew when it finds that nobody has it open: what is
/// in it after a power cut matters to nobody.
pub(super) fn is_durable(name: &OsStr) -> bool {
    name != "store.db-shm"
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
        if let Some(text) = text.strip_suffix("<unfinished ...>") {
            self.unfinished
                .insert(line.thread, (place, text.to_owned()));
        } else if text.starts_with("<... ") {
            let rest = text.split_once("resumed>").unwrap().1;
            let (began, text) = self.unfinished.remove(&line.thread).unwrap();
            self.call(began, Some(place), &(text + rest));
        } else if text == "+++ exited with 0 +++" {
            self.note(place, Event::Given(success_of(line.thread)));
        } else if !text.starts_with("+++") && !text.starts_with("---") {
            self.call(place, Some(place), text);
        }
    }

    /// Notes what is seen from a place on.
    fn note(&mut self, place: usize, event: Event) {
        self.steps.push(Step {
            began: place,
            ended: Some(place),
            event,
        });
    }

    fn call(&mut self, began: usize, ended: Option<usize>, text: &str) {
        let (name, rest) = text.split_once('(').unwrap();
        let (arguments, result) = match rest.rsplit_once(" = ") {
            Some((arguments, result)) => (arguments.trim_end(), result),
            None => (rest, "?"),
        };
        let result = result.split(|sign: char| !sign.is_ascii_digit()).next();
        // An error begins with a sign, what is not known with another one.
        let result = result.unwrap_or_default().parse().ok();
        let is_over = ended.is_some() && !text.ends_with("= ?");
        if is_over && result.is_none() {
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
            let ended = ended.filter(|_| is_over);
            self.steps.push(Step {
                began,
                ended,
                event,
            });
        }
    }
}

/// The id of the answer that begins with these bytes.
fn request_id(name: &str, arguments: &str) -> Option<String> {
    if !matches!(name, "write" | "writev" | "sendto" | "sendmsg") {
        return None;
    }
    // It stands in the head.
    let head = &arguments[..arguments.len().min(16 << 10)];
    let (_, id) = head.split_once(ID_HEADER)?;
    let digits = id.get(..ID_DIGITS * 4)?;
    Some(String::from_utf8(unhex(digits)).unwrap())
}

/// A call as it is shown.
struct Call<'a> {
    root: &'a Path,
    name: &'a str,
    arguments: &'a str,
    /// `None` where it is not known.
    result: Option<usize>,
}

impl Call<'_> {
    /// What it did to the folder, `None` for nothing.
    fn event(&self) -> Option<Event> {
        let has = |flag: &str| self.arguments.contains(flag);
        match self.name {
            "open" | "openat" => {
                let path = self.path(0)?;
                assert!(!has("SYNC"), "{}", self.shown());
                // It never has a name, and nothing of it outlives a power cut.
                if has("O_TMPFILE") {
                    return None;
                }
                Some(Event::Open {
                    path,
                    creates: has("O_CREAT"),
                    truncates: has("O_TRUNC"),
                })
            }
            "write" | "pwrite64" => {
                let path = self.file()?;
                let mut bytes = self.string(0);
                bytes.truncate(self.result.unwrap_or(bytes.len()));
                let at = (self.name == "pwrite64").then(|| self.number(3));
                Some(Event::Write { path, at, bytes })
            }
            "lseek" => Some(Event::Seek {
                path: self.file()?,
                to: self.result?,
            }),
            "ftruncate" => Some(Event::Resize {
                path: self.file()?,
                length: self.number(1),
                cuts: true,
            }),
            "fallocate" => {
                let path = self.file()?;
                assert_eq!(self.number(1), 0, "{}", self.shown());
                Some(Event::Resize {
                    path,
                    length: self.number(2) + self.number(3),
                    cuts: false,
                })
            }
            "link" | "linkat" => Some(Event::Link {
                from: self.path(0)?,
                to: self.path(1)?,
            }),
            "rename" | "renameat" | "renameat2" => {
                assert!(!has("RENAME_"), "{}", self.shown());
                Some(Event::Rename {
                    from: self.path(0)?,
                    to: self.path(1)?,
                })
            }
            "unlink" | "unlinkat" | "rmdir" => Some(Event::Remove(self.path(0)?)),
            "mkdir" | "mkdirat" => Some(Event::MakeFolder(self.path(0)?)),
            "fsync" | "fdatasync" => Some(Event::Sync(self.file()?)),
            "sendto" | "sendmsg" => None,
            "mmap" => {
                let is_written = has("PROT_WRITE") && has("MAP_SHARED");
                assert!(!is_written || self.file().is_none(), "{}", self.shown());
                None
            }
            _ => {
                let is_below =
                    self.file().is_some() || self.quoted(0).is_some() && self.path(0).is_some();
                assert!(!is_below, "the model knows no {}", self.shown());
                None
            }
        }
    }

    fn shown(&self) -> String {
        format!("{}({:.1000})", self.name, self.arguments)
    }

    /// The file of a descriptor, unless it has lost its name: then nothing of it outlives a power cut.
    fn file(&self) -> Option<PathBuf> {
        let (_, rest) = self.arguments.split_once('<')?;
        let (path, rest) = rest.split_once('>')?;
        if rest.starts_with("(deleted)") {
            return None;
        }
        self.below(path)
    }

    /// A path that is given as a text.
    fn path(&self, number: usize) -> Option<PathBuf> {
        self.below(self.quoted(number)?)
    }

    fn below(&self, hex: &str) -> Option<PathBuf> {
        let path = PathBuf::from(OsString::from_vec(unhex(hex)));
        let path = path.strip_prefix(self.root).ok()?;
        path.file_name()
            .is_none_or(is_durable)
            .then(|| path.to_owned())
    }

    fn string(&self, number: usize) -> Vec<u8> {
        unhex(self.quoted(number).unwrap())
    }

    fn quoted(&self, number: usize) -> Option<&str> {
        self.arguments.split('"').nth(2 * number + 1)
    }

    /// An argument that is a number.
    fn number(&self, number: usize) -> usize {
        let argument = self.arguments.trim_end_matches(')').split(", ").nth(number);
        let argument = argument.and_then(|text| text.trim().parse().ok());
        argument.unwrap_or_else(|| panic!("{}", self.shown()))
    }
}

/// The bytes of `\x61\x62…`.
fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text
        .as_bytes()
        .chunks_exact(4)
        .flat_map(|byte| [byte[2], byte[3]])
        .collect();
    hex::decode(digits).unwrap_or_else(|e| panic!("{e}: {text:.200}"))
}
