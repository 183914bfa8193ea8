//! Why a pull did not come to its end.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::cli::output::visible_path;
use crate::cli::running::stop::Asked;

/// What keeps a pull from its end, by what is to be done about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A signal asked for the end.
    Stopped,
    /// The server or the way to it: it may be better the next time.
    Passing {
        /// What happened.
        what: String,
        /// When the server wants to be asked again.
        after: Option<Duration>,
    },
    /// The branch moved on, or what it held was removed, while it was read.
    Moved(String),
    /// The service knows the token, and refuses it; or wants one.
    Denied(String),
    /// Nothing that passes by itself.
    Lasting(String),
    /// The same, for want of room on the disk.
    Full {
        /// What it was wanted for.
        what: String,
        /// As many bytes of room are needed at least, if it was measured.
        needed: Option<u64>,
    },
}

/// A result of a part of a pull.
pub(super) type Pulled<T> = Result<T, Fault>;

impl Fault {
    pub(super) fn passing(what: impl Into<String>) -> Self {
        Self::Passing {
            what: what.into(),
            after: None,
        }
    }

    pub(super) fn lasting(what: impl Into<String>) -> Self {
        Self::Lasting(what.into())
    }

    /// What the system says of a file or folder.
    pub(super) fn of_file(action: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("{action} {}", visible_path(path));
        move |error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full {
                what: format!(
                    "{what}: the disk is full; the folder stays as it is until there is room"
                ),
                needed: None,
            },
            _ => Self::Lasting(format!("{what}: {error}")),
        }
    }
}

impl From<Asked> for Fault {
    fn from(_: Asked) -> Self {
        Self::Stopped
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("interrupted"),
            Self::Passing { what, .. }
            | Self::Moved(what)
            | Self::Denied(what)
            | Self::Lasting(what)
            | Self::Full { what, .. } => f.write_str(what),
        }
    }
}
