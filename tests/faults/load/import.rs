//! Imports beside the service, each one save of some files.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::iter;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use rand::rngs::StdRng;
use rustix::process::{Pid, Signal, kill_process};

use super::{Work, read, text};
use crate::client::Client;
use crate::daemon::{PROJECT, file, siteconf_at};
use crate::told::{State, Told};

const FILES: u64 = 6;

/// What the success of a process stands under among the answers.
pub(crate) fn success_of(process: u32) -> String {
    format!("process {process}")
}

/// A folder that is imported, and where to.
pub(crate) struct Imports {
    folder: tempfile::TempDir,
    /// The flags that name the store.
    store: Vec<OsString>,
    running: Arc<Mutex<Option<u32>>>,
    /// Tracers to run the next ones behind.
    pub(crate) behind: Box<dyn Iterator<Item = Command> + Send + Sync>,
}

/// Ends an import under way.
#[derive(Clone, Debug)]
pub(crate) struct Killer(Arc<Mutex<Option<u32>>>);

impl Killer {
    pub(crate) fn kill(&self) {
        if let Some(id) = *self.0.lock().unwrap() {
            let id = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
            // It was not waited for, so the id is its own.
            let _may_have_ended = kill_process(id, Signal::KILL);
        }
    }
}

impl Imports {
    /// Imports into a store that these flags name.
    pub(crate) fn new(store: Vec<OsString>) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            store,
            running: Arc::default(),
            behind: Box::new(iter::empty()),
        }
    }

    pub(crate) fn killer(&self) -> Killer {
        Killer(Arc::clone(&self.running))
    }

    fn path(number: u64) -> String {
        format!("imported/{number}.xml")
    }
}

impl Work for Imports {
    fn step(
        &mut self,
        _client: &mut Client,
        told: &mut Told,
        random: &mut StdRng,
    ) -> io::Result<()> {
        let (text, mut after) = (text(random), State::new());
        fs::create_dir_all(self.folder.path().join("imported")).unwrap();
        for number in 0..FILES {
            let path = Self::path(number);
            fs::write(self.folder.path().join(&path), &text).unwrap();
            after.insert(path, text.clone());
        }
        let mut import = siteconf_at(&self.store);
        import
            .args(["import", PROJECT, "main"])
            .arg(self.folder.path());
        if let Some(mut tracer) = self.behind.next() {
            tracer.arg(import.get_program()).args(import.get_args());
            import = tracer;
        }
        told.ask(after);
        let mut child = import
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let id = child.id();
        *self.running.lock().unwrap() = Some(id);
        let mut said = String::new();
        let pipe = child.stderr.as_mut().unwrap();
        io::Read::read_to_string(pipe, &mut said).unwrap();
        // Nobody else may have its id before this is empty.
        let mut running = self.running.lock().unwrap();
        let status = child.wait().unwrap();
        *running = None;
        drop(running);
        if status.success() {
            told.answered(&success_of(id));
        } else if status.code().is_some() {
            let fails = ["has stopped writing", "may have been made"];
            told.refused(0, fails.iter().any(|words| said.contains(words)));
        }
        assert!(!said.contains("panic"), "{said}");
        Ok(())
    }

    fn found(&self, client: &mut Client) -> State {
        let paths = (0..FILES).map(Self::path);
        paths
            .filter_map(|path| Some((path.clone(), read(client, &file(&path))?)))
            .collect()
    }

    fn saves_to_main(&self) -> bool {
        true
    }
}
