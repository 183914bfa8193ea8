//! Folders in a container, of which a part comes with its image.

use std::fs;

use crate::mounted::Mounted;
use crate::scene::{Scene, files, names, read, refusal, said};

#[test]
fn a_folder_that_came_with_an_image_is_told_and_left_alone() {
    let mut scene = Scene::new();
    let Some(disk) = Mounted::disk(64) else {
        return;
    };
    let [lower, upper, work, at] =
        ["lower", "upper", "work", "at"].map(|name| disk.path().join(name));
    for folder in [&lower, &upper, &work, &at] {
        fs::create_dir(folder).unwrap();
    }
    let base = scene.daemon.base();
    for text in ["1", "2"] {
        scene.save(&files(&[("a", text)]));
        let image = scene.command_in(&lower.join("here"), &base, &[]).output();
        said(&image.unwrap(), 0, "");
    }
    let Some(_overlay) = Mounted::overlay(&lower, &upper, &work, &at) else {
        return;
    };
    let dir = at.join("here");
    let pull = |scene: &Scene| scene.command_in(&dir, &base, &[]).output().unwrap();
    // Where nothing is new nothing has to be replaced.
    said(&pull(&scene), 0, "");
    scene.save(&files(&[("a", "3")]));
    for _ in 0..2 {
        assert_eq!(
            refusal(&pull(&scene)),
            format!(
                "siteconf: {} lies in a lower layer of an overlay, as what came with a container's image, \
                 and cannot be replaced there: name a folder in a volume or a new one, or remove this one, \
                 with what is yours in it\n",
                dir.display()
            )
        );
        assert_eq!(read(&dir), files(&[("a", "2")]));
    }
    // Removed, it is made anew, and the state before that came with the image is removed, too.
    fs::remove_dir_all(&dir).unwrap();
    for text in ["4", "5"] {
        scene.save(&files(&[("a", text)]));
        said(&pull(&scene), 0, "");
        assert_eq!(read(&dir), files(&[("a", text)]));
    }
    assert_eq!(
        names(&at.join(".here.siteconf-pull")),
        ["instance", "lock", "old", "old.json", "state.json"]
    );
}
