//! Where the store of a daemon lies: in its folder, or with `SITECONF_TEST_STORE=postgres` in a database of
//! its own.

#[cfg(feature = "fleet")]
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(feature = "fleet")]
use std::process::Command;
#[cfg(feature = "fleet")]
use std::sync::{Arc, OnceLock};

#[cfg(feature = "fleet")]
use super::bucket::{TestBucket, write_secret};
#[cfg(feature = "fleet")]
use super::server::{DAEMON_ROLE, Database};
#[cfg(feature = "fleet")]
use super::tested::binary;

/// A place for a store.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// This folder.
    Folder(PathBuf),
    /// A database, with the file of the server's key.
    #[cfg(feature = "fleet")]
    Database {
        /// The URL.
        url: String,
        key_file: PathBuf,
        /// The password of the first account.
        first_password: String,
        /// Where its large files lie, if it takes any.
        bucket: Option<TestBucket>,
        /// Kept for as long as anybody has its place.
        database: Arc<Database>,
    },
}

impl Place {
    /// The place of a new store that is chosen for all daemons, for one that has this folder.
    pub(crate) fn chosen(folder: &Path) -> Self {
        #[cfg(feature = "fleet")]
        if is_in_postgres() {
            return Self::in_copy(folder);
        }
        Self::Folder(folder.join("data"))
    }

    /// A store that was made before, and is copied.
    #[cfg(feature = "fleet")]
    fn in_copy(folder: &Path) -> Self {
        static MADE: OnceLock<(Place, Vec<u8>)> = OnceLock::new();
        let (made, key) = MADE.get_or_init(|| {
            let key_file = folder.join("made-server-key");
            let bucket = Some(TestBucket::new());
            let made = Self::in_database(Database::without_store(), key_file.clone(), bucket);
            (made, fs::read(key_file).expect("it was made"))
        });
        let mut copy = made.clone();
        if let Self::Database {
            url,
            key_file,
            bucket,
            database,
            ..
        } = &mut copy
        {
            *database = Arc::new(database.copy());
            *url = database.url_of_daemon();
            *key_file = folder.join("server-key");
            *bucket = Some(TestBucket::new());
            TestBucket::write_keys(&keys_beside(key_file));
            write_secret(key_file, key);
        }
        copy
    }

    /// Makes a store in a database that has none, and the file of its key. It is served by the role of daemons.
    #[cfg(feature = "fleet")]
    pub(crate) fn in_database(
        database: Database,
        key_file: PathBuf,
        bucket: Option<TestBucket>,
    ) -> Self {
        let url = database.url.clone();
        if bucket.is_some() {
            TestBucket::write_keys(&keys_beside(&key_file));
        }
        let made = Command::new(binary())
            .args(["init", "--daemon-role", DAEMON_ROLE])
            .args(flags_of(&url, &key_file, bucket.as_ref()))
            .output()
            .expect("the binary runs");
        assert!(made.status.success(), "{made:?}");
        let said = String::from_utf8(made.stdout).expect("it is text");
        let first_password = said
            .lines()
            .find_map(|line| line.strip_prefix("user admin, password "));
        let first_password = first_password.expect("it is said").to_owned();
        Self::Database {
            url: database.url_of_daemon(),
            key_file,
            first_password,
            bucket,
            database: Arc::new(database),
        }
    }

    /// The flags that name it to a command.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        match self {
            Self::Folder(data) => vec!["--data".into(), data.into()],
            #[cfg(feature = "fleet")]
            Self::Database {
                url,
                key_file,
                bucket,
                ..
            } => flags_of(url, key_file, bucket.as_ref()),
        }
    }

    /// The password that was chosen for `admin`.
    pub(crate) fn first_password(&self) -> String {
        match self {
            Self::Folder(data) => {
                let file = data.join("secrets/initial-password");
                let text = fs::read_to_string(file).expect("the first start leaves a password");
                text.trim_end().to_owned()
            }
            #[cfg(feature = "fleet")]
            Self::Database { first_password, .. } => first_password.clone(),
        }
    }
}

#[cfg(feature = "fleet")]
fn flags_of(url: &str, key_file: &Path, bucket: Option<&TestBucket>) -> Vec<OsString> {
    let mut flags: Vec<OsString> = vec![
        "--store".into(),
        url.into(),
        "--server-key-file".into(),
        key_file.into(),
    ];
    if let Some(bucket) = bucket {
        flags.extend([
            "--blobs".into(),
            bucket.url().into(),
            "--s3-credentials-file".into(),
            keys_beside(key_file).into(),
        ]);
    }
    flags
}

/// The file of the keys for the bucket.
#[cfg(feature = "fleet")]
fn keys_beside(key_file: &Path) -> PathBuf {
    key_file.with_file_name("s3-keys")
}

#[cfg(feature = "fleet")]
fn is_in_postgres() -> bool {
    match env::var_os("SITECONF_TEST_STORE") {
        None => false,
        Some(name) if name == "postgres" => true,
        Some(other) => panic!(
            "SITECONF_TEST_STORE is {}; it can be postgres",
            other.display()
        ),
    }
}
