//! A pull of an ordinary user, in whose folder others may forbid something.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::geteuid;

use crate::daemon::copy_program;
use crate::left_out::leave_out;
use crate::scene::{Scene, files, names, read, said};

const NOBODY: u32 = 65_534;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A scene with a copy of the program, both in reach of everybody.
fn scene() -> Scene {
    let scene = Scene::new();
    set_mode(&scene.at(""), 0o777);
    copy_program(&scene.at("siteconf"));
    scene
}

/// Pulls, and not as root.
fn pull(scene: &Scene) -> Output {
    let told = scene.command(&scene.daemon.base(), &[]);
    let mut command = Command::new(scene.at("siteconf"));
    command
        .args(told.get_args())
        .env_clear()
        .stdin(Stdio::null());
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().unwrap()
}

#[test]
fn a_state_that_cannot_be_removed_is_put_aside_and_told() {
    if !geteuid().is_root() {
        leave_out("only root can be two users");
        return;
    }
    let mut scene = scene();
    let states = ["1", "2", "3", "4"].map(|text| files(&[("a", text), ("sub/b", "1")]));
    scene.save(&states[0]);
    said(&pull(&scene), 0, "");
    // Root protects a folder in it; that of the next state is the user's again.
    chown(scene.dir().join("sub"), Some(0), Some(0)).unwrap();
    scene.save(&states[1]);
    said(&pull(&scene), 0, "");
    scene.save(&states[2]);
    let side = scene.side();
    let told = format!(
        "a former state of {} cannot be removed, and lies in {}: removing {}: Permission denied (os error 13)\n",
        scene.dir().display(),
        side.join("kept/1/gone").display(),
        side.join("gone").display()
    );
    said(&pull(&scene), 0, &told);
    assert_eq!(read(&scene.dir()), states[2]);
    scene.save(&states[3]);
    said(&pull(&scene), 0, "");
    assert_eq!(read(&scene.dir()), states[3]);
    // One that a killed pull left in the middle of its removal hinders nobody either.
    let gone = side.join("gone");
    fs::rename(side.join("kept/1/gone"), &gone).unwrap();
    said(&pull(&scene), 0, &told.replace("kept/1", "kept/2"));
}

#[test]
fn folders_in_which_nothing_may_be_written_are_followed_and_keep_their_mode() {
    let mut scene = scene();
    scene.save(&files(&[("a", "1"), ("s/b", "1"), ("s/t/c", "1")]));
    said(&pull(&scene), 0, "");
    let folders = ["s/t", "s", ""].map(|folder| scene.dir().join(folder));
    for folder in &folders {
        set_mode(folder, 0o555);
    }
    for text in ["2", "3", "4"] {
        let branch = files(&[("a", text), ("s/b", text), ("s/t/c", "1")]);
        scene.save(&branch);
        said(&pull(&scene), 0, "");
        assert_eq!(read(&scene.dir()), branch);
        for folder in &folders {
            let mode = fs::metadata(folder).unwrap().mode() & 0o7777;
            assert_eq!(mode, 0o555, "{}", folder.display());
        }
    }
    let left = ["instance", "lock", "old", "old.json", "state.json"];
    assert_eq!(names(&scene.side()), left);
}
