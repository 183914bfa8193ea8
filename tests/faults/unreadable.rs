//! Backups on a disk that cannot read some of their files any more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use walkdir::WalkDir;

use crate::daemon::{PROJECT, siteconf_at};
use crate::tracer;

/// Paths, of which those with many bytes do not lie in the database.
const FILES: [(&str, usize); 3] = [("a.xml", 4), ("y.bin", 70_000), ("z.bin", 80_000)];

#[track_caller]
fn done(command: &mut Command) {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Runs a command where this file cannot be read.
fn run_without(file: &Path, command: &mut Command) -> Output {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-e", "trace=read"]);
    strace.args(["-e", "inject=read:error=EIO", "-P"]).arg(file);
    strace.arg(command.get_program()).args(command.get_args());
    strace.output().unwrap()
}

#[test]
fn of_a_backup_with_a_file_that_cannot_be_read_the_rest_is_restored() {
    if !tracer::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // As the tracer sees it.
    let folder = folder.path().canonicalize().unwrap();
    let store = |name: &str| ["--data".into(), folder.join(name).into()];
    done(siteconf_at(&store("data")).arg("init"));
    fs::create_dir(folder.join("in")).unwrap();
    for (path, bytes) in FILES {
        fs::write(folder.join("in").join(path), vec![b'x'; bytes]).unwrap();
    }
    let mut import = siteconf_at(&store("data"));
    import.args(["import", PROJECT, "main", "--owner", "admin"]);
    done(import.arg(folder.join("in")));
    let backup = folder.join("backup");
    done(siteconf_at(&store("data")).arg("backup").arg(&backup));

    let blobs = WalkDir::new(backup.join("blobs")).into_iter();
    let file = blobs
        .map(|entry| entry.unwrap().into_path())
        .find(|path| is_of(path, 70_000));
    let file: PathBuf = file.unwrap();
    let part = file.strip_prefix(&backup).unwrap().display();
    let unreadable = format!("siteconf: {part} cannot be read: Input/output error (os error 5)\n");

    let mut verify = siteconf_at(&store("data"));
    let ran = run_without(&file, verify.args(["backup", "verify"]).arg(&backup));
    assert_eq!(String::from_utf8_lossy(&ran.stderr), unreadable);
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stdout).ends_with(" bytes read; 1 faults\n"));

    let new = folder.join("new");
    let mut restore = siteconf_at(&store("new"));
    let ran = run_without(&file, restore.arg("restore").arg(&backup));
    let said = format!(
        "siteconf: reading {}: Input/output error (os error 5)\n",
        file.display()
    );
    assert_eq!(String::from_utf8_lossy(&ran.stderr), said);
    assert_eq!((ran.status.code(), new.exists()), (Some(1), false));

    let ran = run_without(&file, restore.arg("--what-is-sound"));
    let said = format!(
        "{unreadable}siteconf: the backup was damaged: 1 of its files are not restored, or not whole; \"siteconf debug \
         check --deep\" names the files and states that the store lacks. Keep that backup, and name another place for \
         the next one\n"
    );
    assert_eq!(String::from_utf8_lossy(&ran.stderr), said);
    assert_eq!(ran.status.code(), Some(1));
    let told = format!("restored to {}: the state of ", new.display());
    assert!(String::from_utf8_lossy(&ran.stdout).starts_with(&told));
    for (path, bytes) in FILES {
        let shown = siteconf_at(&store("new"))
            .args(["cat", PROJECT, "main", path])
            .output();
        let shown = shown.unwrap();
        let lost = bytes == 70_000;
        assert_eq!(shown.status.success(), !lost, "{shown:?}");
        assert!(lost || shown.stdout == vec![b'x'; bytes], "{path}");
    }
    // What the backup has beside may be nowhere else.
    let ran = siteconf_at(&store("new"))
        .arg("backup")
        .arg(&backup)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        said.contains("or from what was sound of one, or is a copy"),
        "{said}"
    );
    assert_eq!(ran.status.code(), Some(1));
    // What comes again mends it.
    let mut put = siteconf_at(&store("new"));
    put.args(["put", PROJECT, "main", "y.bin"]);
    done(put.arg(folder.join("in/y.bin")));
    done(siteconf_at(&store("new")).args(["debug", "check", "--deep"]));
}

fn is_of(path: &Path, bytes: u64) -> bool {
    let file = fs::metadata(path).unwrap();
    file.is_file() && file.len() == bytes
}
