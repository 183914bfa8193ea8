//! Upgrades and backups: one of before is restored and upgraded, and neither runs beside the other.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use siteconf::store::StoreError;
use siteconf::store::sqlite::Folder;

use crate::binary::Siteconf;
use crate::fixture::{FORMATS, Fixture};

#[test]
fn a_backup_of_before_is_restored_as_it_was_and_upgraded() {
    for format in FORMATS {
        let fixture = Fixture::of(format);
        let siteconf = fixture.siteconf();
        // What a service of then has not copied into the database yet is in it, too.
        fixture.add_records(100);
        let backup = fixture.path("backup");
        let backup = backup.to_str().unwrap();
        siteconf.done(&["backup", backup]);
        siteconf.done(&["backup", "verify", backup]);
        assert_eq!(fixture.format(), format!("siteconf {format}\n"));

        let restored = Siteconf::on(&fixture.path("restored"));
        let output = restored.run(&["restore", backup]);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            format!(
                "siteconf: the folder has format {format}, and this version writes format 3; make a \
                 backup, then run \"siteconf upgrade --data {}\"\n",
                restored.data.display()
            )
        );
        let text = fs::read_to_string(restored.data.join("FORMAT")).unwrap();
        assert_eq!(text, format!("siteconf {format}\n"));
        restored.done(&["upgrade"]);
        fixture.assert_kept_by(&restored);

        // The next one into the same folder takes what is there, and is of the new format.
        siteconf.done(&["upgrade"]);
        siteconf.done(&["backup", backup]);
        let again = Siteconf::on(&fixture.path("again"));
        let output = again.run(&["restore", backup]);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        fixture.assert_kept_by(&again);
    }
}

#[test]
fn an_upgrade_is_refused_while_a_backup_runs() {
    let fixture = Fixture::of(1);
    let siteconf = fixture.siteconf();
    // More than a pipe takes that nobody reads.
    fixture.add_records(20_000);
    let mut backup = siteconf
        .command(&["backup", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stream = backup.stdout.take().unwrap();
    // It has begun.
    let mut first = [0; 512];
    stream.read_exact(&mut first).unwrap();
    let output = siteconf.run(&["upgrade"]);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "siteconf: {}: a backup is running; try again when it has ended\n",
            fixture.path("data").display()
        )
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fixture.format(), "siteconf 1\n");
    let mut whole = first.to_vec();
    stream.read_to_end(&mut whole).unwrap();
    assert!(backup.wait().unwrap().success());
    let file = fixture.path("backup.tar");
    fs::write(&file, whole).unwrap();
    let restored = Siteconf::on(&fixture.path("restored"));
    restored.done(&["restore", file.to_str().unwrap()]);
    restored.done(&["upgrade"]);
    fixture.assert_kept_by(&restored);
    siteconf.done(&["upgrade"]);
    fixture.assert_kept_by(&siteconf);
}

#[test]
fn a_backup_waits_for_an_upgrade() {
    let fixture = Fixture::of(2);
    let folder = Folder::open(&fixture.data()).unwrap();
    // As an upgrade holds it.
    let upgrade = folder.lock_for_collection().unwrap();
    let refused = folder.lock_for_backup().unwrap_err();
    assert!(
        matches!(refused, StoreError::Underway { what: "an upgrade" }),
        "{refused}"
    );
    drop(upgrade);
    drop(folder.lock_for_backup().unwrap());
}
