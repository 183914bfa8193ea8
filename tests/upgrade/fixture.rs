//! Folders that binaries of earlier times made, unpacked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use serde_json::Value;
use siteconf::base::digest::record_checksum;
use walkdir::WalkDir;

use crate::binary::Siteconf;
use crate::seen;

/// The earlier formats.
pub(crate) const FORMATS: [u32; 2] = [1, 2];

/// A record: version, key, value, checksum.
pub(crate) type Record = (i64, String, Vec<u8>, Option<Vec<u8>>);

/// A folder of an earlier format, and what was seen of it when it was made.
#[derive(Debug)]
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    expected: Value,
}

impl Fixture {
    /// Unpacks that of a format.
    pub(crate) fn of(format: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/upgrade/format-{format}.tar.gz"));
        tar::Archive::new(GzDecoder::new(File::open(packed).unwrap()))
            .unpack(folder.path())
            .unwrap();
        let expected = fs::read(folder.path().join("expected.json")).unwrap();
        let fixture = Self {
            expected: serde_json::from_slice(&expected).unwrap(),
            folder,
        };
        assert_eq!(fixture.format(), format!("siteconf {format}\n"));
        fixture
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// A place beside it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Today's binary on it.
    pub(crate) fn siteconf(&self) -> Siteconf {
        Siteconf::on(&self.data())
    }

    /// What FORMAT says.
    pub(crate) fn format(&self) -> String {
        fs::read_to_string(self.data().join("FORMAT")).unwrap()
    }

    /// The database.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.data().join("store.db")).unwrap()
    }

    /// Adds records, as a service of the time that was killed leaves them: in the log.
    pub(crate) fn add_records(&self, count: u32) {
        let db = self.database();
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .unwrap();
        db.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        let last = "SELECT max(version) FROM record";
        let last: u64 = db.query_row(last, [], |row| row.get(0)).unwrap();
        db.execute_batch("BEGIN").unwrap();
        for number in 1..=count {
            let (key, value) = (format!("added/{number:08}"), format!("[{number}]"));
            let version = last + 1000 + u64::from(number);
            db.prepare_cached("INSERT INTO record (version, key, value) VALUES (?1, ?2, ?3)")
                .unwrap()
                .execute(params![version, key, value.as_bytes()])
                .unwrap();
            if self.format() != "siteconf 1\n" {
                let checksum = record_checksum(&key, version, value.as_bytes());
                db.prepare_cached("UPDATE record SET checksum = ?2 WHERE version = ?1")
                    .unwrap()
                    .execute(params![version, checksum])
                    .unwrap();
            }
        }
        db.execute_batch("COMMIT").unwrap();
    }

    /// Every record but those of the audit log.
    pub(crate) fn records(&self) -> Vec<Record> {
        let db = self.database();
        let mut list = db
            .prepare(
                "SELECT version, key, value, checksum FROM record WHERE key NOT LIKE 'audit/%'
                 ORDER BY version",
            )
            .unwrap();
        let rows = list
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Every name below the data folder, with the bytes of the files.
    pub(crate) fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = WalkDir::new(self.data()).into_iter().map(Result::unwrap);
        entries
            .map(|entry| {
                let bytes = if entry.file_type().is_file() {
                    fs::read(entry.path()).unwrap()
                } else {
                    Vec::new()
                };
                (entry.into_path(), bytes)
            })
            .collect()
    }

    /// Looks whether a store, here or made of this one, shows all that it showed then.
    #[track_caller]
    pub(crate) fn assert_kept_by(&self, siteconf: &Siteconf) {
        let now = seen::all(siteconf, &self.expected["tokens"]);
        seen::assert_kept(&self.expected["seen"], &now);
    }
}
