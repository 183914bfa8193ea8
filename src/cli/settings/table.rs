//! Every setting there is: its name, what holds when nobody says anything, and what `--help` says of it.
//! The README's table has the same, which a test compares.

use super::unit::Unit;

/// Takes part in every command.
pub(in crate::cli) const EVERYWHERE: u8 = 1;
/// A flag of `serve`.
pub(in crate::cli) const SERVE: u8 = 2;
/// A flag of `import`.
pub(in crate::cli) const IMPORT: u8 = 4;
/// A flag of `project list`.
pub(in crate::cli) const LIST: u8 = 8;
/// A flag of `prune`.
pub(in crate::cli) const PRUNE: u8 = 16;
/// A flag of `gc`.
pub(in crate::cli) const GC: u8 = 32;
/// A flag of `status`.
pub(in crate::cli) const STATUS: u8 = 64;

/// A setting. Its last name, after the table's, makes its flag and its variable, too:
/// `limits.body_s_max`, `--body-s-max`, `SITECONF_BODY_S_MAX`.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) struct Setting {
    /// The name in the file.
    pub(in crate::cli) name: &'static str,
    /// What a value is, which is also its placeholder in the help.
    pub(in crate::cli) value: &'static str,
    /// The value that holds when nobody gives one; empty if none does.
    pub(in crate::cli) default: &'static str,
    /// The commands that have it as a flag.
    pub(super) commands: u8,
    pub(super) help: &'static str,
}

/// All of them that a command of its own has as flags, and not every one.
pub(in crate::cli) const OF_COMMANDS: u8 = SERVE | IMPORT | LIST | PRUNE | GC | STATUS;

/// The placeholder of settings whose flag may stand without a value.
pub(super) const BOOL: &str = "BOOL";
/// The names of the settings in which somebody may have written a password or a key.
pub(super) const STORE: &str = "store";
pub(super) const BLOBS: &str = "blobs";
/// The name of the one setting that no file may have.
pub(super) const CONFIG: &str = "config";

impl Setting {
    const fn of_serve(
        name: &'static str,
        value: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self::of(SERVE, name, value, default, help)
    }

    const fn of(
        commands: u8,
        name: &'static str,
        value: &'static str,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            value,
            default,
            commands,
            help,
        }
    }

    /// The setting of this name in the file, if it has one.
    pub(super) fn in_file(name: &str) -> Option<&'static Self> {
        SETTINGS
            .iter()
            .find(|setting| setting.name == name && name != CONFIG)
    }

    /// True if it takes several values.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.value, "HOSTS" | "ADDRS")
    }

    /// True if its value is not shown as it stands: it may hold a password.
    pub(super) fn may_hold_secret(&self) -> bool {
        [STORE, BLOBS].contains(&self.name)
    }

    fn last_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// What a number that it takes counts.
    pub(super) fn unit(&self) -> Unit {
        Unit::of(self.value)
    }

    /// The name of the flag, without its dashes.
    pub(in crate::cli) fn flag(&self) -> String {
        self.last_name().replace('_', "-")
    }

    /// The name of the variable.
    pub(in crate::cli) fn variable(&self) -> String {
        format!("SITECONF_{}", self.last_name().to_uppercase())
    }
}

/// All settings, in the order of the help.
#[rustfmt::skip]
pub(in crate::cli) const SETTINGS: &[Setting] = &[
    Setting::of(EVERYWHERE, "data", "DIR", "./siteconf-data",
        "Folder of the store"),
    Setting::of(EVERYWHERE, STORE, "URL", "",
        "Database of PostgreSQL in which the store lies instead of a folder (experimental), as in \
         `postgres://siteconf@localhost/siteconf`"),
    Setting::of(EVERYWHERE, "postgres_password_file", "FILE", "",
        "File whose first line is the password for that database"),
    Setting::of(EVERYWHERE, "server_key_file", "FILE", "",
        "File of the server key of a store in PostgreSQL, the same for each daemon; `init` makes it"),
    Setting::of(EVERYWHERE, BLOBS, "URL", "",
        "Bucket of S3 for the large files of a store in PostgreSQL, as in \
         `s3://bucket/prefix?region=eu-central-1`"),
    Setting::of(EVERYWHERE, "s3_credentials_file", "FILE", "",
        "File of the keys for that bucket, as `~/.aws/credentials`; without one they are AWS_ACCESS_KEY_ID \
         and AWS_SECRET_ACCESS_KEY in the environment, or those of the platform's role"),
    Setting::of(EVERYWHERE, "s3_ca", "FILE", "",
        "Certificates that are trusted for that bucket instead of the system's, PEM"),
    Setting::of(EVERYWHERE, CONFIG, "FILE", "",
        "File of settings, TOML"),
    Setting::of(EVERYWHERE, "log", "FILTER", "",
        "What is logged: error, warn, info, debug, trace, or a filter such as \
         `info,siteconf::store=debug` [default: info for serve, else warn]"),
    Setting::of(EVERYWHERE, "disk_free_min", "BYTES", "268435456",
        "Room that stays free on the disk of the store, in bytes: with less, what adds content is \
         refused; 0 for none"),
    Setting::of_serve("listen", "ADDR", "127.0.0.1:8080",
        "Address and port to listen on for plain HTTP; port 0 takes a free one; none for no such listener"),
    Setting::of_serve("tls_listen", "ADDR", "",
        "Address and port to listen on for HTTP over TLS, beside the plain one"),
    Setting::of_serve("tls_cert", "FILE", "",
        "The certificate and those between it and its root, PEM; read again at SIGHUP and when it changes"),
    Setting::of_serve("tls_key", "FILE", "",
        "The certificate's private key, PEM, without a password"),
    Setting::of_serve("unix_listen", "PATH", "",
        "Unix socket to listen on, for a proxy on this machine, which is believed as a trusted one is"),
    Setting::of_serve("external_url", "URL", "",
        "Where clients reach the service, when a proxy stands before it, as in `https://conf.example`"),
    Setting::of_serve("hosts", "HOSTS", "",
        "Further names under which clients reach the service, with commas between them; with neither \
         these nor an external URL any name will do"),
    Setting::of_serve("root_mount", BOOL, "false",
        "Serve the Read API at /api/v4 too"),
    Setting::of_serve("trusted_proxies", "ADDRS", "",
        "Proxies that are believed what they tell of a client's request, addresses or ranges as in \
         10.0.0.0/8, with commas between them"),
    Setting::of_serve("archive_bytes_max", "BYTES", "10737418240",
        "Largest sum of the files of an archive, in bytes"),
    Setting::of(SERVE | IMPORT, "file_bytes_max", "BYTES", "5368709120",
        "Largest file that is taken, in bytes"),
    Setting::of(SERVE | LIST | GC, "keep_deleted_days", "DAYS", "30",
        "Days for which a deleted project or branch can be restored; then it is forgotten"),
    Setting::of_serve("blobs_keep_days", "DAYS", "14",
        "Days for which large files that nothing needs any more stay in the bucket, 2 at least; as long \
         as backups of the database reach back"),
    Setting::of(PRUNE, "keep_snapshots", "N", "0",
        "Of each branch, the newest so many snapshots stay when it is pruned"),
    Setting::of(PRUNE, "keep_days", "DAYS", "0",
        "Snapshots that are younger stay when a branch is pruned; with neither, all stay"),
    Setting::of_serve("session_absolute_s", "SECONDS", "43200",
        "Longest life of a session, in seconds"),
    Setting::of_serve("session_idle_s", "SECONDS", "3600",
        "Longest pause in a session, in seconds"),
    Setting::of_serve("drain_s", "SECONDS", "0",
        "How long a stop goes on taking requests while /readyz says that it stops, in seconds: until a load \
         balancer has found out"),
    Setting::of_serve("shutdown_s", "SECONDS", "30",
        "Longest wait of a stop for what is in flight, in seconds"),
    Setting::of_serve("audit_keep_days", "DAYS", "400",
        "How long the audit log keeps what it tells, in days; 0 keeps all"),
    Setting::of(SERVE | STATUS, "disk_low_bytes", "BYTES", "536870912",
        "Room on the disk of the store below which the service is not ready, in bytes"),
    Setting::of_serve("metrics_listen", "ADDR", "",
        "Address and port of a listener for metrics and probes; without one there is none"),
    Setting::of_serve("access_log", "WHICH", "all",
        "Requests that are logged: all, writes (and what was refused or failed), errors, off"),
    Setting::of_serve("reads", "HOW", "bounded",
        "What tokens read of a store in PostgreSQL: bounded, as of 20 ms ago at most, or strict, all of it"),
    Setting::of_serve("log_format", "FORMAT", "auto",
        "How the log is written: text, json, or auto, text on a terminal and else json"),
    Setting::of_serve("log_file", "FILE", "",
        "Where the log goes instead of standard error; opened again at SIGHUP and SIGUSR1"),
    Setting::of_serve("limits.connections_max", "N", "10000",
        "Most connections at once; more wait"),
    Setting::of_serve("limits.connections_address_max", "N", "1024",
        "Connections of one address; 0 for no limit"),
    Setting::of_serve("limits.head_s_max", "SECONDS", "20",
        "Seconds for the head of a request, and between two requests of a connection"),
    Setting::of_serve("limits.requests_connection_max", "N", "10000",
        "Requests of a connection, after which it is closed; 0 for no limit"),
    Setting::of_serve("limits.handshake_s_max", "SECONDS", "10",
        "Seconds for the handshake of a TLS connection"),
    Setting::of_serve("limits.write_s_max", "SECONDS", "30",
        "Seconds in which a client must take something of an answer that waits for it"),
    Setting::of_serve("limits.body_s_max", "SECONDS", "20",
        "Seconds for a body of JSON or of a form"),
    Setting::of_serve("limits.upload_grace_s", "SECONDS", "30",
        "Seconds in which an upload must bring `upload_bytes_s_min` for each"),
    Setting::of_serve("limits.upload_bytes_s_min", "BYTES", "1024",
        "Least bytes a second of an upload; 0 for any"),
    Setting::of_serve("limits.upload_s_max", "SECONDS", "3600",
        "Seconds for a whole upload"),
    Setting::of_serve("limits.login_bytes_max", "BYTES", "8192",
        "Longest body of a login, in bytes"),
    Setting::of_serve("limits.json_bytes_max", "BYTES", "1048576",
        "Longest body of JSON of the Admin API but for a batch, in bytes"),
    Setting::of_serve("limits.batch_bytes_max", "BYTES", "67108864",
        "Longest body of a batch, also unpacked, in bytes"),
    Setting::of_serve("limits.batch_actions_max", "N", "10000",
        "Most actions of a batch, at most 10000"),
    Setting::of_serve("limits.bodies_bytes_max", "BYTES", "134217728",
        "Bytes of bodies of the Admin API in memory at once"),
    Setting::of_serve("limits.bodies_bytes_account_max", "BYTES", "67108864",
        "Of these, most for one account"),
    Setting::of_serve("limits.threads_max", "N", "256",
        "Requests at once that change something or read what is not in memory, at most 512; more wait"),
    Setting::of_serve("limits.thread_wait_s_max", "SECONDS", "30",
        "Seconds that a request waits for that"),
    Setting::of_serve("limits.long_at_once_max", "N", "2",
        "Comparisons, archives, searches and long listings at once"),
    Setting::of_serve("limits.long_waiting_max", "N", "256",
        "Such requests that wait"),
    Setting::of_serve("limits.long_credential_max", "N", "8",
        "Such requests of one token or session that run or wait"),
    Setting::of_serve("limits.waiting_max", "N", "9000",
        "Requests that wait for a change at once; each keeps its connection"),
    Setting::of_serve("limits.waiting_credential_max", "N", "1000",
        "Of these, most of one token or account"),
    Setting::of_serve("limits.waiting_address_max", "N", "1000",
        "Of these, most of one address; 0 for no limit"),
    Setting::of_serve("limits.logins_at_once_max", "N", "2",
        "Passwords checked at once; each takes 19 MiB"),
    Setting::of_serve("limits.logins_waiting_max", "N", "64",
        "Logins that wait for that"),
    Setting::of_serve("limits.logins_waiting_address_max", "N", "16",
        "Logins of one address that are checked or wait"),
    Setting::of_serve("limits.logins_minute_account_max", "N", "60",
        "Right logins a minute to one account; 0 for no limit"),
    Setting::of_serve("limits.wrong_logins_minute_max", "N", "5",
        "Wrong logins a minute from one address to one account; 0 for no limit"),
    Setting::of_serve("limits.wrong_logins_minute_address_max", "N", "10",
        "Wrong logins a minute from one address; 0 for no limit"),
    Setting::of_serve("limits.wrong_logins_minute_account_max", "N", "60",
        "Wrong logins a minute to one account; 0 for no limit"),
    Setting::of_serve("limits.wrong_tokens_minute_address_max", "N", "300",
        "Requests a minute from one address with tokens that do not count; 0 for no limit"),
    Setting::of_serve("limits.tokens_account_max", "N", "1000",
        "Tokens of one account"),
    Setting::of_serve("limits.token_repos_max", "N", "100",
        "Projects in the list of a token"),
    Setting::of_serve("limits.sessions_account_max", "N", "20",
        "Sessions of one account; the oldest give way"),
    Setting::of_serve("limits.projects_account_max", "N", "1000",
        "Projects of one account"),
    Setting::of_serve("limits.branches_project_max", "N", "10000",
        "Branches of one project"),
];
