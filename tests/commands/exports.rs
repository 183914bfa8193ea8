//! Exports that fail: which file or folder, why, and what is left.

use std::fs;
use std::path::Path;

use crate::mounted::Mounted;
use crate::stage::Stage;

/// More than a small disk has room for, and more than is kept in the database.
const LARGE_BYTES: usize = 2_000_000;

/// The stage with a large file, which comes last.
fn with_large() -> Stage {
    let stage = Stage::new();
    stage.lay("more", &[("z.bin", &"z".repeat(LARGE_BYTES))]);
    let files = stage.shown("more");
    stage.done(&["import", "acme/shop.erp", "main", &files]);
    stage
}

#[track_caller]
fn refused(stage: &Stage, dir: &Path, said: &str) {
    let dir = dir.display().to_string();
    let words = ["export", "acme/shop.erp", "main", &dir];
    stage.refused(&words, 1, &format!("siteconf: {said}"));
}

#[test]
fn a_target_that_is_no_empty_folder_is_named() {
    let stage = Stage::new();
    stage.lay("there", &[("file", "")]);
    let (there, file) = (stage.path("there"), stage.path("there/file"));
    for (dir, said) in [
        (
            &there,
            format!("{} is not empty; name an empty folder", there.display()),
        ),
        (
            &file,
            format!("{} is no folder; name an empty folder", file.display()),
        ),
        (
            &file.join("below"),
            format!(
                "looking at {}: Not a directory (os error 20); no file was written",
                file.join("below").display()
            ),
        ),
    ] {
        refused(&stage, dir, &said);
    }
    assert_eq!(fs::read(file).unwrap(), b"");
}

#[test]
fn a_full_disk_is_told_with_the_file_that_found_no_room() {
    let stage = with_large();
    let Some(disk) = Mounted::disk(1) else {
        return;
    };
    let out = disk.path().join("out");
    let said = format!(
        "writing {}: No space left on device (os error 28); 2 of 3 files were written, and stay",
        out.join("z.bin").display()
    );
    refused(&stage, &out, &said);
    assert_eq!(fs::read(out.join("a.xml")).unwrap(), b"<a/>");
    assert_eq!(fs::read(out.join("conf/b.xml")).unwrap(), b"<b/>");
    // Half of it could pass for all.
    assert!(!out.join("z.bin").exists());
}

#[test]
fn a_damaged_file_is_told_with_its_path() {
    let stage = with_large();
    let id = blake3::hash("z".repeat(LARGE_BYTES).as_bytes()).to_hex();
    let blob = stage.path("data/blobs").join(&id[..2]).join(&id[2..]);
    let mut bytes = fs::read(&blob).unwrap();
    bytes[0] ^= 1;
    fs::write(&blob, &bytes).unwrap();
    let out = stage.path("out");
    let damaged = format!(
        "reading \"z.bin\": blob {id} is damaged: its file holds other bytes from 0 to 262144; 2 of 3 files \
         were written, and stay"
    );
    refused(&stage, &out, &damaged);
    fs::remove_file(&blob).unwrap();
    let out = stage.path("again");
    let missing = format!(
        "reading \"z.bin\": blob {id} is damaged: its file cannot be opened: No such file or directory \
         (os error 2); 2 of 3 files were written, and stay"
    );
    refused(&stage, &out, &missing);
    assert_eq!(fs::read(out.join("conf/b.xml")).unwrap(), b"<b/>");
    // Half of it could pass for all.
    assert!(!out.join("z.bin").exists());
}
