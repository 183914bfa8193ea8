//! One pull: from the question for the head to the folder that holds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::http::StatusCode;

use super::fault::{Fault, Pulled};
use super::local::adopt;
use super::local::folder::Folder;
use super::local::lay::{self, Laying};
use super::local::own::{self, Own};
use super::local::state::{Brought, Change, Due, Mark, Source, State};
use super::plan::{Found, Plan};
use super::remote::address::Targets;
use super::remote::client::{Client, RequestOptions};
use super::remote::fetch::{Fetch, git_id};
use super::remote::head::{self, TaggedHead};
use super::remote::tree::Tree;
use crate::cli::output::{visible, visible_path};
use crate::cli::running::stop::Stop;

/// How often a pull begins again because the branch, or the folder, changed while it was read.
const ATTEMPTS: u32 = 5;

/// How to pull.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Removes nothing.
    pub(super) keeps: bool,
    /// Reads every file.
    pub(super) verifies: bool,
    /// Remembers what a command is to be told.
    pub(super) notes_changes: bool,
    pub(super) bytes_max: u64,
    pub(super) parallel: u16,
}

/// What came of a pull.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// The folder held the branch already.
    Unchanged,
    /// It does now.
    Switched(Switched),
}

/// What a pull did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Switched {
    pub(super) added: u64,
    pub(super) changed: u64,
    pub(super) removed: u64,
    /// Files that somebody else had changed, and that are as in the branch again; it may have changed them, too.
    pub(super) mended: Vec<String>,
    /// What was not laid out: links and submodules.
    pub(super) left_out: Vec<String>,
    /// Bytes that came.
    pub(super) bytes: u64,
    /// True if the branch digest of what is on the disk is the head's.
    pub(super) is_proven: bool,
}

/// A folder and the branch that it is kept equal to.
pub(super) struct Pull {
    pub(super) client: Client,
    pub(super) targets: Targets,
    pub(super) source: Source,
    pub(super) folder: Folder,
    pub(super) manner: Manner,
    pub(super) stop: Stop,
    /// What is known of the folder.
    pub(super) state: Option<State>,
    /// The last head that the disk had no room for.
    pub(super) no_room: Option<NoRoom>,
}

/// A head that the disk had no room for: it is not fetched again in vain.
pub(super) struct NoRoom {
    tagged: TaggedHead,
    /// As many bytes of room are needed at least.
    needed: u64,
    what: String,
}

impl Pull {
    /// Asks for the branch's head; with `wait` the server may hold its answer back so long, until it is
    /// another than the folder's.
    pub(super) fn head(&self, wait: Option<Duration>) -> Pulled<TaggedHead> {
        self.client.renew();
        let known = self.state_of_source().and_then(|state| state.etag.clone());
        let known = known.filter(|_| wait.is_some());
        match self.ask(known.as_deref(), wait)? {
            Some(tagged) => Ok(tagged),
            None => self.known_head(),
        }
    }

    /// Makes the folder hold this head, or one that came after it.
    pub(super) fn follow(
        &mut self,
        mut tagged: TaggedHead,
        mut step: impl FnMut(usize, usize),
    ) -> Pulled<Done> {
        let known = self.no_room.take().filter(|known| known.tagged == tagged);
        if let Some(known) = known
            && self.folder.room()? < known.needed
        {
            let (what, needed) = (known.what.clone(), Some(known.needed));
            self.no_room = Some(known);
            return Err(Fault::Full { what, needed });
        }
        let mut verifies = self.manner.verifies;
        for _ in 1..ATTEMPTS {
            match self.bring(&tagged, verifies, &mut step) {
                Err(Fault::Moved(_)) => {
                    verifies = true;
                    if let Some(newer) = self.ask(None, None)? {
                        tagged = newer;
                    }
                }
                Err(Fault::Full { .. }) if self.makes_room() => {}
                done => return self.ended(tagged, done),
            }
        }
        let last = self.bring(&tagged, verifies, &mut step);
        self.ended(tagged, last)
    }

    /// Removes the state before, which is worth less than the next one; false if it gives no room.
    fn makes_room(&self) -> bool {
        self.folder.end_switch().is_ok() && self.folder.drop_old().unwrap_or(false)
    }

    /// What a pull came to; one that failed gives its room back.
    fn ended(&mut self, tagged: TaggedHead, done: Pulled<Done>) -> Pulled<Done> {
        let done = done.map_err(|fault| match fault {
            Fault::Moved(what) => Fault::passing(what),
            other => other,
        });
        if done.is_err() {
            // What cannot be removed now is removed by the next pull.
            let _ended = self.folder.end_switch();
        }
        // What was fetched stays for the next time, but where it would keep the disk full.
        if let Err(Fault::Full { what, needed }) = &done {
            let _dropped = self.folder.drop_fetched();
            self.no_room = needed.map(|needed| NoRoom {
                tagged,
                needed,
                what: what.clone(),
            });
        }
        done
    }

    fn ask(&self, known: Option<&str>, wait: Option<Duration>) -> Pulled<Option<TaggedHead>> {
        head::ask(&self.client, &self.targets, known, wait).map_err(|fault| match fault {
            Fault::Moved(what) => Fault::lasting(format!(
                "{what}. Is there a project \"{}\" with a branch \"{}\"?",
                visible(&self.source.repo_id),
                visible(&self.source.branch)
            )),
            other => other,
        })
    }

    /// What is known of the folder, if it comes from where it is to come from now.
    fn state_of_source(&self) -> Option<&State> {
        let state = self.state.as_ref();
        state.filter(|state| state.source == self.source)
    }

    fn known_head(&self) -> Pulled<TaggedHead> {
        let state = self.state_of_source();
        let known = state.map(|state| TaggedHead {
            head: state.head.clone(),
            etag: state.etag.clone(),
        });
        known.ok_or_else(|| {
            Fault::passing("the server answers 304 to a question for the first time")
        })
    }

    /// Makes the folder hold a head.
    fn bring(
        &mut self,
        tagged: &TaggedHead,
        verifies: bool,
        step: &mut impl FnMut(usize, usize),
    ) -> Pulled<Done> {
        if self.holds(tagged, verifies)? {
            // One that was killed after the step may have left it.
            self.folder.drop_fetched()?;
            return Ok(Done::Unchanged);
        }
        let revision = tagged.head.revision(&self.source.branch).to_owned();
        let tree = Tree::ask(&self.client, &self.targets, &revision)?;
        let (_, adopted) = self.survey(&tree)?;
        let plan = Plan::new(
            &tree.files,
            self.brought(),
            &adopted,
            self.manner.keeps,
            |path, known| self.look(path, known, verifies),
        );
        if let Some(path) = plan.in_the_way(&tree.files) {
            return Err(Fault::lasting(format!(
                "\"{}\" is gone from the branch and stays, as --keep wants it, where the branch has \
                 something else now: move it elsewhere",
                visible(path)
            )));
        }
        if let Some(next) = self.renamed(tagged, &plan, &adopted) {
            self.folder.note(&next)?;
            self.state = Some(next);
            return Ok(Done::Unchanged);
        }
        if self.state.is_none() {
            self.folder.check_exchange()?;
        }
        let bytes = self.fetch(&revision, &tree, &plan, step)?;
        let mut next = self.lay_out(tagged, &tree, &plan, &adopted, verifies)?;
        self.stop.go_on()?;
        self.folder.switch(&mut next)?;
        // From here on the folder holds it, whatever fails.
        self.state = Some(next);
        self.folder.switched()?;
        // It is a store of what was fetched for this state.
        self.folder.drop_fetched()?;
        let is_proven = self.state.as_ref().is_some_and(|state| state.is_proven);
        Ok(Done::Switched(Switched {
            added: plan.count(Change::Added),
            changed: plan.count(Change::Changed),
            removed: plan.count(Change::Removed),
            mended: plan.mended.into_iter().collect(),
            left_out: tree.left_out.into_iter().collect(),
            bytes,
            is_proven,
        }))
    }

    /// What is known of the files in the folder.
    fn brought(&self) -> &BTreeMap<String, Brought> {
        static NOTHING: BTreeMap<String, Brought> = BTreeMap::new();
        self.state.as_ref().map_or(&NOTHING, |state| &state.files)
    }

    /// What was not brought, and which of it is as this tree has it.
    fn survey(&self, tree: &Tree) -> Pulled<(Own, BTreeSet<String>)> {
        let known = self.brought().keys().map(PathBuf::from).collect();
        adopt::survey(self.folder.path(), &known, &tree.files)
    }

    /// The state of the folder under this head, if it holds the same files already: under another commit, as at
    /// GitLab, or under another tag. Where the commit is the digest of the files, they are held against a new one.
    fn renamed(
        &self,
        tagged: &TaggedHead,
        plan: &Plan,
        adopted: &BTreeSet<String>,
    ) -> Option<State> {
        let state = self.state_of_source()?;
        let may_differ = state.is_proven && state.head != tagged.head;
        let is_same = plan.is_done(&state.files) && adopted.is_empty() && !may_differ;
        is_same.then(|| State {
            head: tagged.head.clone(),
            etag: tagged.etag.clone(),
            ..state.clone()
        })
    }

    /// Lays the next state out beside the folder, whole and proven.
    fn lay_out(
        &self,
        tagged: &TaggedHead,
        tree: &Tree,
        plan: &Plan,
        adopted: &BTreeSet<String>,
        verifies: bool,
    ) -> Pulled<State> {
        let place = self.folder.begin_next()?;
        let laying = Laying {
            dir: self.folder.path(),
            next: &place,
            fetched: &self.folder.fetched(),
            plan,
            brought: self.brought(),
            bytes_max: self.manner.bytes_max,
            stop: &self.stop,
        };
        let mut files = laying.lay(&tree.files)?;
        let is_proven = self.prove(tagged, tree, &place, verifies || plan.carried.is_empty())?;
        // Much may have been made since it was looked for.
        let (mut own, adopted_now) = self.survey(tree)?;
        if adopted_now != *adopted {
            return Err(Fault::Moved(format!(
                "{} is changed by somebody else while the next state is laid out",
                visible_path(self.folder.path())
            )));
        }
        files.extend(laying.lay_gone(&mut own)?);
        own.files.extend(plan.left.iter().map(PathBuf::from));
        own.carry(self.folder.path(), &place)?;
        own::give_modes(self.folder.path(), &place)?;
        let (source, head) = (self.source.clone(), tagged.head.clone());
        Ok(State {
            is_proven,
            files,
            carried: own.escaped(),
            due: self.due(plan),
            ..State::new(source, head, tagged.etag.clone())
        })
    }

    /// True if the folder holds this head, as far as that can be told without a request.
    fn holds(&self, tagged: &TaggedHead, verifies: bool) -> Pulled<bool> {
        let Some(state) = self.state_of_source() else {
            return Ok(false);
        };
        // The tag tells of modes, too, of which the head is no digest.
        if state.head != tagged.head || state.etag != tagged.etag {
            return Ok(false);
        }
        for (path, brought) in &state.files {
            self.stop.go_on()?;
            let stays = brought.is_gone && self.manner.keeps;
            if !stays && (brought.is_gone || self.look(path, brought, verifies) != Found::AsBrought)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How a file that was brought lies in the folder: by size and time, or by its bytes.
    fn look(&self, path: &str, brought: &Brought, verifies: bool) -> Found {
        let looked = || -> io::Result<bool> {
            let found = fs::symlink_metadata(self.folder.path().join(path))?;
            let is_executable = found.permissions().mode() & 0o100 != 0;
            let is_same = found.is_file()
                && Mark::of(&found) == brought.mark
                && is_executable == brought.is_executable;
            if !is_same || !verifies {
                return Ok(is_same);
            }
            let file = own::open_file(self.folder.path(), Path::new(path))?;
            Ok(git_id(file)? == brought.id)
        };
        match looked() {
            Ok(true) => Found::AsBrought,
            Err(error) if is_absent(&error) => Found::Absent,
            _ => Found::Otherwise,
        }
    }

    fn fetch(
        &self,
        revision: &str,
        tree: &Tree,
        plan: &Plan,
        step: &mut impl FnMut(usize, usize),
    ) -> Pulled<u64> {
        self.folder.check_movable()?;
        let wanted = plan.fetched.iter();
        let wanted: BTreeMap<_, _> = wanted
            .map(|path| (tree.files[path].id, path.as_str()))
            .collect();
        let total = wanted.len();
        let fetch = Fetch {
            client: &self.client,
            targets: &self.targets,
            revision,
            folder: self.folder.fetched(),
            wanted,
            room: self.folder.room()?,
            bytes_max: self.manner.bytes_max,
            parallel: self.manner.parallel,
        };
        fetch.run(|count| step(count, total))
    }

    /// Holds the digest of what lies on the disk against the head. False for a server whose commits are
    /// no digests.
    fn prove(
        &self,
        tagged: &TaggedHead,
        tree: &Tree,
        place: &Path,
        is_final: bool,
    ) -> Pulled<bool> {
        let digest = lay::digest(place, self.manner.bytes_max, &self.stop)?;
        if tagged.head.is_of(digest.as_str()) {
            return Ok(true);
        }
        if tagged.head.id.is_none() {
            // Read by the name of the branch, which may have moved.
            match self.ask(None, None)? {
                Some(now) if now.head == tagged.head => {}
                _ => return Err(Fault::Moved("the branch moves while it is read".to_owned())),
            }
        }
        let was_proven = self
            .state
            .as_ref()
            .is_some_and(|state| state.is_proven && state.source.root == self.source.root);
        if tree.left_out.is_empty() && (was_proven || self.is_siteconf()?) {
            let what = format!(
                "the files that came are not the branch: their digest begins with {}, its head is {}; the \
                 folder stays as it is",
                &digest.as_str()[..40],
                tagged.head.id.as_deref().unwrap_or(&tagged.head.short_id)
            );
            return Err(if is_final {
                Fault::Lasting(what)
            } else {
                // A file here may have changed and look as before.
                Fault::Moved(what)
            });
        }
        Ok(false)
    }

    /// True for a server whose commit ids are branch digests: it has a health check, which GitLab's API
    /// has not.
    fn is_siteconf(&self) -> Pulled<bool> {
        match self.client.get("/health", RequestOptions::default()) {
            Ok(response) => Ok(response.status() == StatusCode::OK),
            Err(Fault::Moved(_) | Fault::Denied(_) | Fault::Lasting(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// What the command is to be told: what it was not told yet, and what changes now.
    fn due(&self, plan: &Plan) -> Option<Due> {
        let before = self.state.as_ref().and_then(|state| state.due.clone());
        if before.is_none() && !self.manner.notes_changes {
            return None;
        }
        let mut due = before.unwrap_or_default();
        let mended = plan
            .mended
            .iter()
            .map(|path| (path.clone(), Change::Changed));
        due.changes.extend(mended);
        // Of a file that somebody and the branch changed, what became of it in the branch.
        due.changes.extend(plan.changes.clone());
        Some(due)
    }
}

/// True if there is nothing under a name, or a file where it wants a folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
