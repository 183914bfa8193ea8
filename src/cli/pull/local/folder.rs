//! A folder that is replaced in one step, and the folder beside it in which the next state is made ready.
//!
//! The next state is laid out whole in `.NAME.siteconf-pull/next`, made durable, and exchanged with the
//! folder by one renameat2(2): every path in the folder leads to the old state before, to the new one
//! after. The old one stays as `old` until the next exchange, for those who hold it open, or until its
//! room is wanted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with, statvfs, syncfs};

use super::apart::require_apart;
use super::exchange;
use super::own;
use super::place;
use super::remove::{remove_file, remove_tree};
use super::rescue::{self, Rescue};
use super::side::{is_held, lock, make_private};
use super::state::{Brought, Mark, State, durably, sync_folder};
use crate::base::secret::random_hex;
use crate::cli::output::visible_path;
use crate::cli::pull::fault::{Fault, Pulled};
use crate::cli::pull::remote::fetch::git_id;
use crate::cli::running::stop::Stop;
use crate::cli::{Error, Result};

/// What is known of the folder, in the one beside it.
const STATE: &str = "state.json";
/// Which part of the disk stays free for others.
const SPARE_PART: u64 = 20;
/// Most bytes that stay free for others.
const SPARE_BYTES_MAX: u64 = 256 << 20;

/// The folder, and the one beside it.
#[derive(Debug)]
pub(in crate::cli::pull) struct Folder {
    dir: PathBuf,
    side: PathBuf,
    /// The path that was given, if it goes over a link.
    given: Option<PathBuf>,
    /// Where in the folder who pulls stood at the start, if there.
    stood: Option<PathBuf>,
    /// What is to be told of files that were put aside, and of the folder where it was replaced.
    notes: RefCell<Vec<String>>,
    /// The id that was made, or found.
    instance: RefCell<Option<String>>,
    /// Held for as long as this is: one pull at a time.
    lock: File,
}

impl Folder {
    /// Finds the folder, which may be absent, and takes it for this pull alone.
    ///
    /// # Errors
    /// [`Error::Usage`] for what can be no such folder, [`Error::Failed`] where another pull has it.
    pub(in crate::cli::pull) fn open(dir: &Path) -> Result<Self> {
        let named = dir;
        let dir = place::found(named)?;
        if let Some(now) = place::replaced(&dir) {
            return Err(Error::Usage(format!(
                "{} is a state of {1} from before; name that, or enter it again: cd {1}",
                visible_path(&dir),
                visible_path(&now)
            )));
        }
        let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
            return Err(Error::Usage(
                "the root of a file system cannot be replaced: name a folder in it".to_owned(),
            ));
        };
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev());
        if let (Ok(of_dir), Ok(of_parent)) = (device(&dir), device(parent))
            && of_dir != of_parent
        {
            return Err(exchange::mounted(&dir));
        }
        let mut side_name = std::ffi::OsString::from(".");
        side_name.push(name);
        side_name.push(place::SIDE);
        let side = parent.join(side_name);
        require_apart(&dir, side.join(STATE).exists())?;
        make_private(&side)?;
        let lock = lock(&dir, &side)?;
        Ok(Self {
            given: place::given(named, &dir),
            stood: place::stands_in(&dir),
            dir,
            side,
            notes: RefCell::default(),
            instance: RefCell::default(),
            lock,
        })
    }

    /// The folder itself, without links.
    pub(in crate::cli::pull) fn path(&self) -> &Path {
        &self.dir
    }

    /// Refuses to go on where the path that was given leads to another folder by now.
    pub(in crate::cli::pull) fn require_place(&self) -> Pulled<()> {
        match &self.given {
            Some(given) if place::leads_elsewhere(given, &self.dir) => {
                Err(Fault::lasting(format!(
                    "{} leads elsewhere now; start the pull again",
                    visible_path(given)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Where who pulls would stand, had they not stood in the folder, whose state before they stand in after a
    /// change: at the same place in the present one, or in the folder itself. `None` for who stood elsewhere.
    pub(in crate::cli::pull) fn standing(&self) -> Option<PathBuf> {
        let stood = self.stood.as_ref()?;
        let places = [self.dir.join(stood), self.dir.clone()];
        places.into_iter().find(|place| place.is_dir())
    }

    /// Where the next state is laid out.
    pub(in crate::cli::pull) fn next(&self) -> PathBuf {
        self.side.join("next")
    }

    /// Where files lie that have come for it.
    pub(in crate::cli::pull) fn fetched(&self) -> PathBuf {
        self.side.join("fetched")
    }

    /// Bytes for which there is room: what is free on the disk for those who may not use its reserve, without
    /// what stays free for others.
    pub(in crate::cli::pull) fn room(&self) -> Pulled<u64> {
        let found = statvfs(&self.side).map_err(io::Error::from);
        let found = found.map_err(Fault::of_file("looking at", &self.side))?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        let (all, free) = (bytes(found.f_blocks), bytes(found.f_bavail));
        // Where little is free, half of it is for what is small.
        let spare = (all / SPARE_PART).min(SPARE_BYTES_MAX).min(free / 2);
        Ok(free - spare)
    }

    /// Where the changed files are named for a command.
    pub(in crate::cli::pull) fn changes(&self) -> PathBuf {
        self.side.join("changes")
    }

    /// The state before, as long as somebody may hold it open.
    fn old(&self) -> PathBuf {
        self.side.join("old")
    }

    /// The same while it is removed.
    fn gone(&self) -> PathBuf {
        self.side.join("gone")
    }

    /// Where files lie that nobody may remove, and that have no place in the folder.
    fn kept(&self) -> PathBuf {
        self.side.join("kept")
    }

    /// What is to be told since the last time, in words.
    pub(in crate::cli::pull) fn notes(&self) -> Vec<String> {
        self.notes.take()
    }

    fn state(&self) -> PathBuf {
        self.side.join(STATE)
    }

    fn next_state(&self) -> PathBuf {
        self.side.join("next.json")
    }

    fn old_state(&self) -> PathBuf {
        self.side.join("old.json")
    }

    /// The id by which a token knows this client: made once.
    pub(in crate::cli::pull) fn instance(&self) -> Pulled<String> {
        let path = self.side.join("instance");
        let id = match fs::read_to_string(&path) {
            Ok(id) if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => id,
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Fault::of_file("reading", &path)(error));
            }
            _ => {
                let id = random_hex();
                durably(&path, |out| out.write_all(id.as_bytes()))?;
                id
            }
        };
        *self.instance.borrow_mut() = Some(id.clone());
        Ok(id)
    }

    /// Makes the folder beside the folder again where somebody removed it, with what is known. True if it had
    /// to be made; another pull may have had the folder meanwhile.
    pub(in crate::cli::pull) fn make_again(&mut self, state: Option<&State>) -> Pulled<bool> {
        if is_held(&self.lock, &self.side) {
            return Ok(false);
        }
        let failed = |error: Error| Fault::lasting(error.to_string());
        make_private(&self.side).map_err(failed)?;
        let lock = lock(&self.dir, &self.side).map_err(failed)?;
        if let Some(id) = &*self.instance.borrow() {
            durably(&self.side.join("instance"), |out| {
                out.write_all(id.as_bytes())
            })?;
        }
        let is_known =
            fs::exists(self.state()).map_err(Fault::of_file("looking at", &self.side))?;
        if let Some(state) = state
            && !is_known
        {
            self.note(state)?;
        }
        // What failed before is done the next time.
        self.lock = lock;
        Ok(true)
    }

    /// Ends what a killed pull left, and tells what the folder holds; `None` for one that no pull filled.
    pub(in crate::cli::pull) fn recover(&self, stop: &Stop) -> Pulled<Option<State>> {
        self.end_switch()?;
        let (state, inode) = (State::read(&self.state())?, self.inode()?);
        if let Some(state) = &state
            && inode != Some(state.inode)
        {
            // While it is known which files lay in both.
            self.drop_old()?;
        }
        if let (Some(state), Some(inode)) = (state, inode) {
            // Numbers of inodes may change with a mount; the files themselves then tell.
            if state.inode == inode || self.holds(&state) {
                return Ok(Some(state));
            }
            let state = self.known_again(state, inode, stop)?;
            if !state.files.is_empty() {
                self.note(&state)?;
                return Ok(Some(state));
            }
        }
        // It tells nothing of what lies in the folder now.
        remove_file(&self.state())?;
        Ok(None)
    }

    /// What is known of a folder that another one took the place of, as one from a backup: files with the
    /// bytes that were brought are those that were brought.
    fn known_again(&self, state: State, inode: u64, stop: &Stop) -> Pulled<State> {
        let mut known = State {
            inode,
            files: BTreeMap::new(),
            carried: BTreeMap::new(),
            ..state
        };
        let before = state.files.len();
        for (path, brought) in state.files {
            stop.go_on()?;
            let found = own::open_file(&self.dir, Path::new(&path)).and_then(|file| {
                let mark = Mark::of(&file.metadata()?);
                Ok((git_id(file)? == brought.id).then_some(mark))
            });
            if let Ok(Some(mark)) = found {
                known.files.insert(path, Brought { mark, ..brought });
            }
        }
        if known.files.len() < before {
            // It is not the whole of a branch.
            known.source.branch.clear();
        }
        Ok(known)
    }

    /// Ends what an exchange, or the way to one, left half. What is removed then is no folder in use: after
    /// an exchange the old one is under the name of the next.
    pub(in crate::cli::pull) fn end_switch(&self) -> Pulled<()> {
        let inode = self.inode()?;
        let next = State::read(&self.next_state())?;
        if let Some(next) = next {
            if inode == Some(next.inode) {
                // The exchange had happened.
                self.settle()?;
            } else {
                remove_file(&self.next_state())?;
            }
        }
        self.discard(&self.next())?;
        self.discard(&self.gone())
    }

    /// Removes a folder beside the folder. One that cannot be removed, as where somebody protects a folder
    /// in it, is put aside and told: else it would be in the way of each later state.
    fn discard(&self, path: &Path) -> Pulled<()> {
        let Err(fault) = remove_tree(path) else {
            return Ok(());
        };
        let Ok(place) = self.put_aside(path) else {
            return Err(fault);
        };
        self.notes.borrow_mut().push(format!(
            "a former state of {} cannot be removed, and lies in {}: {fault}",
            visible_path(&self.dir),
            visible_path(&place)
        ));
        Ok(())
    }

    /// Moves a folder that lies beside the folder to where nothing is removed, and gives that place.
    fn put_aside(&self, path: &Path) -> io::Result<PathBuf> {
        let side = File::open(&self.side)?;
        rescue::put_aside(&side, path.file_name().unwrap_or_default(), &self.kept())
    }

    fn holds(&self, state: &State) -> bool {
        !state.files.is_empty()
            && state.files.iter().all(|(path, brought)| {
                fs::symlink_metadata(self.dir.join(path))
                    .is_ok_and(|found| Mark::of(&found) == brought.mark)
            })
    }

    /// The folder's inode; `None` where it is absent.
    fn inode(&self) -> Pulled<Option<u64>> {
        match fs::symlink_metadata(&self.dir) {
            Ok(found) if found.is_dir() => Ok(Some(found.ino())),
            Ok(_) => Err(Fault::lasting(format!(
                "{} is no folder any more",
                visible_path(&self.dir)
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::of_file("looking at", &self.dir)(error)),
        }
    }

    /// Looks, before anything is fetched, whether the file system can exchange two folders.
    pub(in crate::cli::pull) fn check_exchange(&self) -> Pulled<()> {
        exchange::check(&self.dir, &self.side)
    }

    /// Looks, before anything is fetched, whether the folder can be moved at all.
    pub(in crate::cli::pull) fn check_movable(&self) -> Pulled<()> {
        exchange::check_movable(&self.dir, &self.side)
    }

    /// Begins the next state: an empty folder with the mode and owner of the present one.
    pub(in crate::cli::pull) fn begin_next(&self) -> Pulled<PathBuf> {
        self.end_switch()?;
        let next = self.next();
        own::make_like(&self.dir, &next)?;
        Ok(next)
    }

    /// Removes what was fetched.
    pub(in crate::cli::pull) fn drop_fetched(&self) -> Pulled<()> {
        remove_tree(&self.fetched())
    }

    /// Makes the next state durable, and puts it in the place of the present one. [`Self::switched`] does
    /// the rest.
    pub(in crate::cli::pull) fn switch(&self, state: &mut State) -> Pulled<()> {
        let next = self.next();
        let found = fs::metadata(&next).map_err(Fault::of_file("looking at", &next))?;
        (state.inode, state.old_inode) = (found.ino(), self.inode()?);
        // All of it at once: a sync for each of ten thousand files would take a minute.
        File::open(&next)
            .and_then(|folder| Ok(syncfs(&folder)?))
            .map_err(Fault::of_file("syncing", &next))?;
        self.drop_old()?;
        state.write(&self.next_state())?;
        let switched = match self.inode()? {
            Some(_) => {
                let notes = self.notes_of_exchange(&next);
                let exchanged = exchange::replace(&self.dir, &next);
                if exchanged.is_ok() {
                    self.notes.borrow_mut().extend(notes);
                }
                exchanged
            }
            None => renameat_with(CWD, &next, CWD, &self.dir, RenameFlags::NOREPLACE),
        };
        switched.map_err(|errno| exchange::fault(&self.dir, errno))
    }

    /// What is to be told once the next state has taken the folder's place.
    fn notes_of_exchange(&self, next: &Path) -> Vec<String> {
        let shown = visible_path(&self.dir);
        let stands = place::stands_in(&self.dir)
            .map(|_| format!("the current folder is the state before; enter it again: cd {shown}"));
        let lost = own::lost(&self.dir, next).map(|lost| {
            format!(
                "{shown} has lost its {lost}, which who pulls may not give: give it back (chown), and pull as its \
                 owner, who is in its group, or as root"
            )
        });
        stands.into_iter().chain(lost).collect()
    }

    /// Makes an exchange durable.
    pub(in crate::cli::pull) fn switched(&self) -> Pulled<()> {
        let synced = || -> io::Result<()> {
            sync_folder(self.dir.parent().unwrap_or(Path::new("/")))?;
            sync_folder(&self.side)
        };
        synced().map_err(Fault::of_file("syncing", &self.side))?;
        self.settle()?;
        // Somebody may have made a file in the old folder meanwhile. What fails here is done before that
        // folder is removed.
        let _later = self.rescue();
        Ok(())
    }

    /// Writes what is known of the folder where its files stay as they are.
    pub(in crate::cli::pull) fn note(&self, state: &State) -> Pulled<()> {
        state.write(&self.state())
    }

    /// Gives everything its lasting name after an exchange; repeated after a kill, it does the rest.
    fn settle(&self) -> Pulled<()> {
        let next = self.next();
        let settled = || -> io::Result<()> {
            if fs::exists(&next)? {
                if fs::exists(self.state())? {
                    fs::rename(self.state(), self.old_state())?;
                }
                fs::rename(&next, self.old())?;
            }
            fs::rename(self.next_state(), self.state())?;
            sync_folder(&self.side)
        };
        settled().map_err(Fault::of_file("settling", &self.side))
    }

    /// Removes the state before the present one; false if there is none.
    pub(in crate::cli::pull) fn drop_old(&self) -> Pulled<bool> {
        let (old, gone) = (self.old(), self.gone());
        if let Err(fault) = self.rescue() {
            // It may hold what is nowhere else.
            let place = self.put_aside(&old);
            let place = place.map_err(Fault::of_file("keeping", &old))?;
            self.notes.borrow_mut().push(format!(
                "the state before the last change of {} may hold files that are nowhere else, and lies in \
                 {}: {fault}",
                visible_path(&self.dir),
                visible_path(&place)
            ));
        }
        // Whoever finds it under its name finds it whole.
        self.discard(&gone)?;
        let was_there = match fs::rename(&old, &gone) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            // One that came with a container's image is removed where it lies, or not at all.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                self.discard(&old)?;
                true
            }
            moved => moved
                .map(|()| true)
                .map_err(Fault::of_file("removing", &old))?,
        };
        self.discard(&gone)?;
        remove_file(&self.old_state())?;
        Ok(was_there)
    }

    /// Moves into the folder what was made in the old one and is in neither state.
    fn rescue(&self) -> Pulled<()> {
        let rescue = Rescue {
            old: &self.old(),
            dir: &self.dir,
            kept: &self.kept(),
        };
        let (state, before) = (State::read(&self.state())?, State::read(&self.old_state())?);
        rescue.run(state, before, self.inode()?, &mut self.notes.borrow_mut())
    }
}
