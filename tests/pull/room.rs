//! Disks that have no room, or have it again.

use std::fs;

use rustix::process::Signal;

use crate::mounted::Mounted;
use crate::relay::Relay;
use crate::running::Running;
use crate::scene::{Files, Scene, files, read, said};

const MEGABYTE: usize = 1 << 20;

#[test]
fn the_state_before_gives_its_room_to_the_next() {
    let mut scene = Scene::new();
    let Some(disk) = Mounted::disk(8) else {
        return;
    };
    let dir = disk.path().join("here");
    for byte in 1..=4 {
        let branch = Files::from([("large".to_owned(), (vec![byte; 3 * MEGABYTE], false))]);
        scene.save(&branch);
        let mut pull = scene.command_in(&dir, &scene.daemon.base(), &[]);
        said(&pull.output().unwrap(), 0, "");
        assert_eq!(read(&dir), branch);
    }
}

#[test]
fn a_watch_waits_for_room_and_asks_for_no_file_until_then() {
    let mut scene = Scene::new();
    let Some(disk) = Mounted::disk(16) else {
        return;
    };
    let dir = disk.path().join("here");
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 8 * MEGABYTE]).unwrap();
    let small = files(&[("a", "1")]);
    scene.save(&small);
    let mut pull = scene.command_in(&dir, &scene.daemon.base(), &[]);
    said(&pull.output().unwrap(), 0, "");
    let many: Files = (0..10_u8)
        .map(|byte| (byte.to_string(), (vec![byte; MEGABYTE], false)))
        .collect();
    scene.save(&many);
    let relay = Relay::to(&scene.daemon.base());
    let mut watch = Running::start(scene.command_in(&dir, &relay.base(), &["--watch"]));
    let full = |told: &str| {
        let text = "siteconf: what is new in the branch has more than the ";
        let rest = told.strip_prefix(text).unwrap_or_else(|| panic!("{told}"));
        rest.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    // A twentieth of the disk stays free for others.
    let room = full(&watch.complaint());
    assert!(
        (6 * MEGABYTE..8 * MEGABYTE - 16 * MEGABYTE / 20).contains(&room),
        "{room}"
    );
    let files_asked = || {
        let requests = relay.requests();
        requests
            .iter()
            .filter(|line| line.contains("/raw?"))
            .count()
    };
    assert!(files_asked() > 0);
    for _ in 0..2 {
        assert_eq!(full(&watch.complaint()), room);
    }
    assert_eq!(files_asked(), 0);
    assert_eq!(read(&dir), small);
    fs::remove_file(&ballast).unwrap();
    let line = watch.line();
    assert!(
        line.contains(": 10 added, 0 changed, 1 removed, "),
        "{line}"
    );
    assert_eq!(read(&dir), many);
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
}
