//! Stores in a database that are copied: one that is filled, and one on which a hold is.

use std::sync::Arc;

use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::failure::{Meaning, failure, meaning_of, unfit};
use super::row::signed;
use super::schema::Expected;
use super::server::{SESSION_SETTINGS, Server};
use super::{PostgresStore, THREADS, once};
use crate::store::bucket_access::BucketAccess;
use crate::store::database_url::DatabaseUrl;
use crate::store::remote::OwnRuntime;
use crate::store::transfer::{Hold, Loader};
use crate::store::{Record, Result, Store, StoreError, Version};

/// Whoever fills a database holds this lock.
const FILL: &str = "SET lock_timeout = '1s'; SELECT pg_advisory_lock(1936290917, 3)";
/// What may write has a share of this lock, as long as it is connected. One that has ended just now may still
/// be.
const BE_ALONE: &str = "SET lock_timeout = '1s'; SELECT pg_advisory_lock(1936290917, 2)";
/// The lock of all who commit.
const STOP_COMMITS: &str = "SET lock_timeout = '10s'; SELECT pg_advisory_lock(1936290915, 1)";
const PUT: &str = "
INSERT INTO siteconf.record (key, version, value)
SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])";
const CLEAR: &str = "TRUNCATE siteconf.record";
const END: &str = "
WITH gone AS (DELETE FROM siteconf.change WHERE version <> $1)
INSERT INTO siteconf.change (version, key) VALUES ($1, '') ON CONFLICT DO NOTHING";
const FINISH: &str =
    "UPDATE siteconf.format SET state = 'ready', copy_of = NULL WHERE state = 'copying'";

/// A connection of its own, over which one statement is asked after the other.
#[derive(Debug)]
struct Own {
    runtime: OwnRuntime,
    client: Arc<Client>,
}

/// A database that is filled.
#[derive(Debug)]
struct CopiedDatabase {
    store: PostgresStore,
    own: Own,
}

impl PostgresStore {
    /// Takes a database for a copy of what has this name: one without a store, or with what an earlier copy of
    /// the same has left. Nobody takes it for a store before [`Loader::finish`].
    ///
    /// # Errors
    /// [`StoreError::Unfit`] for a database that has a store, or cannot be used; [`StoreError::Underway`]
    /// beside another copy.
    pub(in crate::store) fn begin_copy(
        url: &DatabaseUrl,
        bucket: Option<&BucketAccess>,
        of: &str,
    ) -> Result<Box<dyn Loader>> {
        let server = Server::at(url)?;
        let name = of.to_owned();
        once(async move { server.begin_copy(&name).await })?;
        let own = Own::connect(url)?;
        own.run(FILL).map_err(|error| match error {
            StoreError::LockInTheWay => StoreError::Underway {
                what: "another copy into this database",
            },
            error => error,
        })?;
        let server = Server::at(url)?.expecting(Expected::CopyOf(of.to_owned()));
        let mut store = Self::open_on(server, true)?;
        if let Some(bucket) = bucket {
            store = store.with_bucket(bucket)?;
            store.require_large()?;
        }
        Ok(Box::new(CopiedDatabase { store, own }))
    }

    /// Holds a store against all who write. It asks that no service and no command that writes is connected,
    /// and keeps them off from then on.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] while one is.
    pub(in crate::store) fn hold(url: &DatabaseUrl) -> Result<Box<dyn Hold>> {
        let own = Own::connect(url)?;
        own.run(BE_ALONE).map_err(|error| match error {
            StoreError::LockInTheWay => {
                unfit("a service, or a command that changes something, is connected to it")
            }
            error => error,
        })?;
        own.run(STOP_COMMITS)?;
        Ok(Box::new(own))
    }
}

impl Own {
    fn connect(url: &DatabaseUrl) -> Result<Self> {
        let server = Server::at(url)?;
        let runtime = OwnRuntime::start(THREADS, "store-postgres")?;
        let client = runtime.wait(async move {
            let (client, connection) = server.connect().await?;
            // It has nothing to say but that the connection has ended.
            drop(tokio::spawn(connection));
            client.batch_execute(SESSION_SETTINGS).await?;
            Ok(client)
        })?;
        Ok(Self {
            runtime,
            client: Arc::new(client),
        })
    }

    fn run(&self, statements: &'static str) -> Result<()> {
        self.wait(|client| async move { client.batch_execute(statements).await })
    }

    fn execute<const N: usize>(
        &self,
        statement: &'static str,
        params: [Box<dyn ToSql + Sync + Send>; N],
    ) -> Result<u64> {
        self.wait(|client| async move {
            let params = params
                .each_ref()
                .map(|param| &**param as &(dyn ToSql + Sync));
            client.execute(statement, &params).await
        })
    }

    fn wait<T: Send + 'static, W>(&self, work: impl FnOnce(Arc<Client>) -> W) -> Result<T>
    where
        W: Future<Output = std::result::Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        let work = work(Arc::clone(&self.client));
        self.runtime.wait(async move {
            work.await.map_err(|error| match meaning_of(&error) {
                Meaning::Lost => StoreError::Unavailable,
                Meaning::Again | Meaning::Raised | Meaning::Refused => failure(&error),
            })
        })
    }
}

impl Hold for Own {
    fn require(&self) -> Result<()> {
        // The locks end with the connection.
        self.run("SELECT 1")
    }
}

impl Loader for CopiedDatabase {
    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn begin_records(&mut self) -> Result<()> {
        self.own.run(CLEAR)
    }

    fn put_records(&mut self, records: &[Arc<Record>]) -> Result<()> {
        let keys: Vec<_> = records
            .iter()
            .map(|it| it.key.clone().into_bytes())
            .collect();
        let versions: Vec<_> = records.iter().map(|it| signed(it.version)).collect();
        let values: Vec<_> = records.iter().map(|it| it.value.to_vec()).collect();
        let params: [Box<dyn ToSql + Sync + Send>; 3] =
            [Box::new(keys), Box::new(versions), Box::new(values)];
        self.own.execute(PUT, params).map(drop)
    }

    fn end_records(&mut self, last: Version) -> Result<()> {
        self.own.execute(END, [Box::new(signed(last))]).map(drop)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.own.execute(FINISH, []).map(drop)
    }
}
