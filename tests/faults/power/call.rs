//! A call of the system as `strace` shows it, and what it did to a folder.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// `X-Request-Id: ` as it is shown.
pub(super) const ID_HEADER: &str = r"\x58\x2d\x52\x65\x71\x75\x65\x73\x74\x2d\x49\x64\x3a\x20";
pub(super) const ID_DIGITS: usize = 16;

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

impl Event {
    /// Whether something of this name was there just before, if it shows that.
    pub(super) fn found(&self, name: &Path) -> Option<bool> {
        let (uses, makes) = match self {
            Self::Open { path, creates, .. } if *creates => (None, Some(path)),
            Self::Open { path, .. }
            | Self::Write { path, .. }
            | Self::Seek { path, .. }
            | Self::Resize { path, .. }
            | Self::Remove(path)
            | Self::Sync(path) => (Some(path), None),
            Self::MakeFolder(path) => (None, Some(path)),
            Self::Link { from, to } | Self::Rename { from, to } => (Some(from), Some(to)),
            Self::Given(_) | Self::Printed => (None, None),
        };
        let is_it = |path: Option<&PathBuf>| path.is_some_and(|path| path == name);
        // What would have been replaced is taken to have been gone.
        (is_it(uses) || is_it(makes)).then(|| is_it(uses))
    }
}

/// False for the index of the log, which SQLite makes anew when it finds that nobody has it open: what is
/// in it after a power cut matters to nobody.
pub(super) fn is_durable(name: &OsStr) -> bool {
    name != "store.db-shm"
}

/// A call as it is shown.
pub(super) struct Call<'a> {
    root: &'a Path,
    name: &'a str,
    arguments: &'a str,
    /// `None` for an error, and where it is not known.
    pub(super) result: Option<usize>,
}

impl<'a> Call<'a> {
    pub(super) fn new(root: &'a Path, text: &'a str) -> Self {
        let (name, rest) = text.split_once('(').unwrap();
        let (arguments, result) = match rest.rsplit_once(" = ") {
            Some((arguments, result)) => (arguments.trim_end(), result),
            None => (rest, ""),
        };
        // An error begins with a sign, what is not known with another one.
        let result = result.split(|sign: char| !sign.is_ascii_digit()).next();
        Self {
            root,
            name,
            arguments,
            result: result.unwrap_or_default().parse().ok(),
        }
    }

    /// True if it is shown to have done all that it was asked to.
    pub(super) fn is_whole(&self) -> bool {
        let is_write = matches!(self.name, "write" | "pwrite64");
        self.result
            .is_some_and(|result| !is_write || result == self.number(2))
    }

    /// The id of the answer that begins with what it sends.
    pub(super) fn request_id(&self) -> Option<String> {
        if !matches!(self.name, "write" | "writev" | "sendto" | "sendmsg") {
            return None;
        }
        // It stands in the head.
        let head = &self.arguments[..self.arguments.len().min(16 << 10)];
        let (_, id) = head.split_once(ID_HEADER)?;
        let digits = id.get(..ID_DIGITS * 4)?;
        Some(String::from_utf8(unhex(digits)).unwrap())
    }

    /// True if it prints something.
    pub(super) fn prints(&self) -> bool {
        self.name == "write" && self.arguments.starts_with("1<")
    }

    /// What it did to the folder, `None` for nothing.
    pub(super) fn event(&self) -> Option<Event> {
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
