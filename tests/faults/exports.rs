//! Exports to a file system that says only at a sync that there was no room, as NFS does of a quota.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::daemon::{PROJECT, siteconf_at};
use crate::tracer;

/// Paths, the last one of a file that does not lie in the database.
const FILES: [(&str, usize); 3] = [("a.xml", 4), ("conf/b.xml", 4), ("z.bin", 70_000)];

#[track_caller]
fn done(command: &mut Command) {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Exports into `out`, where the file system finds no room at a sync, and syncs of these files find none.
fn export(store: &[OsString], out: &Path, without_room: &[&str]) -> Output {
    let export = siteconf_at(store);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o"]).arg(out.with_extension("trace"));
    strace.args(["-e", "trace=syncfs,fsync"]);
    strace.args(["-e", "inject=syncfs,fsync:error=EDQUOT"]);
    strace.arg("-P").arg(out);
    for path in without_room {
        strace.arg("-P").arg(out.join(path));
    }
    strace.arg(export.get_program()).args(export.get_args());
    strace.args(["export", PROJECT, "main"]).arg(out);
    strace.output().unwrap()
}

#[test]
fn a_file_that_finds_no_room_when_it_is_synced_is_told_and_not_left() {
    if !tracer::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // As the tracer sees it.
    let folder = folder.path().canonicalize().unwrap();
    let store = ["--data".into(), folder.join("data").into()];
    done(siteconf_at(&store).arg("init"));
    for (path, bytes) in FILES {
        let path = folder.join("in").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![b'x'; bytes]).unwrap();
    }
    let mut import = siteconf_at(&store);
    import.args(["import", PROJECT, "main", "--owner", "admin"]);
    done(import.arg(folder.join("in")));

    let out = folder.join("out");
    // What failed may have been the file of somebody else.
    let ran = export(&store, &out, &[]);
    assert!(ran.status.success(), "{ran:?}");
    let trace = fs::read_to_string(out.with_extension("trace")).unwrap();
    assert!(trace.contains("(INJECTED)"), "{trace}");
    fs::remove_dir_all(&out).unwrap();

    for (without_room, left) in [
        (&["conf/b.xml"][..], "2 of 3 files were written, and stay"),
        (&["z.bin"], "2 of 3 files were written, and stay"),
        (&["a.xml", "z.bin"], "1 of 3 files were written, and stay"),
        (&["a.xml", "conf/b.xml", "z.bin"], "no file was written"),
    ] {
        let ran = export(&store, &out, without_room);
        let first = out.join(without_room[0]);
        let said = format!(
            "siteconf: writing {}: Disk quota exceeded (os error 122); {left}\n",
            first.display()
        );
        assert_eq!(String::from_utf8_lossy(&ran.stderr), said);
        assert_eq!(ran.status.code(), Some(1));
        for (path, bytes) in FILES {
            let found = fs::metadata(out.join(path)).map(|file| file.len());
            let expected = (!without_room.contains(&path)).then_some(bytes as u64);
            assert_eq!(found.ok(), expected, "{path}");
        }
        fs::remove_dir_all(&out).unwrap();
    }
}
