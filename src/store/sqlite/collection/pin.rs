//! Pins: files in `incoming/`, locked while they are held, that keep what was put since.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::state::State;
use crate::store::sqlite::data_folder::{Folder, create_locked};
use crate::store::{Pin, Result, StoreError};

/// How the names of pins begin.
const PREFIX: &str = "pin-";
/// Longest text of a pin, in bytes.
const TEXT_BYTES_MAX: u64 = 64;
/// How long a pin may be held without saying since when.
const UNTOLD_MAX: Duration = Duration::from_secs(5);

/// A pin that is held. The file says which collections had begun and which rows there were.
#[derive(Debug)]
pub(in crate::store::sqlite) struct FilePin {
    path: PathBuf,
    /// Open, it holds the lock.
    file: File,
}

impl Pin for FilePin {}

impl FilePin {
    /// Takes a pin. `state` reads the state of collections; it is called when the pin can be seen, so
    /// that a collection which does not see it had begun by then.
    pub(in crate::store::sqlite) fn take(
        folder: &Folder,
        state: impl FnOnce() -> Result<State>,
    ) -> Result<Self> {
        let io = |e| StoreError::io("beginning an import", e);
        let (path, file) = create_locked(&folder.incoming(), PREFIX).map_err(io)?;
        let mut pin = Self { path, file };
        let State { epoch, last, .. } = state()?;
        let text = format!("{epoch} {last}\n");
        pin.file.write_all(text.as_bytes()).map_err(io)?;
        Ok(pin)
    }
}

impl Drop for FilePin {
    fn drop(&mut self) {
        // One that cannot be removed is no longer locked, and does not count.
        let _removed = fs::remove_file(&self.path);
    }
}

/// What the pins keep: touches of this epoch and later, and rows beyond this one. Without pins, nothing.
pub(super) fn kept(folder: &Folder) -> Result<Option<(i64, i64)>> {
    let began = Instant::now();
    loop {
        let pins = held(folder).map_err(|e| StoreError::io("looking for imports", e))?;
        if let Some(pins) = pins.into_iter().collect::<Option<Vec<_>>>() {
            let older = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.min(b.1));
            return Ok(pins.into_iter().reduce(older));
        }
        if began.elapsed() > UNTOLD_MAX {
            return Err(StoreError::Busy);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The pins that are held, `None` for one that does not say yet since when.
fn held(folder: &Folder) -> io::Result<Vec<Option<(i64, i64)>>> {
    let mut held = Vec::new();
    let entries = match fs::read_dir(folder.incoming()) {
        // A copy may have lost it.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(held),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let file = match File::open(entry.path()) {
            // It was given up meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        if file.try_lock().is_ok() {
            continue;
        }
        let mut text = String::new();
        (&file).take(TEXT_BYTES_MAX).read_to_string(&mut text)?;
        held.push(parse(&text));
    }
    Ok(held)
}

fn parse(text: &str) -> Option<(i64, i64)> {
    let (epoch, last) = text.strip_suffix('\n')?.split_once(' ')?;
    Some((epoch.parse().ok()?, last.parse().ok()?))
}
