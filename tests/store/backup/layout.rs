//! The example of a backup in `objects-layout.md`.

use super::*;

/// A fenced block of the document.
fn block(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("objects-layout.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("\n```{name}\n")).unwrap();
    rest.split_once("```\n").unwrap().0.to_owned()
}

#[test]
fn a_backup_is_as_the_document_says() {
    let room = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_locked(&room.path().join("data")).unwrap();
    store
        .commit(of_write("counter/project", Expect::Absent, Some("3")))
        .unwrap();
    let key = format!("{}\n", "0".repeat(64));
    fs::write(room.path().join("data/secrets/server-key"), key).unwrap();
    let scene = Scene { room, store };
    scene.back_up(scene.folder());
    let manifest = fs::read_to_string(scene.path("backup/MANIFEST")).unwrap();
    assert_eq!(manifest, block("backup-manifest"));
    let rows = manifest
        .lines()
        .find_map(|line| line.split_once(" records/"));
    let rows = fs::read(scene.path("backup/records").join(rows.unwrap().1)).unwrap();
    let digits: String = block("hex backup-records")
        .lines()
        .filter_map(|line| line.split("  ").next())
        .flat_map(|line| line.chars().filter(|c| *c != ' '))
        .collect();
    assert_eq!(hex::encode(rows), digits);
    assert_eq!(
        fs::read_to_string(scene.path("backup/FORMAT")).unwrap(),
        "siteconf-backup 1\n"
    );
}

#[test]
fn every_table_is_in_a_backup_or_is_made_anew() {
    let scene = Scene::new();
    let db = Connection::open(scene.path("data/store.db")).unwrap();
    let mut list = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .unwrap();
    let tables = list.query_map([], |row| row.get(0)).unwrap();
    let tables: Vec<String> = tables.map(Result::unwrap).collect();
    // What a table beyond these holds is lost until a backup knows it.
    let (copied, made) = (
        ["object", "outboard", "record", "tombstone"],
        ["collection", "indexed", "object_index", "touched"],
    );
    let mut known = [copied, made].concat();
    known.sort_unstable();
    assert_eq!(tables, known);
}
