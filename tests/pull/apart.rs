//! A data folder in the place of the folder that is pulled: its store is left where it is.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::daemon::file;
use crate::scene::{Scene, files, said};

#[test]
fn a_data_folder_is_not_exchanged_nor_what_holds_it_or_lies_in_it() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a.txt", "a")]));
    let data = scene.daemon.data();
    let before = fs::metadata(&data).unwrap().ino();
    let base = scene.daemon.base();
    let in_it = data.join("conf");
    for dir in [&data, data.parent().unwrap(), &in_it] {
        let output = scene.command_in(dir, &base, &[]).output().unwrap();
        let refused = format!(
            "siteconf: {} is, lies in or holds the data folder {} of siteconf, whose store would be exchanged with the \
             files of the branch; name a folder apart from it\n",
            dir.display(),
            data.display()
        );
        said(&output, 2, &refused);
        assert!(!in_it.exists());
    }
    assert_eq!(fs::metadata(&data).unwrap().ino(), before);
    let mut admin = scene.daemon.admin();
    let mut put = |path: &str| {
        let saved = admin.attempt("PUT", &file(path), "application/octet-stream", b"b");
        assert_eq!(saved.unwrap().status, 201);
    };
    put("b.txt");

    // A branch may hold such names all the same.
    for name in ["FORMAT", "secrets", "store.db"] {
        put(name);
        put(&format!("fixtures/{name}"));
    }
    for count in [8, 0] {
        let told = said(&scene.command(&base, &["--json"]).output().unwrap(), 0, "");
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["added"], count, "{told}");
    }
}
