//! What was done to a folder, in its order: which changes, and which syncs.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::call::{Event, is_durable};
use super::trace::{Recorder, Step};
use super::tree::{Change, Content, Node, Tree};

/// A change, from the moment on from which it may reach the disk.
#[derive(Debug)]
pub(super) struct Op {
    /// From when on it was there for every process.
    pub(super) ended: usize,
    pub(super) change: Change,
    /// Another without which it does not reach the disk: what is moved out of a folder has come to the
    /// other one.
    pub(super) after: Option<usize>,
}

/// What happens to the disk.
#[derive(Debug)]
pub(super) enum Moment {
    /// A change, by its number, may reach the disk.
    Began(usize),
    /// What was over before this sync began has reached the disk.
    Synced { node: Node, began: usize },
}

/// All that was done, and all answers.
#[derive(Debug)]
pub(super) struct Journal {
    /// What was on the disk before.
    pub(super) first: Tree,
    pub(super) ops: Vec<Op>,
    /// In the order of their places.
    pub(super) moments: Vec<(usize, Moment)>,
    /// When answers were given.
    given: HashMap<String, usize>,
    /// Places at which one was.
    answered: Vec<usize>,
    /// The place at which something was printed last.
    pub(super) printed: Option<usize>,
    /// Places at which a sync was over.
    synced: Vec<usize>,
    /// Behind the last place.
    pub(super) end: usize,
    /// What every process sees.
    view: Tree,
    /// The first names of all that was made since.
    names: HashMap<Node, PathBuf>,
    /// The last change of a name in a folder, and from when on it may have reached the disk.
    named: HashMap<(Node, OsString), (usize, usize)>,
    /// Where the last write ended that named no place.
    written_to: HashMap<Node, usize>,
}

impl Journal {
    pub(super) fn new(first: Tree) -> Self {
        Self {
            view: first.clone(),
            first,
            ops: Vec::new(),
            moments: Vec::new(),
            given: HashMap::new(),
            answered: Vec::new(),
            printed: None,
            synced: Vec::new(),
            end: 0,
            names: HashMap::new(),
            named: HashMap::new(),
            written_to: HashMap::new(),
        }
    }

    /// Takes in what processes did that have all ended, and holds what comes of it against the folder.
    pub(super) fn take(&mut self, recorder: &mut Recorder, root: &Path) {
        let (steps, end) = recorder.read(root, self.end);
        self.end = end;
        self.note_all(steps, root);
        self.moments.sort_by_key(|(place, _)| *place);
        if let Some(difference) = self.view.difference(root, is_durable) {
            panic!("the model has lost its way: {difference}");
        }
    }

    /// True if an answer was given by then.
    pub(super) fn was_given(&self, id: &str, by: usize) -> bool {
        self.given.get(id).is_some_and(|place| *place <= by)
    }

    /// A place for a power cut: anywhere, where most waits for a sync, or where something was just
    /// acknowledged.
    pub(super) fn place(&self, random: &mut StdRng) -> usize {
        let (places, back) = match random.random_range(0..4) {
            0 => (&[][..], 0),
            1 => (&self.answered[..], 0),
            _ => (&self.synced[..], 1),
        };
        let place = places.choose(random).map(|place| place - back);
        place.unwrap_or_else(|| random.random_range(0..self.end))
    }

    /// The place of an answer.
    pub(super) fn place_of(&self, id: &str) -> usize {
        self.given[id]
    }

    /// Notes calls. They are told in the order in which they were over; of calls that overlap another may have taken
    /// effect before.
    fn note_all(&mut self, steps: Vec<Step>, root: &Path) {
        let mut steps = VecDeque::from(steps);
        while let Some(step) = steps.remove(self.next_of(&steps)) {
            let event = if step.has_returned {
                Some(step.event)
            } else {
                self.done_of(step.event, &steps, root)
            };
            if let Some(event) = event {
                self.note(step.began, step.ended, event);
            }
        }
    }

    /// What a call did that its process did not outlive, as later ones and the folder show.
    fn done_of(&self, event: Event, later: &VecDeque<Step>, root: &Path) -> Option<Event> {
        if !self.is_possible(&event) {
            return None;
        }
        let is_there = |path: &Path| {
            let found = later.iter().find_map(|step| step.event.found(path));
            found.unwrap_or_else(|| fs::symlink_metadata(root.join(path)).is_ok())
        };
        let was_there = |path: &Path| self.view.at(path).is_some();
        let is_done = match &event {
            Event::Write { path, at, bytes } => {
                let found = fs::read(root.join(path)).unwrap_or_default();
                let at = self.place_in(path, *at);
                let found = found.get(at..).unwrap_or_default();
                let same = found
                    .iter()
                    .zip(bytes)
                    .take_while(|(one, other)| one == other);
                let bytes = bytes[..same.count()].to_vec();
                let (path, at) = (path.clone(), Some(at));
                return (!bytes.is_empty()).then_some(Event::Write { path, at, bytes });
            }
            Event::Open { path, creates, .. } => *creates && is_there(path) && !was_there(path),
            Event::Resize { path, length, .. } => {
                fs::metadata(root.join(path)).is_ok_and(|found| found.len() == *length as u64)
            }
            Event::Link { to, .. } => is_there(to) && !was_there(to),
            Event::Rename { from, .. } | Event::Remove(from) => was_there(from) && !is_there(from),
            Event::MakeFolder(path) => is_there(path) && !was_there(path),
            Event::Seek { .. } | Event::Sync(_) | Event::Given(_) | Event::Printed => false,
        };
        is_done.then_some(event)
    }

    /// The first that is possible and began before all in front of it were over; else the front one.
    fn next_of(&self, steps: &VecDeque<Step>) -> usize {
        let mut first_ended = usize::MAX;
        for (at, step) in steps.iter().enumerate() {
            if step.began <= first_ended && self.is_possible(&step.event) {
                return at;
            }
            first_ended = first_ended.min(step.ended);
        }
        0
    }

    /// False for a call that would have failed on what every process sees.
    fn is_possible(&self, event: &Event) -> bool {
        let is_there = |path: &Path| self.view.at(path).is_some();
        let has_folder = |path: &Path| path.parent().is_none_or(is_there);
        match event {
            Event::Open { path, creates, .. } => !creates || is_there(path) || has_folder(path),
            Event::Link { from, to } => is_there(from) && !is_there(to) && has_folder(to),
            Event::MakeFolder(path) => !is_there(path) && has_folder(path),
            Event::Rename { from, to } => is_there(from) && has_folder(to),
            Event::Remove(path)
            | Event::Write { path, .. }
            | Event::Resize { path, .. }
            | Event::Sync(path) => is_there(path),
            Event::Seek { .. } | Event::Given(_) | Event::Printed => true,
        }
    }

    fn place_in(&self, path: &Path, at: Option<usize>) -> usize {
        let node = self.view.at(path);
        let end = node.and_then(|node| self.written_to.get(&node));
        at.unwrap_or_else(|| end.copied().unwrap_or(0))
    }

    fn note(&mut self, began: usize, ended: usize, event: Event) {
        let note = |journal: &mut Self, change| {
            journal.op(began, ended, change, None);
        };
        match event {
            Event::Open {
                path,
                creates,
                truncates,
            } => {
                let Some(file) = self.view.at(&path) else {
                    // Else somebody has found what another process is about to have made: calls are told
                    // when they return. It is opened to be read.
                    if !creates {
                        assert!(!truncates, "{}", path.display());
                        return;
                    }
                    let file = self.add(Content::empty_file(), &path);
                    let made = self.names(&path, Some(file));
                    note(self, made);
                    return;
                };
                // Who opens a file without that seeks before it writes, or names the place.
                if truncates {
                    self.written_to.insert(file, 0);
                    let (length, cuts) = (0, true);
                    note(self, Change::Resize { file, length, cuts });
                }
            }
            Event::Write { path, at, bytes } => {
                let (file, place) = (self.node(&path), self.place_in(&path, at));
                if at.is_none() {
                    self.written_to.insert(file, place + bytes.len());
                }
                let at = place;
                note(self, Change::Write { file, at, bytes });
            }
            Event::Seek { path, to } => {
                if let Some(file) = self.view.at(&path) {
                    self.written_to.insert(file, to);
                }
            }
            Event::Resize { path, length, cuts } => {
                let file = self.node(&path);
                note(self, Change::Resize { file, length, cuts });
            }
            Event::Link { from, to } => {
                let linked = self.names(&to, Some(self.node(&from)));
                note(self, linked);
            }
            Event::Rename { from, to } => self.rename(began, ended, &from, &to),
            Event::Remove(path) => {
                let removed = self.names(&path, None);
                note(self, removed);
            }
            Event::MakeFolder(path) => {
                let folder = self.add(Content::empty_folder(), &path);
                let made = self.names(&path, Some(folder));
                note(self, made);
            }
            Event::Sync(path) => {
                let node = self.node(&path);
                self.moments.push((ended, Moment::Synced { node, began }));
                self.synced.push(ended);
            }
            Event::Given(id) => {
                self.given.entry(id).or_insert(began);
                self.answered.push(began);
            }
            Event::Printed => {
                self.printed = Some(began);
                self.answered.push(began);
            }
        }
    }

    /// Within a folder both names change at once. In two folders the new name may be there before the
    /// old one is gone, and not the other way round.
    fn rename(&mut self, began: usize, ended: usize, from: &Path, to: &Path) {
        let node = self.node(from);
        let (mut came, gone) = (self.names(to, Some(node)), self.names(from, None));
        if came.node() == gone.node() {
            if let (Change::Names { names, .. }, Change::Names { names: gone, .. }) =
                (&mut came, gone)
            {
                names.extend(gone);
            }
            self.op(began, ended, came, None);
        } else {
            let first = self.ops.len();
            let began = self.op(began, ended, came, None);
            self.op(began, ended, gone, Some(first));
        }
    }

    /// Notes a change, and gives from when on it may reach the disk: changes of one name do in the order in which
    /// they took effect, each before the next has returned.
    fn op(&mut self, began: usize, ended: usize, change: Change, after: Option<usize>) -> usize {
        let (number, mut began) = (self.ops.len(), began);
        let keys: Vec<_> = match &change {
            Change::Names { folder, names } => {
                let names = names.iter();
                names.map(|(name, _)| (*folder, name.clone())).collect()
            }
            _ => Vec::new(),
        };
        for key in &keys {
            if let Some((last, since)) = self.named.get(key) {
                began = began.max(*since);
                let last = &mut self.ops[*last];
                last.ended = last.ended.min(ended);
            }
        }
        let named = keys.into_iter().map(|key| (key, (number, began)));
        self.named.extend(named);
        self.view.apply(&change);
        self.moments.push((began, Moment::Began(number)));
        self.ops.push(Op {
            ended,
            change,
            after,
        });
        began
    }

    fn add(&mut self, content: Content, path: &Path) -> Node {
        let node = self.first.add(content.clone());
        assert_eq!(self.view.add(content), node);
        self.names.insert(node, path.to_owned());
        node
    }

    fn node(&self, path: &Path) -> Node {
        let node = self.view.at(path);
        node.unwrap_or_else(|| panic!("{} is not known", path.display()))
    }

    /// The change of one name.
    fn names(&self, path: &Path, node: Option<Node>) -> Change {
        let name = path.file_name().map(OsStr::to_owned);
        Change::Names {
            folder: self.node(path.parent().unwrap_or(Path::new(""))),
            names: vec![(name.unwrap_or_default(), node)],
        }
    }

    /// A change in words.
    pub(super) fn shown(&self, op: usize) -> String {
        let name = |node: &Node| match self.names.get(node) {
            Some(path) => path.display().to_string(),
            None => format!("file {node}"),
        };
        match &self.ops[op].change {
            Change::Write { file, at, bytes } => {
                format!("{} bytes at {at} of {}", bytes.len(), name(file))
            }
            Change::Resize { file, length, .. } => format!("{} has {length} bytes", name(file)),
            Change::Names { folder, names } => {
                let names: Vec<_> = names
                    .iter()
                    .map(|(entry, node)| match node {
                        Some(node) => format!("{} is {}", entry.display(), name(node)),
                        None => format!("{} is gone", entry.display()),
                    })
                    .collect();
                format!("in {}: {}", name(folder), names.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::super::disk::Disk;
    use super::*;

    fn step(began: usize, ended: usize, event: Event) -> Step {
        Step {
            began,
            ended,
            has_returned: true,
            event,
        }
    }

    fn file(path: &Path) -> Event {
        Event::Open {
            path: path.to_owned(),
            creates: true,
            truncates: false,
        }
    }

    /// A folder, a name in it that is `made`, and two calls of that name that overlap, with a sync behind the first
    /// that returns; then all is synced. Gives whether the name is there for every process, and after a power cut.
    fn is_there(made: bool, told: [(usize, usize, Event); 2]) -> [bool; 2] {
        let (folder, other) = (PathBuf::from("folder"), PathBuf::from("other"));
        let mut steps = vec![
            step(0, 0, Event::MakeFolder(folder.clone())),
            step(1, 1, file(&other)),
        ];
        if made {
            steps.push(step(2, 2, file(&folder.join("name"))));
        }
        steps.extend(told.map(|(began, ended, event)| step(began, ended, event)));
        steps.push(step(13, 14, Event::Sync(folder.clone())));
        steps.sort_by_key(|step| step.ended);
        steps.push(step(20, 20, Event::Sync(folder.clone())));
        steps.push(step(21, 21, Event::Sync(PathBuf::new())));
        let mut journal = Journal::new(Tree::new());
        journal.note_all(steps, Path::new(""));
        journal.moments.sort_by_key(|(place, _)| *place);
        let mut disk = Disk::new(&journal);
        disk.run_to(22);
        let left = disk.cut(&mut StdRng::seed_from_u64(1)).tree;
        let name = folder.join("name");
        [journal.view.at(&name).is_some(), left.at(&name).is_some()]
    }

    #[test]
    fn calls_that_overlap_are_taken_in_an_order_in_which_they_are_possible() {
        let link = || Event::Link {
            from: "other".into(),
            to: "folder/name".into(),
        };
        let remove = || Event::Remove("folder/name".into());
        // What is removed was linked before, whichever began first or is told to have returned first.
        assert_eq!(
            is_there(false, [(11, 12, remove()), (10, 15, link())]),
            [false; 2]
        );
        assert_eq!(
            is_there(false, [(10, 12, remove()), (11, 15, link())]),
            [false; 2]
        );
        // What is linked has found the name free.
        assert_eq!(
            is_there(true, [(11, 12, remove()), (10, 15, link())]),
            [true; 2]
        );
        assert_eq!(
            is_there(true, [(10, 12, link()), (11, 15, remove())]),
            [true; 2]
        );
    }

    #[test]
    fn what_a_killed_process_did_is_seen_by_what_others_do_next() {
        let (from, to) = (Path::new("from"), Path::new("to"));
        let has_come = |later: Option<Event>| {
            let mut renamed = step(
                1,
                3,
                Event::Rename {
                    from: from.to_owned(),
                    to: to.to_owned(),
                },
            );
            renamed.has_returned = false;
            let mut steps = vec![step(0, 0, file(from)), renamed];
            steps.extend(later.map(|event| step(4, 5, event)));
            let mut journal = Journal::new(Tree::new());
            journal.note_all(steps, Path::new("nothing is there"));
            [from, to].map(|name| journal.view.at(name).is_some())
        };
        // Of both names the folder has none any more.
        assert_eq!(has_come(None), [false, true]);
        assert_eq!(has_come(Some(Event::Remove(to.to_owned()))), [false; 2]);
        assert_eq!(has_come(Some(Event::Remove(from.to_owned()))), [false; 2]);
        let is_opened = Event::Open {
            path: from.to_owned(),
            creates: false,
            truncates: false,
        };
        assert_eq!(has_come(Some(is_opened)), [true, false]);
    }
}
