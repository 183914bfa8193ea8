//! Settings: flag over environment over file over default. [`table`] has them all; here they become
//! values. A value that cannot be is refused with its name and where it came from.

mod file;
mod flags;
mod given;
mod log_format;
mod table;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

use super::Result;
use crate::access::SessionLifetimes;
use crate::http::{AccessLog, Limits, Network};
use crate::repo::Retention;
pub(super) use flags::Flags;
pub(super) use given::Told;
use given::{Given, Source};
pub(super) use log_format::LogFormat;
use table::SETTINGS;
pub(super) use table::{EVERYWHERE, GC, IMPORT, LIST, PRUNE, SERVE};

/// What the service and the commands go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The folder of the store.
    pub(super) data: PathBuf,
    /// Address and port to listen on for plain HTTP, or `none`.
    pub(super) listen: Told<String>,
    /// Address and port to listen on for TLS; empty for none.
    pub(super) tls_listen: Told<String>,
    /// File of the certificate; empty without TLS.
    pub(super) tls_cert: Told<PathBuf>,
    /// File of its key; empty without TLS.
    pub(super) tls_key: Told<PathBuf>,
    /// Path of the Unix socket to listen on; empty for none.
    pub(super) unix_listen: Told<PathBuf>,
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
    /// How long what is deleted can be restored, in days.
    pub(super) keep_deleted_days: u64,
    /// Which snapshots stay when a project that has no rule of its own is pruned.
    pub(super) keep: Retention,
    /// How long a session counts.
    pub(super) sessions: SessionLifetimes,
    /// How long a stop waits for what is in flight, in seconds.
    pub(super) shutdown_s: u64,
    /// What clients may take of the service.
    pub(super) limits: Limits,
    /// How long the audit log keeps what it tells, in days; 0 keeps all.
    pub(super) audit_keep_days: u64,
    /// Room on the disk of the store below which the service is not ready, in bytes.
    pub(super) disk_low_bytes: u64,
    /// Address and port of the listener for metrics; empty for none.
    pub(super) metrics_listen: Told<String>,
    /// Which requests are logged.
    pub(super) access_log: AccessLog,
    /// How the service writes its log.
    pub(super) log_format: LogFormat,
    /// Where the service writes its log; an empty path is standard error.
    pub(super) log_file: Told<PathBuf>,
    /// What is logged; empty if nothing was said about it.
    pub(super) log: Told<String>,
}

impl Settings {
    /// Puts together what was said where: by the flags that every command has and by the command's own,
    /// each with its variable, and in the file.
    ///
    /// # Errors
    /// [`Error::Usage`](super::Error::Usage) for a file that cannot be read or has an unknown setting,
    /// and for a value that cannot be.
    pub(super) fn gather<const COMMAND: u8>(
        everywhere: Flags<EVERYWHERE>,
        command: Flags<COMMAND>,
    ) -> Result<Self> {
        let mut all = All(everywhere.0);
        all.0.extend(command.0);
        let config = all.get(table::CONFIG);
        if config.source != Source::Default {
            all.0.extend(file::read(&config.told(Given::path)?)?);
        }
        let (url, hosts, proxies) = (
            all.get("external_url"),
            all.get("hosts"),
            all.get("trusted_proxies"),
        );
        Ok(Self {
            data: all.get("data").path()?,
            listen: all.get("listen").told(Given::text)?,
            tls_listen: all.get("tls_listen").told(Given::text)?,
            tls_cert: all.get("tls_cert").told(Given::path)?,
            tls_key: all.get("tls_key").told(Given::path)?,
            unix_listen: all.get("unix_listen").told(Given::path)?,
            external_url: match url.source {
                Source::Default => None,
                _ => Some(base_url(&url)?),
            },
            hosts: each(&hosts, |host| {
                is_host(host)
                    .then(|| host.to_owned())
                    .ok_or("it must be a name or an address, as in conf.example")
            })?,
            root_mount: all.get("root_mount").bool()?,
            trusted_proxies: each(&proxies, str::parse)?,
            archive_bytes_max: all.get("archive_bytes_max").number()?,
            file_bytes_max: all.get("file_bytes_max").number()?,
            keep_deleted_days: all.get("keep_deleted_days").number()?,
            keep: Retention {
                snapshots: all.get("keep_snapshots").number()?,
                days: all.get("keep_days").number()?,
            },
            sessions: SessionLifetimes {
                absolute_s: all.get("session_absolute_s").number_from_1()?,
                idle_s: all.get("session_idle_s").number_from_1()?,
            },
            shutdown_s: all.get("shutdown_s").number()?,
            limits: limits(&all)?,
            audit_keep_days: all.get("audit_keep_days").number()?,
            disk_low_bytes: all.get("disk_low_bytes").number()?,
            metrics_listen: all.get("metrics_listen").told(Given::text)?,
            access_log: all.get("access_log").parsed()?,
            log_format: all.get("log_format").parsed()?,
            log_file: all.get("log_file").told(Given::path)?,
            log: all.get("log").told(Given::text)?,
        })
    }
}

/// Everything that was given, the stronger before the weaker.
struct All(Vec<Given>);

impl All {
    /// What holds for the setting of this name.
    fn get(&self, name: &str) -> Given {
        let given = self.0.iter().find(|given| given.setting.name == name);
        given.cloned().unwrap_or_else(|| {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            let setting = setting.expect("each setting that is read is in the table");
            Given::plain(setting, Source::Default, default_of(setting))
        })
    }
}

fn default_of(setting: &table::Setting) -> Vec<std::ffi::OsString> {
    if setting.default.is_empty() && setting.is_list() {
        return Vec::new();
    }
    vec![setting.default.into()]
}

fn limits(all: &All) -> Result<Limits> {
    let number = |name: &str| all.get(&format!("limits.{name}")).number();
    let from_1 = |name: &str| all.get(&format!("limits.{name}")).number_from_1();
    Ok(Limits {
        connections_max: from_1("connections_max")?,
        connections_address_max: number("connections_address_max")?,
        body_s_max: from_1("body_s_max")?,
        upload_grace_s: from_1("upload_grace_s")?,
        upload_bytes_s_min: number("upload_bytes_s_min")?,
        login_bytes_max: from_1("login_bytes_max")?,
        bodies_bytes_max: from_1("bodies_bytes_max")?,
        bodies_bytes_account_max: from_1("bodies_bytes_account_max")?,
        long_at_once_max: from_1("long_at_once_max")?,
        long_waiting_max: number("long_waiting_max")?,
        long_credential_max: from_1("long_credential_max")?,
        logins_at_once_max: from_1("logins_at_once_max")?,
        logins_waiting_max: number("logins_waiting_max")?,
        logins_waiting_address_max: from_1("logins_waiting_address_max")?,
        wrong_logins_minute_max: number("wrong_logins_minute_max")?,
        wrong_logins_minute_address_max: number("wrong_logins_minute_address_max")?,
        wrong_logins_minute_account_max: number("wrong_logins_minute_account_max")?,
        wrong_tokens_minute_address_max: number("wrong_tokens_minute_address_max")?,
    })
}

/// Reads every item of a list.
fn each<T, E: fmt::Display>(
    given: &Given,
    read: impl Fn(&str) -> std::result::Result<T, E>,
) -> Result<Vec<T>> {
    let read = |item: String| {
        let wrong = |e| given.refuse(format_args!("\"{item}\": {e}"));
        read(&item).map_err(wrong)
    };
    given.list()?.into_iter().map(read).collect()
}

fn base_url(given: &Given) -> Result<String> {
    let mut url = given.text()?;
    if url.ends_with('/') {
        url.pop();
    }
    if is_base_url(&url) {
        return Ok(url);
    }
    Err(given
        .refuse("it must be http:// or https:// and a host, and a port if need be, nothing more"))
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
