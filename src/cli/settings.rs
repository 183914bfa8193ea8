//! Settings: flag over environment over file over default.

use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;

use super::args::{Common, ServeFlags};
use super::limits::{self, GivenLimits};
use super::{Error, Result};
use crate::access::SessionLifetimes;
use crate::base::limits::{ARCHIVE_BYTES_MAX_DEFAULT, FILE_BYTES_MAX_DEFAULT, SHUTDOWN_S_DEFAULT};
use crate::http::{Limits, Network};

const DATA: &str = "./siteconf-data";
const LISTEN: &str = "127.0.0.1:8080";
/// A file of settings has some ten lines; what is longer is another file.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// What the service and the commands go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The folder of the store.
    pub(super) data: PathBuf,
    /// Address and port to listen on.
    pub(super) listen: String,
    /// Where clients reach the service, without a slash at its end, if not at `listen`.
    pub(super) external_url: Option<String>,
    /// Further names of the service.
    pub(super) hosts: Vec<String>,
    /// True to serve the Read API at `/api/v4` too.
    pub(super) root_mount: bool,
    /// Proxies that are believed what they tell of a client's request.
    pub(super) trusted_proxies: Vec<Network>,
    /// Largest sum of the files of an archive, in bytes.
    pub(super) archive_bytes_max: u64,
    /// Largest body of one file, in bytes.
    pub(super) file_bytes_max: u64,
    /// How long a session counts.
    pub(super) sessions: SessionLifetimes,
    /// How long a stop waits for what is in flight, in seconds.
    pub(super) shutdown_s: u64,
    /// What clients may take of the service.
    pub(super) limits: Limits,
    /// What is logged, if anything was said about it.
    pub(super) log: Option<String>,
}

/// A file of settings. The names are those of [`Settings`]; another name is refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    data: Option<PathBuf>,
    listen: Option<String>,
    external_url: Option<String>,
    hosts: Option<Vec<String>>,
    root_mount: Option<bool>,
    trusted_proxies: Option<Vec<String>>,
    archive_bytes_max: Option<u64>,
    file_bytes_max: Option<u64>,
    session_absolute_s: Option<u64>,
    session_idle_s: Option<u64>,
    shutdown_s: Option<u64>,
    #[serde(default)]
    limits: GivenLimits,
    log: Option<String>,
}

impl Settings {
    /// Puts together what was said where. Flags and environment come merged, by clap.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file that cannot be read or has an unknown or malformed setting, and for
    /// a value that cannot be.
    pub(super) fn gather(common: Common, flags: ServeFlags) -> Result<Self> {
        let file = match &common.config {
            Some(path) => Written::read(path)?,
            None => Written::default(),
        };
        let usual = SessionLifetimes::default();
        let settings = Self {
            data: common.data.or(file.data).unwrap_or_else(|| DATA.into()),
            listen: flags
                .listen
                .or(file.listen)
                .unwrap_or_else(|| LISTEN.into()),
            external_url: flags.external_url.or(file.external_url).map(without_slash),
            hosts: flags.hosts.or(file.hosts).unwrap_or_default(),
            root_mount: flags.root_mount.or(file.root_mount).unwrap_or(false),
            trusted_proxies: match (flags.trusted_proxies, file.trusted_proxies) {
                (Some(given), _) => given,
                (None, Some(written)) => networks(&written)?,
                (None, None) => Vec::new(),
            },
            archive_bytes_max: flags
                .archive_bytes_max
                .or(file.archive_bytes_max)
                .unwrap_or(ARCHIVE_BYTES_MAX_DEFAULT),
            file_bytes_max: flags
                .file_bytes_max
                .or(file.file_bytes_max)
                .unwrap_or(FILE_BYTES_MAX_DEFAULT),
            sessions: SessionLifetimes {
                absolute_s: flags
                    .session_absolute_s
                    .or(file.session_absolute_s)
                    .unwrap_or(usual.absolute_s),
                idle_s: flags
                    .session_idle_s
                    .or(file.session_idle_s)
                    .unwrap_or(usual.idle_s),
            },
            shutdown_s: flags
                .shutdown_s
                .or(file.shutdown_s)
                .unwrap_or(SHUTDOWN_S_DEFAULT),
            limits: flags.limits.or(&file.limits),
            log: common.log.or(file.log),
        };
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::Usage(reason.to_owned()));
        if let Some(url) = &self.external_url
            && !is_base_url(url)
        {
            return refuse(
                "external_url must be http:// or https:// and a host, and a port if need be, nothing more",
            );
        }
        if let Some(host) = self.hosts.iter().find(|host| !is_host(host)) {
            return refuse(&format!(
                "hosts: \"{host}\" must be a name or an address, as in conf.example"
            ));
        }
        if self.sessions.absolute_s == 0 || self.sessions.idle_s == 0 {
            return refuse("session_absolute_s and session_idle_s must be at least 1");
        }
        if let Some(name) = limits::zero(&self.limits) {
            return refuse(&format!("limits.{name} must be at least 1"));
        }
        Ok(())
    }
}

impl Written {
    fn read(path: &Path) -> Result<Self> {
        let refuse = |reason: &str| Error::Usage(format!("{}: {reason}", path.display()));
        // Without waiting: a pipe would, for somebody who writes into it.
        let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(nonblock)
            .open(path);
        let unreadable = |e: io::Error| refuse(&format!("it cannot be read: {e}"));
        let file = opened.map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(refuse("a file of settings must be a regular file"));
        }
        let mut text = String::new();
        let mut bounded = file.take(FILE_BYTES_MAX + 1);
        bounded.read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(refuse(&format!(
                "it is longer than {FILE_BYTES_MAX} bytes, too long for a file of settings"
            )));
        }
        toml::from_str(&text).map_err(|e| {
            let reason = format!("{}: {}", path.display(), e.to_string().trim_end());
            Error::Usage(reason)
        })
    }
}

fn networks(written: &[String]) -> Result<Vec<Network>> {
    let network = |text: &String| {
        let malformed = |e| Error::Usage(format!("trusted_proxies: \"{text}\": {e}"));
        text.parse().map_err(malformed)
    };
    written.iter().map(network).collect()
}

fn without_slash(mut url: String) -> String {
    if url.ends_with('/') {
        url.pop();
    }
    url
}

fn is_host(host: &str) -> bool {
    !host.is_empty() && is_base_url(&format!("http://{host}"))
}

fn is_base_url(url: &str) -> bool {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with(':')
            && rest.bytes().all(|b| b.is_ascii_graphic())
            && !rest.contains(['/', '?', '#', '"', '<', '>', '\\', '@'])
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn written(text: &str) -> (tempfile::TempDir, Common) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("siteconf.toml");
        fs::write(&path, text).unwrap();
        let common = Common {
            config: Some(path),
            ..Common::default()
        };
        (dir, common)
    }

    fn refusal(text: &str) -> String {
        let (_dir, common) = written(text);
        let path = common.config.clone().unwrap().display().to_string();
        let error = Settings::gather(common, ServeFlags::default()).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error:?}");
        error.to_string().replace(&path, "FILE")
    }

    #[test]
    fn without_a_word_the_defaults_hold() {
        let settings = Settings::gather(Common::default(), ServeFlags::default()).unwrap();
        assert_eq!(
            settings,
            Settings {
                data: "./siteconf-data".into(),
                listen: "127.0.0.1:8080".into(),
                external_url: None,
                hosts: vec![],
                root_mount: false,
                trusted_proxies: vec![],
                archive_bytes_max: 10 << 30,
                file_bytes_max: 5 << 30,
                sessions: SessionLifetimes {
                    absolute_s: 43_200,
                    idle_s: 3600,
                },
                shutdown_s: 30,
                limits: Limits::default(),
                log: None,
            }
        );
    }

    #[test]
    fn the_file_gives_way_to_flags() {
        let (_dir, mut common) = written(
            "data = \"/srv/a\"\nlisten = \"[::]:80\"\nexternal_url = \"https://conf.example/\"\n\
             hosts = [\"conf.inner\"]\n\
             root_mount = true\ntrusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n\
             archive_bytes_max = 12\nfile_bytes_max = 10\nsession_absolute_s = 20\nsession_idle_s = 30\n\
             shutdown_s = 40\nlog = \"debug\"\nlimits.connections_max = 7\n",
        );
        common.data = Some("/srv/b".into());
        let flags = ServeFlags {
            file_bytes_max: Some(11),
            ..ServeFlags::default()
        };
        assert_eq!(
            Settings::gather(common, flags).unwrap(),
            Settings {
                data: "/srv/b".into(),
                listen: "[::]:80".into(),
                external_url: Some("https://conf.example".into()),
                hosts: vec!["conf.inner".into()],
                root_mount: true,
                trusted_proxies: vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()],
                archive_bytes_max: 12,
                file_bytes_max: 11,
                sessions: SessionLifetimes {
                    absolute_s: 20,
                    idle_s: 30,
                },
                shutdown_s: 40,
                limits: Limits {
                    connections_max: 7,
                    ..Limits::default()
                },
                log: Some("debug".into()),
            }
        );
    }

    #[test]
    fn only_a_small_regular_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::write(at("longest"), "#".repeat(64 << 10)).unwrap();
        fs::write(at("huge"), "#".repeat((64 << 10) + 1)).unwrap();
        fs::write(at("binary"), [0xff]).unwrap();
        let read = |path: PathBuf| {
            let common = Common {
                config: Some(path),
                ..Common::default()
            };
            Settings::gather(common, ServeFlags::default())
        };
        let irregular = "a file of settings must be a regular file";
        for (path, reason) in [
            (at("pipe"), irregular),
            ("/dev/zero".into(), irregular),
            (at(""), irregular),
            (
                at("huge"),
                "it is longer than 65536 bytes, too long for a file of settings",
            ),
            (
                at("absent"),
                "it cannot be read: No such file or directory (os error 2)",
            ),
            (
                at("binary"),
                "it cannot be read: stream did not contain valid UTF-8",
            ),
        ] {
            let refused = read(path.clone()).unwrap_err();
            assert!(matches!(refused, Error::Usage(_)), "{refused:?}");
            assert_eq!(refused.to_string(), format!("{}: {reason}", path.display()));
        }
        read(at("longest")).unwrap();
    }

    #[test]
    fn an_unknown_or_malformed_setting_is_named() {
        let unknown = refusal("listen = \"[::]:80\"\nlisten_on = 1\n");
        assert!(unknown.starts_with("FILE: "), "{unknown}");
        assert!(unknown.contains("unknown field `listen_on`"), "{unknown}");
        assert!(unknown.contains("line 2"), "{unknown}");
        let malformed = refusal("root_mount = \"yes\"\n");
        assert!(malformed.contains("line 1"), "{malformed}");
        assert!(malformed.contains("expected a boolean"), "{malformed}");
        for url in [
            "conf.example",
            "ftp://x",
            "https://",
            "https:///x",
            "http://a?b",
            "https://a/b",
        ] {
            assert_eq!(
                refusal(&format!("external_url = \"{url}\"")),
                "external_url must be http:// or https:// and a host, and a port if need be, nothing more"
            );
        }
        assert_eq!(
            refusal("trusted_proxies = [\"::1\", \"proxy\"]"),
            "trusted_proxies: \"proxy\": it must be an address, or an address, a slash and a number of \
             bits, as in 10.0.0.0/8"
        );
        assert_eq!(
            refusal("hosts = [\"https://conf.example\"]"),
            "hosts: \"https://conf.example\" must be a name or an address, as in conf.example"
        );
        assert_eq!(
            refusal("session_idle_s = 0"),
            "session_absolute_s and session_idle_s must be at least 1"
        );
        assert_eq!(
            refusal("limits.logins_at_once_max = 0"),
            "limits.logins_at_once_max must be at least 1"
        );
        let unknown = refusal("[limits]\nlogins_max = 1");
        assert!(unknown.contains("unknown field `logins_max`"), "{unknown}");
    }
}
