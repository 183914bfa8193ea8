//! Disks that have no room, or have it again.

use crate::mounted::Mounted;
use crate::scene::{Files, Scene, read, said};

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
