//! An upgrade on request: what it says, and what it keeps.

use std::fs::{self, File};
use std::process::{Output, Stdio};

use crate::binary::Siteconf;
use crate::fixture::{FORMATS, Fixture};

/// What a command printed, its numbers of bytes left out.
#[track_caller]
fn printed(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let words = line.split(' ').map(|word| match word.parse::<u64>() {
            Ok(_) if line.starts_with("room") => "N",
            _ => word,
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    });
    lines.collect()
}

/// What is said before an upgrade.
fn outlook(fixture: &Fixture, format: u32) -> String {
    let data = fixture.data();
    let data = data.display();
    let steps = match format {
        1 => format!(
            "step 1           {} records get a checksum each\n\
             step 2           the database gets the tables that it lacks\n\
             step 3           FORMAT says 3; earlier versions refuse the folder from then on\n",
            count_records(fixture)
        ),
        _ => "step 1           the database gets the tables that it lacks\n\
              step 2           FORMAT says 3; earlier versions refuse the folder from then on\n"
            .to_owned(),
    };
    format!(
        "data             {data}\n\
         format           {format}; this version writes 3\n\
         {steps}\
         room             at most N bytes, N are free\n\
         backup           the upgrade makes none; \"siteconf backup TARGET --data {data}\" makes \
         one, also while the earlier version serves\n"
    )
}

fn count_records(fixture: &Fixture) -> u64 {
    let siteconf = fixture.siteconf();
    let outlook = siteconf.json(&["upgrade", "--dry-run", "--json"]);
    let said = outlook["steps"][0].as_str().unwrap();
    said.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn an_upgrade_says_what_it_does_and_keeps_all_that_users_and_clients_see() {
    for format in FORMATS {
        let fixture = Fixture::of(format);
        let siteconf = fixture.siteconf();
        let outlook = outlook(&fixture, format);
        let data = fixture.data();
        let data = data.display();
        assert_eq!(
            printed(siteconf.run(&["upgrade"])),
            format!(
                "{outlook}the folder has format 3 now; \"siteconf serve --data {data}\" serves it\n"
            )
        );
        assert_eq!(fixture.format(), "siteconf 3\n");
        assert_sound(&siteconf);
        let log = siteconf.done(&["audit", "--json"]);
        let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        assert_eq!(last["action"], "upgrade", "{log}");
        assert_eq!(last["detail"], format!("from format {format} to 3"));
        // The second one finds nothing to do, and touches nothing.
        let before = fixture.bytes();
        assert_eq!(
            printed(siteconf.run(&["upgrade"])),
            format!(
                "data             {data}\n\
                 format           3, which this version writes: nothing to do\n"
            )
        );
        assert_eq!(fixture.bytes(), before);
        fixture.assert_kept_by(&siteconf);
        assert_sound(&siteconf);
    }
}

/// The mark of a service that a failed write has stopped is gone as after a start.
#[test]
fn a_folder_whose_service_stopped_writing_is_upgraded() {
    for format in FORMATS {
        let fixture = Fixture::of(format);
        let siteconf = fixture.siteconf();
        let mark = fixture.data().join("STOPPED");
        fs::write(&mark, "a commit failed: disk I/O error\n").unwrap();
        siteconf.done(&["upgrade"]);
        assert!(!mark.exists());
        let log = siteconf.done(&["audit", "--json"]);
        let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        assert_eq!(last["action"], "upgrade", "{log}");
    }
}

#[test]
fn a_folder_is_upgraded_whoever_hears_of_it() {
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let full = File::options().write(true).open("/dev/full").unwrap();
    for (out, code) in [(Stdio::from(closed), 0), (Stdio::from(full), 1)] {
        let fixture = Fixture::of(1);
        let mut upgrade = fixture.siteconf().command(&["upgrade"]);
        let output = upgrade.stdout(out).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(fixture.format(), "siteconf 3\n");
    }
}

/// Looks for damage.
#[track_caller]
fn assert_sound(siteconf: &Siteconf) {
    let output = siteconf.run(&["debug", "check", "--deep"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_dry_run_changes_no_byte() {
    for format in FORMATS {
        let fixture = Fixture::of(format);
        let siteconf = fixture.siteconf();
        let before = fixture.bytes();
        let outlook = outlook(&fixture, format);
        assert_eq!(printed(siteconf.run(&["upgrade", "--dry-run"])), outlook);
        assert!(fixture.bytes() == before);

        // With the log of a service that was killed, too. What readers share beside it is no content.
        fixture.add_records(10);
        let mut before = fixture.bytes();
        printed(siteconf.run(&["upgrade", "--dry-run"]));
        let mut after = fixture.bytes();
        let shared = fixture.data().join("store.db-shm");
        before.remove(&shared);
        after.remove(&shared);
        assert!(!before[&fixture.data().join("store.db-wal")].is_empty());
        assert!(before == after);
    }
}

#[test]
fn json_tells_the_same_and_the_room_is_a_bound() {
    let fixture = Fixture::of(1);
    fixture.add_records(20_000);
    let siteconf = fixture.siteconf();
    let size = || {
        let bytes = fixture.bytes();
        bytes.values().map(|file| file.len() as u64).sum::<u64>()
    };
    let before = size();
    let found = siteconf.json(&["upgrade", "--json"]);
    let records = fixture.records().len();
    let (room, free) = (&found["room_bytes"], &found["free_bytes"]);
    assert_eq!(
        found,
        serde_json::json!({
            "data": fixture.data().display().to_string(),
            "format": "1",
            "current_format": "3",
            "steps": [
                format!("{records} records get a checksum each"),
                "the database gets the tables that it lacks",
                "FORMAT says 3; earlier versions refuse the folder from then on",
            ],
            "room_bytes": room,
            "free_bytes": free,
            "running": false,
            "upgraded": true,
        })
    );
    let grown = size().saturating_sub(before);
    assert!(grown < room.as_u64().unwrap(), "{grown} of {room}");
    let records = fixture.records();
    assert!(records.iter().all(|(.., checksum)| checksum.is_some()));
    fixture.assert_kept_by(&siteconf);
}

#[test]
fn a_damaged_folder_keeps_its_format_and_what_is_sound_of_it_can_be_upgraded() {
    let fixture = Fixture::of(1);
    let siteconf = fixture.siteconf();
    // A page of the records that holds something else.
    let page = "SELECT pageno FROM dbstat WHERE name = 'record' AND pagetype = 'leaf' LIMIT 1";
    let db = fixture.database();
    let page: usize = db.query_row(page, [], |row| row.get(0)).unwrap();
    drop(db);
    let path = fixture.data().join("store.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let before = fixture.bytes();
    let data = fixture.data();
    let data = data.display();
    let message = format!(
        "siteconf: {data}/store.db: it is damaged (database disk image is malformed), and keeps its \
         format; \"siteconf backup TARGET --data {data}\" keeps what is sound, and \"siteconf restore \
         TARGET --data NEW\" makes a folder of it that can be upgraded\n"
    );
    for command in [&["upgrade"][..], &["upgrade", "--dry-run"]] {
        assert_eq!(siteconf.refused(command), (1, message.clone()));
    }
    assert!(fixture.bytes() == before);

    let backup = fixture.path("backup");
    let backup = backup.to_str().unwrap();
    assert_eq!(siteconf.run(&["backup", backup]).status.code(), Some(1));
    let sound = Siteconf::on(&fixture.path("sound"));
    sound.done(&["restore", backup]);
    sound.done(&["upgrade"]);
    sound.done(&["status"]);
}
