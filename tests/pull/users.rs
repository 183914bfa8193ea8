//! A pull of an ordinary user, in whose folder others may forbid something.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};
use rustix::io::Errno;
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
    if geteuid().is_root() {
        chown(scene.at("token"), Some(NOBODY), Some(NOBODY)).unwrap();
    }
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

#[test]
fn a_folder_keeps_of_its_owner_and_group_what_its_user_may_give_and_the_rest_is_told() {
    if !geteuid().is_root() {
        leave_out("only root can be two users");
        return;
    }
    let mut scene = scene();
    // What is made beside the folder has a group that neither the folder nor its user has.
    chown(scene.at(""), None, Some(100)).unwrap();
    set_mode(&scene.at(""), 0o2777);
    let dir = scene.dir();
    fs::create_dir(&dir).unwrap();
    set_mode(&dir, 0o775);
    let shown = || {
        let found = fs::metadata(&dir).unwrap();
        (found.uid(), found.gid(), found.mode() & 0o7777)
    };
    for (text, given, lost, kept) in [
        ("1", (0, NOBODY), "owner 0", NOBODY),
        ("2", (NOBODY, 101), "group 101", 100),
        ("3", (0, 101), "owner 0 and group 101", 100),
    ] {
        chown(&dir, Some(given.0), Some(given.1)).unwrap();
        set_mode(&dir, 0o777);
        scene.save(&files(&[("a", text)]));
        let told = format!(
            "{} has lost its {lost}, which who pulls may not give: give it back (chown), and pull as its owner, \
             who is in its group, or as root\n",
            dir.display()
        );
        said(&pull(&scene), 0, &told);
        assert_eq!(shown(), (NOBODY, kept, 0o777));
    }
    // Of the change that lost it alone.
    scene.save(&files(&[("a", "4")]));
    said(&pull(&scene), 0, "");
}

#[test]
fn files_take_the_group_of_the_folder_and_keep_their_mode() {
    let mut scene = Scene::new();
    let dir = scene.dir();
    fs::create_dir(&dir).unwrap();
    // A group that a file does not have by itself.
    let is_root = geteuid().is_root();
    if is_root {
        chown(&dir, Some(NOBODY), Some(100)).unwrap();
    } else {
        leave_out("only root can give a folder any group");
    }
    set_mode(&dir, 0o2775);
    let group = fs::metadata(&dir).unwrap().gid();
    let shown = |name: &str| {
        let found = fs::metadata(dir.join(name)).unwrap();
        (found.mode() & 0o7777, found.gid())
    };
    let first = [("a", "1"), ("b", "1"), ("bin", "1"), ("s/c", "1")];
    let mut branch = files(&first);
    branch.get_mut("bin").unwrap().1 = true;
    scene.save(&branch);
    scene.pulled(&[], &branch);
    for name in ["a", "b", "bin", "s/c"] {
        assert_eq!(shown(name).1, group, "{name}");
    }
    let usual = shown("b").0;
    set_mode(&dir.join("a"), 0o600);
    set_mode(&dir.join("bin"), 0o754);
    set_mode(&dir.join("s/c"), 0o640);
    if is_root {
        chown(dir.join("a"), Some(NOBODY), Some(101)).unwrap();
    }
    let second = [
        ("a", "2"),
        ("b", "2"),
        ("bin", "2"),
        ("s/c", "2"),
        ("s/new", "2"),
    ];
    let mut branch = files(&second);
    branch.get_mut("bin").unwrap().1 = true;
    scene.save(&branch);
    scene.pulled(&[], &branch);
    let group_of_a = if is_root { 101 } else { group };
    assert_eq!(shown("a"), (0o600, group_of_a));
    if is_root {
        assert_eq!(fs::metadata(dir.join("a")).unwrap().uid(), NOBODY);
    }
    assert_eq!(shown("b"), (usual, group));
    assert_eq!(shown("bin"), (0o754, group));
    assert_eq!(shown("s/c"), (0o640, group));
    assert_eq!(shown("s/new"), (usual, group));
    // The bit to execute is the branch's.
    for name in ["a", "bin", "s/c"] {
        let file = branch.get_mut(name).unwrap();
        file.1 = !file.1;
    }
    scene.save(&branch);
    scene.pulled(&[], &branch);
    assert_eq!(shown("a"), (0o700, group_of_a));
    assert_eq!(shown("bin"), (0o644, group));
    assert_eq!(shown("s/c"), (0o750, group));
}

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// Of a file or folder that another user may read, and the group not, which a mode does not tell.
fn acl(path: &Path) -> Vec<u8> {
    let enter = u16::from(path.is_dir());
    list([6 | enter, 4 | enter, 0, 4 | enter, 0])
}

/// With the rights of its user, of another user, of the group, of both of these at most, and of others.
fn list(rights: [u16; 5]) -> Vec<u8> {
    let (tags, nobody_else) = ([1_u16, 2, 4, 16, 32], u32::MAX);
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, rights) in tags.into_iter().zip(rights) {
        acl.extend(tag.to_le_bytes());
        acl.extend(rights.to_le_bytes());
        let id = if tag == 2 { 1234 } else { nobody_else };
        acl.extend(id.to_le_bytes());
    }
    acl
}

fn acl_of(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 1000];
    let length = lgetxattr(path, name, &mut buffer[..]).ok()?;
    Some(buffer[..length].to_vec())
}

#[test]
fn access_control_lists_stay() {
    let mut scene = Scene::new();
    let dir = scene.dir();
    let first = files(&[("a", "1"), ("b", "1"), ("s/c", "1"), ("kept", "1")]);
    scene.save(&first);
    scene.pulled(&[], &first);
    let given = lsetxattr(&dir, ACCESS, &acl(&dir), XattrFlags::empty());
    if let Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM) = given {
        leave_out("access control lists, which the file system does not take");
        return;
    }
    let give = |name: &str, kind: &str| {
        let path = dir.join(name);
        lsetxattr(&path, kind, &acl(&path), XattrFlags::empty()).unwrap();
    };
    for name in ["", "a", "s", "s/c", "kept"] {
        give(name, ACCESS);
    }
    give("s", DEFAULT);
    let second = files(&[
        ("a", "2"),
        ("b", "2"),
        ("s/c", "2"),
        ("s/d", "3"),
        ("s/e", "3"),
        ("kept", "1"),
    ]);
    scene.save(&second);
    scene.pulled(&[], &second);
    for name in ["", "a", "s", "s/c", "kept"] {
        let path = dir.join(name);
        assert_eq!(acl_of(&path, ACCESS), Some(acl(&path)), "{name}");
    }
    let s = dir.join("s");
    assert_eq!(acl_of(&s, DEFAULT), Some(acl(&s)));
    // What is new there has it of the folder, and nothing of the umask.
    for name in ["s/d", "s/e"] {
        let made = Some(list([6, 5, 0, 4, 0]));
        assert_eq!(acl_of(&dir.join(name), ACCESS), made, "{name}");
    }
    assert_eq!(acl_of(&dir.join("b"), ACCESS), None);
}
