//! Files with secrets that everybody on the machine may read: told, and used all the same. A group that may read one is
//! usual, as that of a unit, or of several services with one certificate.

use std::fmt;
use std::fs;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Settings;
use crate::store::engine::StoreAddress;

/// Others than the owner and the group may read.
const READABLE_BY_OTHERS: u32 = 0o004;
/// What the units have their variables from. The package brings it so that everybody may read it.
const VARIABLES_FILE: &str = "/etc/default/siteconf";
/// So much of it is looked at: who has more in it than some lines has made another file of it.
const VARIABLES_BYTES_MAX: u64 = 64 << 10;

/// A file with a secret that everybody may read.
pub(in crate::cli) struct Exposed {
    file: PathBuf,
    secret: &'static str,
    remedy: &'static str,
}

impl Exposed {
    /// Looks whether everybody may read this file, which holds this secret.
    pub(in crate::cli) fn find(file: &Path, secret: &'static str) -> Option<Self> {
        let found = fs::metadata(file).ok()?;
        is_exposed(&found).then(|| Self {
            file: file.to_owned(),
            secret,
            remedy: "chmod o= it",
        })
    }

    /// Looks whether everybody may read this file of variables, and a line of it sets this one, which holds this
    /// secret.
    fn find_line(file: &Path, variable: &str, secret: &'static str) -> Option<Self> {
        let found = fs::metadata(file).ok()?;
        // What is none is not opened, either: a pipe would be waited for.
        if !found.is_file() || !is_exposed(&found) {
            return None;
        }
        let mut text = Vec::new();
        let opened = File::open(file).ok()?;
        opened
            .take(VARIABLES_BYTES_MAX)
            .read_to_end(&mut text)
            .ok()?;
        let mut lines = text.split(|byte| *byte == b'\n');
        lines.any(|line| sets(line, variable)).then(|| Self {
            file: file.to_owned(),
            secret,
            // Commands that run as the user of the service read it as well.
            remedy: "chgrp siteconf it and chmod 640 it",
        })
    }

    /// Tells the log.
    pub(in crate::cli) fn warn(&self) {
        tracing::warn!(file = %self.file.display(), "{self}");
    }

    /// The file.
    pub(in crate::cli) fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret, remedy, .. } = self;
        write!(f, "everybody on this machine may read {secret}: {remedy}")
    }
}

fn is_exposed(found: &Metadata) -> bool {
    found.mode() & READABLE_BY_OTHERS != 0
}

/// True if a line gives a variable a value, as a unit or a shell reads it.
fn sets(line: &[u8], variable: &str) -> bool {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"export ").unwrap_or(line).trim_ascii();
    let rest = line.strip_prefix(variable.as_bytes());
    rest.is_some_and(|rest| rest.len() > 1 && rest[0] == b'=')
}

/// Those of the files with secrets for the store that the settings name, or that their variables come from.
pub(in crate::cli) fn exposed_for_store(settings: &Settings) -> Vec<Exposed> {
    exposed_with(settings, Path::new(VARIABLES_FILE))
}

/// The same with this file of variables.
fn exposed_with(settings: &Settings, variables: &Path) -> Vec<Exposed> {
    let StoreAddress::Postgres(url) = &*settings.store else {
        // A folder has its own, and is its owner's alone.
        return Vec::new();
    };
    let given = settings.store.file().filter(|_| url.has_password());
    let own = url.certificate().map(|certificate| &*certificate.key);
    let files = [
        (given, "the password in store"),
        (
            Some(&*settings.postgres_password_file),
            "the password for the database",
        ),
        (own, "the key for the database (sslkey)"),
        (Some(&*settings.server_key_file), "the server key"),
        (
            Some(&*settings.s3_credentials_file),
            "the keys for the bucket",
        ),
    ];
    let files = files.into_iter();
    let mut found: Vec<_> = files
        .filter_map(|(file, secret)| Exposed::find(file?, secret))
        .collect();
    if url.has_password() && settings.store.is_of_variable() {
        let secret = "the password in SITECONF_STORE";
        found.extend(Exposed::find_line(variables, "SITECONF_STORE", secret));
    }
    if settings.blobs.is_some() && settings.s3_credentials_file.as_os_str().is_empty() {
        let secret = "the keys for the bucket";
        found.extend(Exposed::find_line(
            variables,
            "AWS_SECRET_ACCESS_KEY",
            secret,
        ));
    }
    found
}

#[cfg(test)]
#[cfg(feature = "fleet")]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::slice;

    use super::*;
    use crate::cli::settings::flags::Flags;
    use crate::cli::settings::given::{Given, Source};
    use crate::cli::settings::table::SETTINGS;

    const URL: &str = "postgres://siteconf:pass@localhost/siteconf";
    const BUCKET: &str = "s3://shop?region=eu-1";

    /// What is found of a file of variables, where these settings come from there.
    fn found(variables: &Path, given: &[(&str, Source, &str)]) -> Vec<String> {
        let given = given.iter().map(|(name, source, value)| {
            let setting = SETTINGS.iter().find(|setting| setting.name == *name);
            Given::plain(setting.unwrap(), source.clone(), vec![value.into()])
        });
        let given: Vec<_> = given.collect();
        let settings = Settings::gather(Flags::default(), &given).unwrap();
        let found = exposed_with(&settings, variables);
        assert!(found.iter().all(|exposed| exposed.file() == variables));
        found.iter().map(Exposed::to_string).collect()
    }

    #[test]
    fn a_file_of_variables_that_everybody_may_read_is_told_if_a_secret_comes_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("siteconf");
        let lay = |text: &str, mode: u32| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        };
        let store = ("store", Source::Variable, URL);
        let bucket = ("blobs", Source::Variable, BUCKET);
        let remedy = "chgrp siteconf it and chmod 640 it";
        let everybody = "everybody on this machine may read";
        let of_store = format!("{everybody} the password in SITECONF_STORE: {remedy}");
        let of_bucket = format!("{everybody} the keys for the bucket: {remedy}");
        let line = format!("SITECONF_STORE='{URL}'");
        let told = || found(&file, slice::from_ref(&store));

        assert!(told().is_empty(), "there is none");
        for text in [
            line.clone(),
            format!("# mine\n  export {line}\nSITECONF_LISTEN=none\n"),
        ] {
            lay(&text, 0o644);
            assert_eq!(told(), [&*of_store], "{text}");
            for mode in [0o640, 0o600] {
                lay(&text, mode);
                assert!(told().is_empty(), "{mode:o}");
            }
        }
        lay(&line, 0o644);
        for (source, url) in [
            (Source::Flag, URL),
            (Source::Variable, "postgres://siteconf@localhost/siteconf"),
        ] {
            assert!(found(&file, &[("store", source, url)]).is_empty(), "{url}");
        }
        for text in [
            format!("#{line}\n"),
            "SITECONF_STORE=\nSITECONF_STORES=x\n".to_owned(),
        ] {
            lay(&text, 0o644);
            assert!(told().is_empty(), "{text}");
        }

        lay(&format!("{line}\nAWS_SECRET_ACCESS_KEY=b\n"), 0o644);
        let both = [store.clone(), bucket.clone()];
        assert_eq!(found(&file, &both), [&*of_store, &*of_bucket]);
        // Here the keys are another file's.
        let keys = ("s3_credentials_file", Source::Variable, "/nowhere");
        let all = [store.clone(), bucket, keys];
        assert_eq!(found(&file, &all), [&*of_store]);
    }
}
