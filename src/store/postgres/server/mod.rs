//! The server of the database: how it is reached, and what is asked of it.

mod credentials;
mod fitness;
mod hosts;
mod primary;
mod reports;
mod timeline;

use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Config, Host, SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage, Socket};

use self::credentials::Credentials;
use self::fitness::require_server;
use self::hosts::Hosts;
pub(super) use self::primary::{Primary, Started};
use self::reports::Reports;
pub(super) use self::timeline::Timeline;
use super::failure::{Meaning, failure, meaning_of, said_by, unfit};
use super::schema;
use super::schema::{Expected, StoreFormat, no_store};
use super::tls::{Encrypted, refused_by_server};
use crate::base::may_block;
use crate::store::database_url::{DatabaseUrl, Encryption};
use crate::store::remote::tls;
use crate::store::{Found, Migrated, Result, StoreError};

/// After so long without an answer of the network a connection is lost.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// After as long without any word it is looked whether the other end is there: so often, so far apart.
const PROBES: u32 = 3;
const PROBES_APART: Duration = Duration::from_secs(1);

/// What every connection is told. Without `jit`: ways that are turned off count as dear, so that each short
/// statement would be compiled first, 50 ms and more on every new connection. Warnings come, whatever a role is set
/// to: they say that a commit may not be kept. The server, too, looks whether we are still there: what a machine
/// that died has locked, and its connections, would stay for hours. The limits that a role may
/// be set to, of how long it waits for a lock, how long a statement or a transaction takes (PostgreSQL 17), or an idle
/// connection lasts, are not for connections that serve many.
pub(super) const SESSION_SETTINGS: &str = "
SET search_path = pg_catalog;
SET default_transaction_isolation = 'read committed';
SET idle_in_transaction_session_timeout = '10s';
SET idle_session_timeout = 0;
SET statement_timeout = 0;
SET lock_timeout = 0;
SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout';
SET synchronous_commit = 'on';
SET jit = off;
SET client_min_messages = 'warning';
SET tcp_keepalives_idle = 5;
SET tcp_keepalives_interval = 5;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = '30s';
";

/// What carries the requests of a client.
pub(super) type Connection = tokio_postgres::Connection<Socket, Encrypted>;

/// A server of the database, and the store that was found there first.
#[derive(Debug)]
pub(super) struct Server {
    hosts: Hosts,
    credentials: Credentials,
    is_in_the_clear: bool,
    /// True once it was found that no two connections share a process of the server.
    keeps_sessions: AtomicBool,
    reports: Reports,
    primary: Primary,
    /// Ends the connections that were begun before.
    given_up: watch::Sender<()>,
    store_id: OnceLock<String>,
    expected: Expected,
}

impl Server {
    /// The server that a URL names. To another machine connections are made over TLS, unless the URL says
    /// otherwise.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] for one that is none, or cannot be trusted.
    pub(super) fn new(url: &str) -> Result<Self> {
        Self::at(&DatabaseUrl::parse(url).map_err(unfit)?)
    }

    /// The same of one that was read.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub(super) fn at(url: &DatabaseUrl) -> Result<Self> {
        // What is wrong with it is not repeated: it may hold a password.
        let mut config: Config = url
            .reveal_to_client()
            .parse()
            .map_err(|_| {
                unfit(
                    "its address is not of the form postgres://[user@]host[:port]/database, or names a parameter \
                     that there is not",
                )
            })?;
        let is_near = is_on_this_machine(&config);
        let encryption = url.encryption().unwrap_or(if is_near {
            Encryption::Disable
        } else {
            Encryption::VerifyFull
        });
        let credentials = match encryption {
            Encryption::Disable => {
                if url.certificate().is_some() {
                    return Err(unfit(
                        "sslcert is shown over TLS alone, which sslmode=verify-full asks for",
                    ));
                }
                config.ssl_mode(SslMode::Disable);
                Credentials::plain(url)
            }
            Encryption::VerifyFull => {
                require_names(&config)?;
                config.ssl_mode(SslMode::Require);
                Credentials::over_tls(url).map_err(unfit)?
            }
        };
        config
            .application_name("siteconf")
            .tcp_user_timeout(SILENCE_MAX)
            .keepalives_idle(SILENCE_MAX)
            .keepalives_interval(PROBES_APART)
            .keepalives_retries(PROBES)
            .target_session_attrs(TargetSessionAttrs::Any);
        Ok(Self {
            hosts: Hosts::of(&config),
            credentials,
            is_in_the_clear: !is_near && encryption == Encryption::Disable,
            keeps_sessions: AtomicBool::new(false),
            reports: Reports::new(),
            primary: Primary::default(),
            given_up: watch::Sender::new(()),
            store_id: OnceLock::new(),
            expected: Expected::Ready,
        })
    }

    /// The same for a store in this state.
    pub(super) fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// True if it is on another machine, and connections to it are not encrypted.
    pub(super) fn is_in_the_clear(&self) -> bool {
        self.is_in_the_clear
    }

    /// The id of the store, once a connection was made to it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] before.
    pub(super) fn store_id(&self) -> Result<&str> {
        let known = self.store_id.get().map(String::as_str);
        known.ok_or(StoreError::Unavailable)
    }

    /// Makes the tables and functions where there are none.
    ///
    /// # Errors
    /// [`StoreError::Unfit`].
    pub(super) async fn init(&self) -> Result<Found> {
        let single = self.single().await?;
        let made = schema::make(&single.client).await;
        single.end().await;
        made
    }

    /// Makes the tables and functions for a copy of the store of this name, unless an earlier one has.
    ///
    /// # Errors
    /// As [`schema::make_copy`].
    pub(super) async fn begin_copy(&self, of: &str) -> Result<()> {
        let single = self.single().await?;
        let made = schema::make_copy(&single.client, of).await;
        single.end().await;
        made
    }

    /// Takes the steps of the schema that are missing.
    ///
    /// # Errors
    /// As [`schema::migrate`].
    pub(super) async fn migrate(&self) -> Result<Migrated> {
        let single = self.single().await?;
        let migrated = schema::migrate(&single.client).await;
        single.end().await;
        migrated
    }

    /// Lets a role do what daemons do.
    ///
    /// # Errors
    /// As [`schema::grant`].
    pub(super) async fn grant(&self, role: &str) -> Result<()> {
        let single = self.single().await?;
        let granted = schema::grant(&single.client, role).await;
        single.end().await;
        granted
    }

    /// A connection of its own to a server that keeps what is written, whatever store it has.
    async fn single(&self) -> Result<Single> {
        let single = self.unprepared().await?;
        let prepared = async {
            self.require_sessions(&single.client).await?;
            single.prepare().await
        };
        if let Err(refused) = prepared.await {
            single.end().await;
            return Err(refused);
        }
        Ok(single)
    }

    async fn unprepared(&self) -> Result<Single> {
        let (client, connection) = self.connect().await?;
        let driver = tokio::spawn(connection);
        Ok(Single { client, driver })
    }

    /// A connection that nothing was asked of yet.
    pub(super) async fn connect(&self) -> Result<(Client, Connection)> {
        // It reads files, which may lie where nothing answers.
        let credential = may_block(|| self.credentials.now());
        self.hosts.connect(&credential).await
    }

    /// Ends all connections that were begun until now, and with them what is asked over them: the database has not
    /// answered for so long that another server may be in its place, and what was sent to this one may never be
    /// answered.
    pub(super) fn give_up_connections(&self) {
        self.given_up.send_replace(());
    }

    /// Changes when the connections are given up that were begun until now.
    pub(super) fn given_up(&self) -> watch::Receiver<()> {
        self.given_up.subscribe()
    }

    /// What the log and probes are told of it.
    pub(super) fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Which of its servers was last seen to commit.
    pub(super) fn primary(&self) -> &Primary {
        &self.primary
    }

    /// Looks, once, whether a connection has a process of the server to itself as long as it lasts. A pooler may
    /// give each transaction whichever is free: then settings and locks of a session would hold for transactions of
    /// other clients.
    ///
    /// # Errors
    /// [`StoreError::Unfit`].
    pub(super) async fn require_sessions(&self, client: &Client) -> Result<()> {
        if self.keeps_sessions.load(Ordering::Acquire) {
            return Ok(());
        }
        let own = process_of(client, "").await?;
        let other = self.unprepared().await?;
        let looked = async {
            // While its transaction lasts nobody else is given the process that it has.
            let others = process_of(&other.client, "BEGIN;").await?;
            Ok::<_, StoreError>(others != own && process_of(client, "").await? == own)
        };
        let keeps = looked.await;
        other.end().await;
        if !keeps? {
            return Err(unfit(
                "a pooler before it gives each transaction another connection; give the address of \
                 the server itself, or have the pooler keep one for a session (pool_mode = session)",
            ));
        }
        self.keeps_sessions.store(true, Ordering::Release);
        Ok(())
    }

    /// Looks whether what is connected to keeps what is written, and is the store that it was. Gives which server it
    /// is, and which history it writes.
    ///
    /// # Errors
    /// [`StoreError::Unfit`].
    pub(super) async fn require(&self, client: &Client) -> Result<(Started, Timeline)> {
        let started = require_server(client).await?;
        self.require_store(client).await?;
        Ok((started, Timeline::of(client).await?))
    }

    async fn require_store(&self, client: &Client) -> Result<()> {
        let kept = StoreFormat::read(client).await?.ok_or_else(no_store)?;
        kept.require(&self.expected)?;
        let store_id = kept.store_id;
        if *self.store_id.get_or_init(|| store_id.clone()) != store_id {
            return Err(unfit(
                "it holds another store than before; see that its address is right, and restart the \
                 service",
            ));
        }
        Ok(())
    }
}

/// A connection that is made for one thing.
struct Single {
    client: Client,
    driver: JoinHandle<std::result::Result<(), tokio_postgres::Error>>,
}

impl Single {
    async fn prepare(&self) -> Result<()> {
        require_server(&self.client).await?;
        Ok(self.client.batch_execute(SESSION_SETTINGS).await?)
    }

    /// Waits until the connection is gone, so that nobody finds it any more.
    async fn end(self) {
        drop(self.client);
        // It has nothing to say but that the connection has ended.
        drop(self.driver.await);
    }
}

/// The process of the server that answers, after this statement.
async fn process_of(client: &Client, first: &str) -> Result<Option<String>> {
    value_of(
        client,
        &format!("{first}SELECT pg_catalog.pg_backend_pid()"),
    )
    .await
}

/// The value that statements give, as text. Nothing is prepared: that would stay with the process of the server.
async fn value_of(client: &Client, statements: &str) -> Result<Option<String>> {
    let told = client.simple_query(statements).await?;
    let value = told.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(value)
}

/// Looks whether there is a name to hold the certificate of each host against.
fn require_names(config: &Config) -> Result<()> {
    let hosts = config.get_hosts();
    if hosts.is_empty() {
        return Err(unfit(
            "a certificate is for the name of a host; give host beside hostaddr",
        ));
    }
    if hosts.iter().any(|host| matches!(host, Host::Unix(_))) {
        return Err(unfit(
            "a socket has no TLS, which sslmode=verify-full or a host on another machine asks for; give \
             the names of all hosts",
        ));
    }
    Ok(())
}

fn is_on_this_machine(config: &Config) -> bool {
    let is_near = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse()
                    .is_ok_and(|address: IpAddr| address.is_loopback())
        }
    };
    let hosts = config.get_hosts();
    let addresses = config.get_hostaddrs();
    addresses.iter().all(IpAddr::is_loopback)
        && (hosts.iter().all(is_near) || !addresses.is_empty())
        && !(hosts.is_empty() && addresses.is_empty())
}

/// The error for a connection that was not made: what another attempt does not change is told.
fn unreachable(error: &tokio_postgres::Error) -> StoreError {
    match error.as_db_error() {
        // Class 28 is a login that is refused.
        Some(said)
            if said.code().code().starts_with("28")
                || *said.code() == SqlState::INVALID_CATALOG_NAME =>
        {
            unfit(said.message())
        }
        // It was not even tried: it is not trusted, or a password is missing, or asked for in a way that is
        // unknown here.
        None if meaning_of(error) == Meaning::Refused => {
            let cause = said_by(error);
            unfit(match cause.as_str() {
                "server does not support TLS" => {
                    "its server has no TLS: turn it on there (ssl = on), or write sslmode=disable into the \
                     URL where the network is trusted"
                        .to_owned()
                }
                _ => cause,
            })
        }
        // With TLS 1.3 that comes after the handshake.
        None if let Some(alert) = tls::refusal(error) => unfit(refused_by_server(&alert)),
        _ => match failure(error) {
            // Why, for the log.
            StoreError::Unavailable => StoreError::Engine(said_by(error).into()),
            failure => failure,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_another_machine_is_encrypted_unless_the_url_says_otherwise() {
        for (url, is_encrypted) in [
            ("postgres://a:b@localhost/c", false),
            ("postgres://a@127.0.0.1:5433,[::1]/c", false),
            ("postgres://a@%2Frun%2Fpostgresql/c", false),
            ("postgres:///c?host=db.example&hostaddr=127.0.0.1", false),
            ("postgres://a@localhost/c?sslmode=verify-full", true),
            ("postgres://a@db.example/c", true),
            ("postgres://a@0.0.0.0/c", true),
            ("postgres://a@localhost,10.0.0.1/c", true),
            ("postgres://a@localhost/c?hostaddr=10.0.0.1", true),
            ("postgres://a@db.example/c?sslmode=disable", false),
        ] {
            let server = Server::new(url).unwrap();
            let is_tls = format!("{:?}", server.credentials) == "TLS";
            for mode in server.hosts.ssl_modes() {
                let encrypts = mode == SslMode::Require && is_tls;
                assert_eq!(encrypts, is_encrypted, "{url}");
                assert!(is_encrypted || mode == SslMode::Disable, "{url}");
            }
        }
    }

    #[test]
    fn what_cannot_be_reached_so_is_refused_and_no_secret_is_told() {
        for (url, told) in [
            ("postgres://a:secret@localhost:x/c", "is not of the form"),
            ("host=localhost user=a password=secret", "of the form"),
            (
                "postgres://a:secret@%2Frun%2Fpostgresql/c?sslmode=verify-full",
                "a socket has no TLS",
            ),
            (
                "postgres://a:secret@%2Frun,10.0.0.1/c",
                "a socket has no TLS",
            ),
            (
                "postgres:///c?password=secret&hostaddr=10.0.0.1",
                "give host beside hostaddr",
            ),
            (
                "postgres://a:secret@h/c?sslrootcert=/nowhere/ca.pem",
                "sslrootcert names /nowhere/ca.pem: it cannot be read: No such file",
            ),
            (
                "postgres://a:secret@h/c?sslrootcert=Cargo.toml",
                "sslrootcert names Cargo.toml: it must be certificates, PEM",
            ),
        ] {
            let refused = Server::new(url).unwrap_err();
            let shown = format!("{refused} {refused:?}");
            assert!(shown.contains(told) && !shown.contains("secret"), "{shown}");
        }
    }
}
