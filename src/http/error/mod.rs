//! Everything a request can be refused with, and the one place that decides each status and text.

mod store_answer;

use std::borrow::Cow;

use hyper::{Method, StatusCode};

use crate::access;
use crate::access::Refusal;
use crate::repo;
use crate::repo::Missing;
use store_answer::StoreAnswer;

/// Which API answers. An error speaks GitLab's texts on the Read API and plain ones elsewhere; lists differ, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApiFlavor {
    /// The Read API.
    Read,
    /// The Admin API and the login.
    Admin,
}

/// A refusal or a failure of a request. The client reads [`Error::message`], the log the error
/// itself with its sources.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// Something in the request is not in its form.
    #[error("{0}")]
    Malformed(String),
    /// The body ended before its announced end, or its chunks are malformed.
    #[error("the body broke off or is malformed")]
    BrokenBody,
    /// A page of another site asks.
    #[error("a request of another site")]
    CrossSite,
    /// A page asks that came from elsewhere; the text says what to set if it is a page of ours.
    #[error("{0}")]
    ForeignOrigin(String),
    /// The request was sent to a name that is not the service's.
    #[error("a request to another host")]
    Misdirected,
    /// No such route.
    #[error("no such route")]
    NoRoute,
    /// What a route names is not there; the text says what, in the words of its flavor.
    #[error("{0}")]
    NotThere(&'static str),
    /// The route exists and has other methods.
    #[error("method not allowed")]
    Method {
        /// The methods, as `Allow` lists them.
        allow: String,
    },
    /// The body came too slowly.
    #[error("the body came too slowly")]
    SlowBody,
    /// The body is too large.
    #[error("the body is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// A file of a batch is too large.
    #[error("\"{path}\" is larger than {limit_bytes} bytes, the most that a file may have")]
    LargeFile {
        /// Where it was to be.
        path: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// The files of an archive are too large together.
    #[error(
        "the files are {bytes} bytes together, an archive holds at most {limit_bytes}; ask for a folder with \"path\""
    )]
    LargeArchive {
        /// What they are.
        bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The request line is too long.
    #[error("the request target is too long")]
    LongTarget,
    /// The body is of a type that the route does not take.
    #[error("{0}")]
    MediaType(Cow<'static, str>),
    /// The range begins behind the end of a file of this many bytes.
    #[error("the range begins behind the end")]
    Range {
        /// The file's size.
        size: u64,
    },
    /// `Expect` asks for something else than `100-continue`.
    #[error("unknown expectation")]
    Expectation,
    /// Too many header lines.
    #[error("too many header lines")]
    HeaderLines,
    /// A method that no route has.
    #[error("unknown method")]
    UnknownMethod,
    /// The body is in a transfer coding other than `chunked`.
    #[error("unknown transfer coding")]
    TransferCoding,
    /// A client asked too often, or for too much at once.
    #[error("{}; try again in {retry_after_s} s", refusal.reason)]
    TooMany {
        /// Whose account it was, and of what it was too much.
        refusal: Refusal,
        /// When it is worth another try.
        retry_after_s: u64,
    },
    /// All of something is taken.
    #[error("{0}; try again in a moment")]
    Overloaded(&'static str),
    /// The service should be sent no requests.
    #[error("not ready: {0}")]
    NotReady(String),
    /// A handler panicked.
    #[error("the handler panicked")]
    Crashed,
    /// The gate refused or failed.
    #[error(transparent)]
    Access(#[from] access::Error),
    /// The repository refused or failed.
    #[error(transparent)]
    Repo(repo::Error),
}

impl Error {
    /// The same where it came when a change had been made already: a client that is told to try again would make it
    /// twice.
    pub(in crate::http) fn after_change(self) -> Self {
        match self {
            Self::Access(error) => Self::Access(error.after_change()),
            Self::Repo(error) => Self::Repo(error.after_change()),
            other => other,
        }
    }

    /// The same; one of the repository becomes what this makes of it.
    pub(in crate::http) fn map_repo(self, map: impl FnOnce(repo::Error) -> Self) -> Self {
        match self {
            Self::Repo(error) => map(error),
            other => other,
        }
    }

    /// Something in the request is not in its form.
    pub(super) fn malformed(reason: &str) -> Self {
        Self::Malformed(reason.to_owned())
    }

    /// A batch of more actions or files than it may have.
    pub(in crate::http) fn many_actions(most: u64) -> Self {
        Self::Malformed(format!("there are more than {most} actions"))
    }

    /// A condition cannot hold of what has no entity tag, or is about to be made.
    pub(super) fn precondition() -> Self {
        Self::Repo(repo::Error::Precondition {
            reason: "there is nothing that is in the state that the request demands".to_owned(),
            tag: None,
            file: None,
        })
    }

    /// No credential was shown, or one that is not in its form.
    pub(super) fn no_credential() -> Self {
        let refusal = Refusal::new("no credential, or one that is not in its form");
        Self::Access(access::Error::Unauthenticated(refusal))
    }

    /// Who was refused and why, where somebody was for want of a credential or a right, or because it
    /// was too much.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::CrossSite => Some(Refusal::new("a request of another site")),
            Self::ForeignOrigin(_) => Some(Refusal::new(
                "an Origin that is not the service's address: see external_url, trusted_proxies",
            )),
            Self::Misdirected => Some(Refusal::new("a Host not in external_url or hosts")),
            Self::TooMany { refusal, .. } => Some(refusal.clone()),
            Self::Overloaded(reason) => Some(Refusal::new(reason)),
            Self::Access(refused) => refused.refusal().cloned(),
            _ => None,
        }
    }

    /// Seconds after which it is worth another try, where another try may do.
    pub(super) fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::TooMany { retry_after_s, .. } => Some(*retry_after_s),
            other => match other.store_answer() {
                Some(answer) => answer.retry_after_s,
                None => (other.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
            },
        }
    }

    /// The route has only these methods.
    pub(super) fn method(allowed: &[Method]) -> Self {
        Self::Method {
            allow: allow(allowed),
        }
    }

    /// On the Read API an unknown revision is named after what was looked for in it.
    pub(super) fn revision_as(self, text: &'static str) -> Self {
        match self {
            Self::Repo(repo::Error::NotFound {
                what: Missing::Revision | Missing::Branch | Missing::Snapshot,
            }) => Self::NotThere(text),
            other => other,
        }
    }

    /// True for what went wrong here, so that the operator should look; false for a refusal.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Self::UnknownMethod
            | Self::TransferCoding
            | Self::Overloaded(_)
            | Self::NotReady(_)
            | Self::Repo(repo::Error::Unfinished) => false,
            other if other.store_answer().is_some_and(|answer| answer.is_logged) => false,
            other => other.status().is_server_error(),
        }
    }

    /// The status it is answered with.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_) | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::CrossSite | Self::ForeignOrigin(_) => StatusCode::FORBIDDEN,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::NoRoute | Self::NotThere(_) => StatusCode::NOT_FOUND,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge { .. } | Self::LargeFile { .. } | Self::LargeArchive { .. } => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::LongTarget => StatusCode::URI_TOO_LONG,
            Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Range { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::HeaderLines => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::UnknownMethod | Self::TransferCoding => StatusCode::NOT_IMPLEMENTED,
            Self::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Overloaded(_) | Self::NotReady(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Crashed => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Access(error) => of_access(error),
            Self::Repo(error) => of_repo(error),
        }
    }

    /// How it is answered if it is a refusal or a failure of the store.
    fn store_answer(&self) -> Option<StoreAnswer> {
        match self {
            Self::Repo(repo::Error::Store(error))
            | Self::Access(access::Error::Repo(repo::Error::Store(error))) => {
                Some(StoreAnswer::to(error))
            }
            Self::Access(access::Error::Store(error)) => Some(StoreAnswer::to(error)),
            _ => None,
        }
    }

    /// What the client reads.
    pub(in crate::http) fn message(&self, flavor: ApiFlavor) -> Cow<'static, str> {
        let either = |read: &'static str, admin: &'static str| match flavor {
            ApiFlavor::Read => read.into(),
            ApiFlavor::Admin => admin.into(),
        };
        match self {
            Self::CrossSite => "requests of other sites are refused".into(),
            Self::Misdirected => {
                "this service has no such name; its settings external_url and hosts say which it has"
                    .into()
            }
            Self::NoRoute => either("404 Not Found", "there is no such route"),
            Self::Method { .. } => either(
                "405 Not Allowed",
                "this route does not have this method; see the Allow header",
            ),
            Self::SlowBody => "the body came too slowly; send it again".into(),
            Self::Range { size } => format!("the range begins behind the end, {size} bytes").into(),
            Self::Expectation => "only \"Expect: 100-continue\" is understood".into(),
            Self::UnknownMethod => "this method is not implemented".into(),
            Self::Overloaded(_) | Self::NotReady(_) => self.to_string().into(),
            Self::TransferCoding => "only the transfer coding \"chunked\" is implemented".into(),
            Self::Access(access::Error::Unauthenticated(_)) => {
                either("401 Unauthorized", "Not logged in")
            }
            Self::Access(access::Error::FingerprintMismatch(_)) => "FINGERPRINT_MISMATCH".into(),
            Self::Access(access::Error::Forbidden(_)) => {
                either("403 Forbidden", "your roles do not allow this")
            }
            Self::Access(access::Error::NoSuchProject) => missing(flavor, Missing::Project).into(),
            Self::Access(access::Error::NoSuchToken) => {
                either("404 Token Not Found", "Token not found")
            }
            Self::Access(access::Error::NoSuchSession) => "Session not found".into(),
            Self::Repo(repo::Error::NotFound { what })
            | Self::Access(access::Error::Repo(repo::Error::NotFound { what })) => {
                missing(flavor, *what).into()
            }
            Self::Repo(repo::Error::TooManyDeleted { .. })
            | Self::Access(access::Error::Repo(repo::Error::TooManyDeleted { .. })) => format!(
                "{self}: wait until some are forgotten (not before what the list of what was deleted says, as \
                 kept_until), or ask the operator of the service, who can have them forgotten at once: siteconf gc \
                 --keep-deleted-days N"
            )
            .into(),
            other => {
                let of_store = other.store_answer().and_then(|answer| answer.message);
                match (of_store, other.status()) {
                    (Some(message), _) => message.into(),
                    (None, StatusCode::INTERNAL_SERVER_ERROR) => either(
                        "500 Internal Server Error",
                        "internal error; see the log under X-Request-Id",
                    ),
                    (None, _) => other.to_string().into(),
                }
            }
        }
    }
}

impl From<repo::Error> for Error {
    fn from(error: repo::Error) -> Self {
        match error {
            // Refused as the gate refuses; what is forbidden is told in the audit log as that.
            repo::Error::Forbidden { .. } | repo::Error::LoggedOut { .. } => {
                Self::Access(error.into())
            }
            other => Self::Repo(other),
        }
    }
}

/// The value of `Allow` for a route with these methods: `HEAD` comes with `GET`, `OPTIONS` always.
pub(super) fn allow(methods: &[Method]) -> String {
    let mut names = Vec::new();
    for method in methods {
        names.push(method.as_str());
        if method == Method::GET {
            names.push("HEAD");
        }
    }
    names.push("OPTIONS");
    names.join(", ")
}

fn of_access(error: &access::Error) -> StatusCode {
    match error {
        access::Error::Unauthenticated(_)
        | access::Error::WrongLogin(_)
        | access::Error::FingerprintMismatch(_) => StatusCode::UNAUTHORIZED,
        access::Error::Forbidden(_) => StatusCode::FORBIDDEN,
        access::Error::NoSuchProject
        | access::Error::NoSuchToken
        | access::Error::NoSuchSession
        | access::Error::NoSuchAccount { .. } => StatusCode::NOT_FOUND,
        access::Error::Invalid { .. }
        | access::Error::WrongPassword(_)
        | access::Error::LastRoot { .. }
        | access::Error::OwnsProjects { .. } => StatusCode::BAD_REQUEST,
        access::Error::Repo(error) => of_repo(error),
        access::Error::Store(error) => StoreAnswer::to(error).status,
    }
}

fn of_repo(error: &repo::Error) -> StatusCode {
    match error {
        repo::Error::NotFound { .. } => StatusCode::NOT_FOUND,
        repo::Error::Forbidden { .. } => StatusCode::FORBIDDEN,
        repo::Error::LoggedOut { .. } => StatusCode::UNAUTHORIZED,
        repo::Error::Invalid { .. }
        | repo::Error::WouldEmpty { .. }
        | repo::Error::TooManyDeleted { .. }
        | repo::Error::Exists { .. } => StatusCode::BAD_REQUEST,
        repo::Error::Precondition { .. } => StatusCode::PRECONDITION_FAILED,
        repo::Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        repo::Error::Unfinished => StatusCode::SERVICE_UNAVAILABLE,
        repo::Error::Store(error) => StoreAnswer::to(error).status,
    }
}

fn missing(flavor: ApiFlavor, what: Missing) -> &'static str {
    match (flavor, what) {
        (ApiFlavor::Read, Missing::Project) => "404 Project Not Found",
        (ApiFlavor::Read, Missing::Branch) => "404 Branch Not Found",
        (ApiFlavor::Read, Missing::Deleted) => "404 Not Found",
        (ApiFlavor::Read, Missing::Revision | Missing::Snapshot) => "404 Commit Not Found",
        (ApiFlavor::Read, Missing::File) => "404 File Not Found",
        (ApiFlavor::Read, Missing::Folder) => "404 invalid revision or path Not Found",
        (ApiFlavor::Admin, Missing::Project) => "Project not found",
        (ApiFlavor::Admin, Missing::Branch) => "Branch not found",
        (ApiFlavor::Admin, Missing::Deleted) => "Nothing deleted has this id",
        (ApiFlavor::Admin, Missing::Revision) => "Revision not found",
        (ApiFlavor::Admin, Missing::Snapshot) => "Snapshot not found",
        (ApiFlavor::Admin, Missing::File) => "File not found",
        (ApiFlavor::Admin, Missing::Folder) => "Folder not found",
    }
}

#[cfg(test)]
mod tests;
