//! What is no place for a copy, and what cannot be copied.

use std::fs;

use rusqlite::Connection;

use super::{Contents, Side, World, assert_refused, report, run, text};
use crate::harness::server::Database;
use crate::harness::{Daemon, Place, own_folder};

#[test]
fn what_is_no_place_for_a_copy_is_refused_and_stays_as_it_is() {
    let (mut world, side) = (World::new(), Side::new());
    world.daemon.stop();
    let data = world.data();
    let (from, url) = (text(&data), side.database.url.as_str());
    let full = own_folder();
    fs::write(full.path().join("mine"), "1").unwrap();
    let full = text(full.path());
    let within = data.join("within");
    let same = "--from and --to are the same folder, or one is within the other";
    let two = "--from and --to are both databases: use a base backup, or pg_dump, and keep the key's file \
               and the bucket with it";
    for to in [from, text(&within)] {
        assert_refused(&run(&["copy", "--from", from, "--to", to]), 2, same);
    }
    // The name of a folder with a password in it would be shown.
    for wrong in ["mysql://a@h/d", "postgres:/a:hush@h/d", "postgresql:a"] {
        let refused = run(&["copy", "--from", from, "--to", wrong]);
        let said = "--to: it must be of the form postgres://[user@]host[:port]/database";
        assert_refused(&refused, 2, said);
    }
    let full_too = format!(
        "{full}: the folder is not empty (\"mine\" is in it); a store is copied into an empty folder, or \
         one that is not there"
    );
    assert_refused(&run(&["copy", "--from", from, "--to", full]), 1, &full_too);
    assert_refused(&side.copy(url, url), 2, two);
    assert!(!within.exists());

    let other = Database::new();
    let has_store = format!(
        "{}: the database cannot be used: it has a store; a copy goes into a database without one",
        other.url
    );
    assert_refused(&side.copy(from, &other.url), 1, &has_store);

    fs::write(side.key_file(), format!("{:064x}\n", 7)).unwrap();
    let key = format!(
        "{} is not the server key of what is copied; move it away, or name another file",
        text(&side.key_file())
    );
    assert_refused(&side.copy(from, url), 1, &key);
    assert_eq!(
        side.database.ask("SELECT to_regclass('siteconf.format')"),
        [""]
    );
    fs::remove_file(side.key_file()).unwrap();
    let nowhere = side.key_file().with_file_name("none");
    let no_folder = run(&[
        "copy",
        "--from",
        from,
        "--to",
        url,
        "--server-key-file",
        text(&nowhere.join("server-key")),
    ]);
    let said = format!(
        "{}: there is no folder for the file of the server key; make it first",
        text(&nowhere)
    );
    assert_refused(&no_folder, 1, &said);
    assert_eq!(
        side.database.ask("SELECT to_regclass('siteconf.format')"),
        [""]
    );

    // Without a bucket there is no place for large files; with one the same goes on.
    let no_bucket = run(&[
        "copy",
        "--from",
        from,
        "--to",
        url,
        "--server-key-file",
        text(&side.key_file()),
    ]);
    let said = format!(
        "{url}: there is no place for files of more than 65536 bytes: give blobs, a bucket for them; what \
         was copied is kept; run the same again"
    );
    assert_refused(&no_bucket, 1, &said);

    // What was begun is of this store alone.
    let another = own_folder();
    let mut daemon = Daemon::start_at(
        Place::Folder(another.path().join("data")),
        own_folder(),
        &[],
    );
    daemon.user("bob", &[]);
    daemon.stop();
    let begun = format!(
        "{url}: the database cannot be used: it holds the beginning of a copy of another store; make the \
         database anew"
    );
    let theirs = another.path().join("data");
    assert_refused(&side.copy(text(&theirs), url), 1, &begun);
    report(&side.copy(from, url));
    let has_store = format!(
        "{url}: the database cannot be used: it has a store; a copy goes into a database without one"
    );
    assert_refused(&side.copy(from, url), 1, &has_store);
    assert_eq!(Contents::of_database(&side), Contents::of_folder(&data));
}

#[test]
fn a_bucket_that_is_not_that_of_what_is_copied_is_told_at_once() {
    let (mut world, side, other) = (World::new(), Side::new(), Side::new());
    world.daemon.stop();
    let url = side.database.url.as_str();
    report(&side.copy(text(&world.data()), url));
    fs::copy(side.key_file(), other.key_file()).unwrap();
    let back = world.folder.path().join("back");
    let refused = |reason: &str| {
        let bucket = other.bucket.access().url;
        let said = format!("{bucket}: the bucket of large files cannot be used: {reason}");
        assert_refused(&other.copy(url, text(&back)), 1, &said);
        assert!(!back.exists());
    };
    let id = side
        .database
        .ask("SELECT store_id FROM siteconf.format")
        .remove(0);
    let bucket = other.bucket.access().url.to_string();
    let prefix = bucket.split(['/', '?']).nth(3).unwrap();
    refused(&format!(
        "the large files of the store do not lie there; see that blobs is as before. Where they are lost, or were \
         brought back without it, put a file {prefix}/siteconf-store there with just this in it: {id}. What is missing \
         is damaged then, and the rest is served"
    ));
    other.bucket.plant("siteconf-store");
    refused("the large files of another store lie there; see that blobs is as before");
}

#[test]
fn a_bit_that_flipped_is_told_and_no_copy_is_a_store_with_it() {
    let (mut world, side) = (World::new(), Side::new());
    world.daemon.stop();
    let (data, whole) = (world.data(), Contents::of_folder(&world.data()));
    let (from, url) = (text(&data), side.database.url.as_str());
    let database = data.join("store.db");
    let flip = |sql: &str| {
        let db = Connection::open(&database).unwrap();
        assert_eq!(db.execute(sql, []).unwrap(), 1);
    };
    let small = "(SELECT min(seq) FROM object WHERE kind = 1 AND bytes IS NOT NULL)";
    let chosen = {
        let db = Connection::open(&database).unwrap();
        let id: Vec<u8> = db
            .query_one(
                &format!("SELECT id FROM object WHERE seq = {small}"),
                [],
                |row| row.get(0),
            )
            .unwrap();
        hex::encode(id)
    };
    let change = |column: &str| {
        flip(&format!(
            "UPDATE object SET {column} = CAST(x'21' || substr({column}, 2) AS BLOB) WHERE seq = {small}"
        ));
    };
    let kept = |column: &str| -> Vec<u8> {
        let db = Connection::open(&database).unwrap();
        let sql = format!("SELECT {column} FROM object WHERE seq = {small}");
        db.query_one(&sql, [], |row| row.get(0)).unwrap()
    };
    let put_back = |column: &str, bytes: &[u8]| {
        let db = Connection::open(&database).unwrap();
        let sql = format!("UPDATE object SET {column} = ?1 WHERE seq = {small}");
        db.execute(&sql, [bytes]).unwrap();
    };
    // What is there already was held against its id before, so each has a place of its own.
    let damaged = |side: &Side, sentence: &str| {
        let output = side.copy(from, &side.database.url);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let end = "1 objects of what is copied are damaged, and the copy is no store without them; mend \
                   them there, and run the same again\n";
        assert!(said.contains(sentence) && said.ends_with(end), "{said}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert_eq!(
            side.database.ask("SELECT state FROM siteconf.format"),
            ["copying"]
        );
    };
    for (column, sentence) in [
        ("bytes", "is damaged: its row holds other bytes"),
        ("sha256", "is damaged: its row says another SHA-256"),
    ] {
        let before = kept(column);
        change(column);
        damaged(&Side::new(), &format!("{chosen} {sentence}"));
        put_back(column, &before);
    }

    // Of a large file, in the middle.
    let large = noise_file(&data);
    let mut bytes = fs::read(&large).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&large, &bytes).unwrap();
    damaged(&side, "is damaged: its file holds other bytes");
    bytes[middle] ^= 1;
    fs::write(&large, &bytes).unwrap();

    report(&side.copy(from, url));
    assert_eq!(Contents::of_database(&side), whole);

    // And in the database, and in the bucket.
    let other = |name: &str, wrong: &str| {
        let back = world.folder.path().join(name);
        let output = side.copy(url, text(&back));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(wrong), "{said}");
        assert!(!back.join("FORMAT").exists());
        back
    };
    let flip = format!(
        "UPDATE siteconf.object SET bytes = set_byte(bytes, 0, get_byte(bytes, 0) # 1)
         WHERE id = '\\x{chosen}'"
    );
    side.database.ask(&flip);
    other(
        "one",
        &format!("{chosen} is damaged: its row holds other bytes"),
    );
    side.database.ask(&flip);
    let files = side.bucket.files();
    let file = files
        .iter()
        .max_by_key(|file| fs::metadata(file).unwrap().len())
        .unwrap();
    let mut bytes = fs::read(file).unwrap();
    bytes[middle] ^= 1;
    fs::write(file, &bytes).unwrap();
    let back = other("two", "is damaged: its file holds other bytes");
    bytes[middle] ^= 1;
    fs::write(file, &bytes).unwrap();
    report(&side.copy(url, text(&back)));
    assert_eq!(Contents::of_folder(&back), whole);
}

/// The largest file of a store.
fn noise_file(data: &std::path::Path) -> std::path::PathBuf {
    let folders = fs::read_dir(data.join("blobs")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files
        .map(|file| file.unwrap().path())
        .max_by_key(|file| fs::metadata(file).unwrap().len())
        .unwrap()
}
