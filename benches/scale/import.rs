//! An import beside the daemon, as a process.

use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{Daemon, PROJECT, peak_mib, siteconf};

/// How often the memory of a process is looked at that will be gone when it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// An import that ended.
pub(crate) struct Imported {
    pub(crate) took: Duration,
    pub(crate) memory_mib: f64,
}

/// Imports a folder into a new project.
pub(crate) fn import(daemon: &Daemon, folder: &Path) -> Imported {
    let began = Instant::now();
    let mut import = siteconf(daemon.data())
        .args(["import", PROJECT, "main"])
        .arg(folder)
        .args(["--owner", "admin"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut memory_mib: f64 = 0.0;
    let status = loop {
        if let Some(status) = import.try_wait().unwrap() {
            break status;
        }
        memory_mib = memory_mib.max(peak_mib(import.id()).unwrap_or(0.0));
        thread::sleep(LOOK);
    };
    assert!(status.success(), "the import failed");
    Imported {
        took: began.elapsed(),
        memory_mib,
    }
}
