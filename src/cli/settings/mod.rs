//! Settings: flag over environment over file over default. [`table`] has them all; here they become
//! values. Those that cannot be are refused together, each with its name and where it came from.

mod effective;
mod exposed;
mod file;
mod flags;
mod given;
mod log_format;
mod table;
mod unit;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use tokio_rustls::rustls::pki_types::ServerName;

use super::{Error, Result};
use crate::access::{AccountLimits, SessionLifetimes};
use crate::base::limits::{BATCH_ACTIONS_MAX, BLOCKING_THREADS};
use crate::base::reads::Reads;
use crate::http::{AccessLog, Limits, Network};
use crate::repo::{CountLimits, Retention};
use crate::store::bucket_url::BucketUrl;
use crate::store::database_url::DatabaseUrl;
use crate::store::engine::StoreAddress;
pub(super) use effective::effective;
pub(super) use exposed::{Exposed, exposed_for_store};
pub(super) use file::text_of;
pub(super) use flags::Flags;
pub(super) use given::Sourced;
use given::{Given, Source};
pub(super) use log_format::LogFormat;
use table::SETTINGS;
pub(super) use table::{EVERYWHERE, GC, IMPORT, LIST, OF_COMMANDS, PRUNE, SERVE, STATUS};
pub(super) use unit::{bytes_from_1, days_from_1, seconds_to_a_day};

/// Longest time for which large files stay in the bucket, in days: a century.
const BLOBS_KEPT_DAYS_MAX: u64 = 36_500;

/// What the service and the commands go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Where the store lies.
    pub(super) store: Sourced<StoreAddress>,
    /// File of the password for the database that it lies in; empty for none.
    pub(super) postgres_password_file: Sourced<PathBuf>,
    /// File of the server's key, of a store in a database; empty for none.
    pub(super) server_key_file: Sourced<PathBuf>,
    /// Bucket for the large files of a store in a database.
    pub(super) blobs: Option<BucketUrl>,
    /// File of the keys for it; empty for the environment's.
    pub(super) s3_credentials_file: Sourced<PathBuf>,
    /// File of the certificates that are trusted for it; empty for the system's.
    pub(super) s3_ca: Sourced<PathBuf>,
    /// Address and port to listen on for plain HTTP, or `none`.
    pub(super) listen: Sourced<String>,
    /// Address and port to listen on for TLS; empty for none.
    pub(super) tls_listen: Sourced<String>,
    /// File of the certificate; empty without TLS.
    pub(super) tls_cert: Sourced<PathBuf>,
    /// File of its key; empty without TLS.
    pub(super) tls_key: Sourced<PathBuf>,
    /// Path of the Unix socket to listen on; empty for none.
    pub(super) unix_listen: Sourced<PathBuf>,
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
    /// How many days large files that nothing needs any more stay in the bucket.
    pub(super) blobs_keep_days: u64,
    /// How long what is deleted can be restored, in days.
    pub(super) keep_deleted_days: u64,
    /// Which snapshots stay when a project that has no rule of its own is pruned.
    pub(super) keep: Retention,
    /// How long a session counts.
    pub(super) sessions: SessionLifetimes,
    /// How long a stop goes on taking requests, in seconds.
    pub(super) drain_s: u64,
    /// How long a stop waits for what is in flight, in seconds.
    pub(super) shutdown_s: u64,
    /// What clients may take of the service.
    pub(super) limits: Limits,
    /// How much there may be that is listed as a whole.
    pub(super) count_limits: CountLimits,
    /// How long the audit log keeps what it tells, in days; 0 keeps all.
    pub(super) audit_keep_days: u64,
    /// Room on the disk of the store below which the service is not ready, in bytes.
    pub(super) disk_low_bytes: u64,
    /// Room that stays free there: with less, what adds content is refused; in bytes, 0 for none.
    pub(super) disk_free_min: u64,
    /// Address and port of the listener for metrics; empty for none.
    pub(super) metrics_listen: Sourced<String>,
    /// Which requests are logged.
    pub(super) access_log: AccessLog,
    /// How new it must be what holders of tokens read.
    pub(super) reads: Reads,
    /// How the service writes its log.
    pub(super) log_format: LogFormat,
    /// Where the service writes its log; an empty path is standard error.
    pub(super) log_file: Sourced<PathBuf>,
    /// What is logged; empty if nothing was said about it.
    pub(super) log: Sourced<String>,
}

impl Settings {
    /// The folder of the store.
    ///
    /// # Errors
    /// [`Error::not_offered`] where the store lies in a database.
    pub(super) fn folder(&self, what: &str, instead: &str) -> Result<&Path> {
        match &*self.store {
            StoreAddress::Folder(root) => Ok(root),
            StoreAddress::Postgres(_) => Err(Error::not_offered(what, instead)),
        }
    }

    /// Puts together what was said where: by the flags that every command has and by the command's own,
    /// each with its variable, and in the file.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file that cannot be read or has an unknown setting, and for values that
    /// cannot be: all of them.
    pub(super) fn gather(everywhere: Flags<EVERYWHERE>, command: &[Given]) -> Result<Self> {
        let all = All::gather(everywhere, command);
        let settings = Self::of(&all);
        all.refuse_wrong_ones()?;
        Ok(settings)
    }

    /// What holds of each. What is wrong with one is noted, and its default stands in its place.
    fn of(all: &All) -> Self {
        let number = |name| all.read(name, Given::number);
        let from_1 = |name| all.read(name, Given::number_from_1);
        let text = |name| all.read(name, |given| given.sourced(Given::text));
        let path = |name| all.read(name, |given| given.sourced(Given::path));
        Self {
            store: store(all),
            postgres_password_file: path("postgres_password_file"),
            server_key_file: path("server_key_file"),
            blobs: all.read("blobs", |url| match url.text()?.as_str() {
                "" => Ok(None),
                text => BucketUrl::parse(text)
                    .map(Some)
                    .map_err(|reason| url.refuse(reason)),
            }),
            s3_credentials_file: path("s3_credentials_file"),
            s3_ca: path("s3_ca"),
            listen: text("listen"),
            tls_listen: text("tls_listen"),
            tls_cert: path("tls_cert"),
            tls_key: path("tls_key"),
            unix_listen: path("unix_listen"),
            external_url: all.read("external_url", |url| match url.source {
                Source::Default => Ok(None),
                _ => base_url(url).map(Some),
            }),
            hosts: all.read("hosts", |hosts| each(hosts, host)),
            root_mount: all.read("root_mount", Given::bool),
            trusted_proxies: all.read("trusted_proxies", |proxies| each(proxies, str::parse)),
            archive_bytes_max: number("archive_bytes_max"),
            file_bytes_max: number("file_bytes_max"),
            blobs_keep_days: all.read("blobs_keep_days", |days| {
                days.number_between(2, BLOBS_KEPT_DAYS_MAX)
            }),
            keep_deleted_days: number("keep_deleted_days"),
            keep: Retention {
                snapshots: number("keep_snapshots"),
                days: number("keep_days"),
            },
            sessions: SessionLifetimes {
                absolute_s: from_1("session_absolute_s"),
                idle_s: from_1("session_idle_s"),
            },
            drain_s: number("drain_s"),
            shutdown_s: number("shutdown_s"),
            limits: limits(all),
            count_limits: CountLimits {
                projects_account_max: from_1("limits.projects_account_max"),
                branches_project_max: from_1("limits.branches_project_max"),
            },
            audit_keep_days: number("audit_keep_days"),
            disk_low_bytes: number("disk_low_bytes"),
            disk_free_min: number("disk_free_min"),
            metrics_listen: text("metrics_listen"),
            access_log: all.read("access_log", Given::parsed),
            reads: all.read("reads", Given::parsed),
            log_format: all.read("log_format", Given::parsed),
            log_file: path("log_file"),
            log: text("log"),
        }
    }
}

/// Everything that was given, the stronger before the weaker.
struct All {
    given: Vec<Given>,
    /// What is wrong with it, as far as it was read.
    wrong: RefCell<Vec<Error>>,
}

impl All {
    /// Gathers it, with what is in the file where one is named.
    fn gather(everywhere: Flags<EVERYWHERE>, command: &[Given]) -> Self {
        let mut all = Self {
            given: everywhere.0,
            wrong: RefCell::default(),
        };
        all.given.extend_from_slice(command);
        let config = all.get(table::CONFIG);
        if config.source == Source::Default {
            return all;
        }
        let path = config.sourced(Given::path);
        match path.and_then(|path| file::read(&path)) {
            Ok(file::Contents { given, wrong }) => {
                all.given.extend(given);
                all.wrong.get_mut().extend(wrong);
            }
            Err(unreadable) => all.wrong.get_mut().push(unreadable),
        }
        all
    }

    /// What holds for the setting of this name.
    fn get(&self, name: &str) -> Given {
        let given = self.given.iter().find(|given| given.setting.name == name);
        given.cloned().unwrap_or_else(|| default_of(name))
    }

    /// The value that holds for it; its default where that is wrong, which is noted.
    fn read<T>(&self, name: &str, read: impl Fn(&Given) -> Result<T>) -> T {
        read(&self.get(name)).unwrap_or_else(|wrong| {
            self.wrong.borrow_mut().push(wrong);
            read(&default_of(name)).expect("a default is a right value")
        })
    }

    /// Refuses everything that was found wrong.
    fn refuse_wrong_ones(&self) -> Result<()> {
        refuse(self.wrong.take())
    }
}

/// Refuses what is wrong with several settings in one message, nothing where nothing is.
pub(super) fn refuse(mut wrong: Vec<Error>) -> Result<()> {
    if wrong.len() > 1 {
        let said: Vec<_> = wrong.iter().map(Error::to_string).collect();
        let (count, said) = (said.len(), said.join("\n"));
        return Err(Error::Usage(format!("{count} settings are wrong:\n{said}")));
    }
    wrong.pop().map_or(Ok(()), Err)
}

/// The variables of `siteconf pull`, and those that it sets for its command.
const OF_PULL: [&str; 5] = [
    "SITECONF_TOKEN",
    "SITECONF_COMMIT",
    "SITECONF_DIR",
    "SITECONF_CHANGED",
    "SITECONF_CHANGES",
];

/// How the variables begin that Kubernetes sets for a service that is named siteconf.
const OF_KUBERNETES: [&str; 2] = ["SITECONF_SERVICE_", "SITECONF_PORT"];

/// The variables of the build, which a person who builds and runs has set for both.
const OF_THE_BUILD: [&str; 2] = ["SITECONF_PAGE", "SITECONF_PAGE_DIR"];

/// Which of these variables are named as the settings are, and are none.
pub(super) fn unknown_variables(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let is_setting = |name: &str| {
        SETTINGS.iter().any(|setting| setting.variable() == name)
            || OF_PULL.contains(&name)
            || OF_THE_BUILD.contains(&name)
            || OF_KUBERNETES.iter().any(|start| name.starts_with(start))
    };
    let texts = names.filter_map(|name| name.into_string().ok());
    let mut unknown: Vec<_> = texts
        .filter(|name| name.starts_with("SITECONF_") && !is_setting(name))
        .collect();
    unknown.sort();
    unknown
}

/// What holds for the setting of this name when nobody says anything.
fn default_of(name: &str) -> Given {
    let setting = SETTINGS.iter().find(|setting| setting.name == name);
    let setting = setting.expect("each setting that is read is in the table");
    let values = if setting.default.is_empty() && setting.is_list() {
        Vec::new()
    } else {
        vec![setting.default.into()]
    };
    Given::plain(setting, Source::Default, values)
}

/// Where the store lies.
fn store(all: &All) -> Sourced<StoreAddress> {
    let folder = all.read("data", |data| match data.path()? {
        url if url.to_str().is_some_and(DatabaseUrl::is_meant_by) => {
            // Not shown: it may hold a password.
            Err(Error::Usage(format!(
                "data ({}): it is the name of a folder; the URL of a database is given as store",
                data.place()
            )))
        }
        folder => Ok(folder),
    });
    let url = all.read("store", |url| match url.text()?.as_str() {
        "" => Ok(None),
        text => DatabaseUrl::parse(text)
            .map(Some)
            .map_err(|reason| url.refuse(reason)),
    });
    let mut wrong = all.wrong.borrow_mut();
    let Some(url) = url else {
        if folder.as_os_str().is_empty() {
            wrong.push(all.get("data").refuse("it names no folder"));
        }
        for name in [
            "postgres_password_file",
            "server_key_file",
            "blobs",
            "s3_credentials_file",
            "s3_ca",
        ] {
            let given = all.get(name);
            if given.source != Source::Default && all.get("store").source == Source::Default {
                wrong.push(given.refuse("it is for a store in PostgreSQL, and store names none"));
            }
        }
        return all.get("data").holding(StoreAddress::Folder(folder));
    };
    let data = all.get("data");
    if data.source == Source::Flag {
        let place = all.get("store").place();
        wrong.push(data.refuse(format_args!(
            "the store lies in PostgreSQL, says store ({place}); give one of the two"
        )));
    }
    all.get("store").holding(StoreAddress::Postgres(url))
}

fn limits(all: &All) -> Limits {
    let number = |name: &str| all.read(&format!("limits.{name}"), Given::number);
    let from_1 = |name: &str| all.read(&format!("limits.{name}"), Given::number_from_1);
    let up_to =
        |name: &str, most| all.read(&format!("limits.{name}"), |given| given.number_up_to(most));
    Limits {
        connections_max: from_1("connections_max"),
        connections_address_max: number("connections_address_max"),
        head_s_max: from_1("head_s_max"),
        requests_connection_max: number("requests_connection_max"),
        handshake_s_max: from_1("handshake_s_max"),
        write_s_max: from_1("write_s_max"),
        body_s_max: from_1("body_s_max"),
        upload_grace_s: from_1("upload_grace_s"),
        upload_bytes_s_min: number("upload_bytes_s_min"),
        upload_s_max: from_1("upload_s_max"),
        login_bytes_max: from_1("login_bytes_max"),
        json_bytes_max: from_1("json_bytes_max"),
        batch_bytes_max: from_1("batch_bytes_max"),
        batch_actions_max: up_to("batch_actions_max", BATCH_ACTIONS_MAX as u64),
        bodies_bytes_max: from_1("bodies_bytes_max"),
        bodies_bytes_account_max: from_1("bodies_bytes_account_max"),
        threads_max: up_to("threads_max", BLOCKING_THREADS as u64),
        thread_wait_s_max: from_1("thread_wait_s_max"),
        long_at_once_max: from_1("long_at_once_max"),
        long_waiting_max: number("long_waiting_max"),
        long_credential_max: from_1("long_credential_max"),
        waiting_max: from_1("waiting_max"),
        waiting_credential_max: from_1("waiting_credential_max"),
        waiting_address_max: number("waiting_address_max"),
        logins_at_once_max: from_1("logins_at_once_max"),
        logins_waiting_max: number("logins_waiting_max"),
        logins_waiting_address_max: from_1("logins_waiting_address_max"),
        logins_minute_account_max: number("logins_minute_account_max"),
        wrong_logins_minute_max: number("wrong_logins_minute_max"),
        wrong_logins_minute_address_max: number("wrong_logins_minute_address_max"),
        wrong_logins_minute_account_max: number("wrong_logins_minute_account_max"),
        wrong_tokens_minute_address_max: number("wrong_tokens_minute_address_max"),
        accounts: AccountLimits {
            tokens_max: from_1("tokens_account_max"),
            token_repos_max: from_1("token_repos_max"),
            sessions_max: from_1("sessions_account_max"),
        },
    }
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

/// A name under which the service is reached, or an address, each with a port or without.
fn host(text: &str) -> std::result::Result<String, &'static str> {
    if is_base_url(&format!("http://{text}")) {
        return Ok(text.to_owned());
    }
    Err(if text.contains('*') {
        "each name must be written out, and * stands for none"
    } else if text.parse::<Ipv6Addr>().is_ok() {
        "an address of IPv6 must stand in brackets, as in [::1]"
    } else {
        "it must be a name or an address, as in conf.example"
    })
}

/// True for a scheme and a host, and a port from 1 where one is given.
fn is_base_url(url: &str) -> bool {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest else {
        return false;
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !rest.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let is_host = match host.strip_prefix('[') {
        Some(inner) => inner
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => !host.contains(':') && ServerName::try_from(host).is_ok(),
    };
    let is_port = |port: &str| {
        let number = port.parse::<u16>();
        number.is_ok_and(|number| number > 0 && number.to_string() == port)
    };
    is_host && port.is_none_or(is_port)
}
