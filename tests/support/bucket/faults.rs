//! What the server does wrong: to which requests, and how often.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::body::Incoming;
use hyper::{Method, Request};

use super::uploads::param;

/// What the server does wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    Nothing,
    /// It closes connections without an answer.
    Away,
    /// It keeps connections, and gives no answer.
    Hangs,
    /// The same where it is asked for a list of files, alone.
    HangsLists,
    /// It says that it failed.
    Fails,
    /// It asks for patience.
    SlowsDown,
    /// It says that who asks may not.
    Denies,
    /// It says that who asks may not bring anything in.
    DeniesWrites,
    /// It says that who asks may not list what it has.
    DeniesLists,
    /// It says that the keys of who asks have ended.
    EndsKeys,
    /// What stands before it says that there is no such page.
    FindsNoPage,
    /// A byte of what is read is another.
    Flips,
    /// What is read ends too early.
    Cuts,
    /// What is read is not there.
    Loses,
    /// It takes no second part.
    RefusesParts,
    /// It does not list uploads.
    ListsNoUploads,
    /// It takes no upload without a checksum, as one that locks its objects.
    Locks,
    /// Who asks may remove no file, as where one is locked.
    KeepsFiles,
    /// It has no room: it brings nothing in and removes nothing.
    Full,
    /// What may be brought in is used up.
    Quota,
    /// It says that the clock of who asks is wrong.
    Skewed,
    /// It says that it is of another region.
    OtherRegion,
    /// It says that it is elsewhere, and not where.
    Elsewhere,
}

/// What is done wrong, and to whom.
#[derive(Debug, Default)]
pub(super) struct Faults {
    all: Mutex<Vec<Wrong>>,
    /// Requests that ended in a fault.
    done: AtomicU64,
}

/// What is done wrong to requests for names of a prefix.
#[derive(Debug)]
struct Wrong {
    prefix: String,
    fault: Fault,
    /// To so many more that it is meant for.
    left: u64,
    /// To those alone whose names end so.
    name: String,
}

/// A request.
struct Asked<'a>(&'a Request<Incoming>);

impl Faults {
    /// Has the next requests for names of this prefix end so, for ever without a number, and no others in another way.
    pub(super) fn set(&self, prefix: &str, fault: Fault, times: Option<u64>) {
        self.change(Wrong {
            left: times.unwrap_or(u64::MAX),
            ..Wrong::new(prefix, fault)
        });
    }

    /// The same of those alone for a file of this name.
    pub(super) fn set_of(&self, prefix: &str, fault: Fault, file: &Path) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        self.change(Wrong {
            name,
            ..Wrong::new(prefix, fault)
        });
    }

    /// How many requests ended in a fault.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// What is to be done wrong to a request.
    pub(super) fn meant_for(&self, request: &Request<Incoming>) -> Fault {
        let asked = Asked(request);
        let mut all = self.all.lock().unwrap();
        let Some(wrong) = all.iter_mut().find(|wrong| wrong.is_meant_for(&asked)) else {
            return Fault::Nothing;
        };
        wrong.left -= 1;
        self.done.fetch_add(1, Ordering::AcqRel);
        wrong.fault
    }

    fn change(&self, new: Wrong) {
        let mut all = self.all.lock().unwrap();
        all.retain(|wrong| wrong.prefix != new.prefix);
        if new.fault != Fault::Nothing {
            all.push(new);
        }
    }
}

impl Wrong {
    fn new(prefix: &str, fault: Fault) -> Self {
        Self {
            prefix: prefix.to_owned(),
            fault,
            left: u64::MAX,
            name: String::new(),
        }
    }

    fn is_meant_for(&self, asked: &Asked<'_>) -> bool {
        if self.left == 0 {
            return false;
        }
        let is_of_kind = match self.fault {
            // It names them in its body.
            Fault::KeepsFiles => return asked.is_removal(),
            Fault::Full if asked.is_removal() => return true,
            Fault::Flips | Fault::Cuts | Fault::Loses => asked.is_for_blob(),
            Fault::RefusesParts => asked.query().contains("partNumber=2"),
            Fault::Full | Fault::Quota | Fault::DeniesWrites => asked.brings(),
            Fault::Locks => asked.lacks_checksum(),
            Fault::ListsNoUploads => asked.lists("uploads"),
            Fault::HangsLists | Fault::DeniesLists => asked.lists("list-type"),
            _ => !asked.lists("uploads") && !asked.lists("list-type"),
        };
        is_of_kind && asked.prefix() == self.prefix && asked.name().ends_with(&self.name)
    }
}

impl Asked<'_> {
    /// What it asks for; nothing where it asks for a list.
    fn name(&self) -> &str {
        let path = self.0.uri().path();
        path.strip_prefix("/blobs/").unwrap_or_default()
    }

    /// The part of the bucket that it is about.
    fn prefix(&self) -> String {
        let listed = param(self.0.uri(), "prefix");
        let name = listed.unwrap_or_else(|| self.name().to_owned());
        name.split('/').next().unwrap_or_default().to_owned()
    }

    fn query(&self) -> &str {
        self.0.uri().query().unwrap_or_default()
    }

    fn lists(&self, what: &str) -> bool {
        self.0.method() == Method::GET && param(self.0.uri(), what).is_some()
    }

    fn is_for_blob(&self) -> bool {
        let is_file = !self.name().is_empty() && !self.name().ends_with("siteconf-store");
        self.0.method() == Method::GET && is_file
    }

    fn is_removal(&self) -> bool {
        param(self.0.uri(), "delete").is_some()
    }

    fn lacks_checksum(&self) -> bool {
        let is_put = self.0.method() == Method::PUT;
        is_put && !self.0.headers().contains_key("x-amz-checksum-sha256")
    }

    fn brings(&self) -> bool {
        [Method::PUT, Method::POST].contains(self.0.method())
    }
}
