//! The engines that there are, and the one place that opens one.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::bucket_access::BucketAccess;
use super::database_url::DatabaseUrl;
use super::inspection::{CommonSettings, Inspectable};
#[cfg(feature = "fleet")]
use super::postgres::PostgresStore;
use super::sqlite::SqliteStore;
use super::transfer::{Hold, Loader};
use super::{Found, Migrated, Result, Store};

/// Where a store lies, which says what engine it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// In a folder: the embedded engine's.
    Folder(PathBuf),
    /// In a database of PostgreSQL.
    Postgres(DatabaseUrl),
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be served. A folder is made where there is none, and locked.
    Serve,
    /// To be changed, beside daemons that may be running.
    Change,
    /// To be looked at.
    Read,
}

/// An open store.
#[derive(Clone, Debug)]
pub enum Engine {
    /// The embedded one.
    Embedded(Arc<SqliteStore>),
    /// The one over PostgreSQL.
    #[cfg(feature = "fleet")]
    Postgres(Arc<PostgresStore>),
}

impl Engine {
    /// Opens the store at an address. Of one in a database the large files lie in a bucket, where there is one,
    /// which is looked at before it is served; that it does not answer is no error.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open_locked`] and of its sisters; [`super::StoreError::Unfit`] where a database
    /// cannot be used or has no store, [`super::StoreError::Unavailable`] where it does not answer,
    /// [`super::StoreError::UnfitBucket`].
    pub fn open(
        address: &StoreAddress,
        bucket: Option<&BucketAccess>,
        purpose: Purpose,
    ) -> Result<Self> {
        match address {
            StoreAddress::Folder(root) => {
                let store = match purpose {
                    Purpose::Serve => SqliteStore::open_locked(root),
                    Purpose::Change => SqliteStore::open_beside(root),
                    Purpose::Read => SqliteStore::open_read_only(root),
                };
                Ok(Self::Embedded(Arc::new(store?)))
            }
            #[cfg(feature = "fleet")]
            StoreAddress::Postgres(url) => {
                let mut store = PostgresStore::open_at(url, purpose != Purpose::Read)?;
                if let Some(bucket) = bucket {
                    store = store.with_bucket(bucket)?;
                }
                if purpose == Purpose::Serve {
                    store.require_large()?;
                    store.keep_bucket();
                }
                Ok(Self::Postgres(Arc::new(store)))
            }
            #[cfg(not(feature = "fleet"))]
            StoreAddress::Postgres(url) => {
                debug_assert!(bucket.is_none(), "no setting gives one");
                Err(without_fleet(url))
            }
        }
    }

    /// Makes a store in a database; one that has a store keeps it as it is.
    ///
    /// # Errors
    /// [`super::StoreError::Unfit`] where the database cannot be used.
    pub fn init(url: &DatabaseUrl) -> Result<Found> {
        #[cfg(feature = "fleet")]
        return PostgresStore::init(url.reveal());
        #[cfg(not(feature = "fleet"))]
        return Err(without_fleet(url));
    }

    /// Lets a role of a database do what a daemon does, and no more.
    ///
    /// # Errors
    /// [`super::StoreError::Unfit`].
    pub fn grant(url: &DatabaseUrl, role: &str) -> Result<()> {
        #[cfg(feature = "fleet")]
        return PostgresStore::grant(url.reveal(), role);
        #[cfg(not(feature = "fleet"))]
        return Err(without_fleet(&format_args!("{url}, with the role {role},")));
    }

    /// Shows other daemons that this one is there, where there may be others, and that it has these settings.
    pub fn show_signs_of_life(&self, settings: CommonSettings) {
        match self {
            Self::Embedded(_) => drop(settings),
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.show_signs_of_life(settings),
        }
    }

    /// In what daemons that are there differ from these settings, in words. `None` where in nothing, as far as they
    /// tell.
    pub fn differing_settings(&self, own: &CommonSettings) -> Result<Option<String>> {
        match self {
            Self::Embedded(_) => Ok(CommonSettings::differences([("here", own)])),
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.differing_settings(own),
        }
    }

    /// Tells the log what the server of a database leaves to chance, where there is one.
    pub fn advise(&self) {
        match self {
            Self::Embedded(_) => {}
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.advise(),
        }
    }

    /// Looks whether the URL of a database is one that could be reached; nothing is asked of it.
    ///
    /// # Errors
    /// [`super::StoreError::Unfit`].
    pub fn check(url: &DatabaseUrl) -> Result<()> {
        #[cfg(feature = "fleet")]
        return PostgresStore::check(url.reveal());
        #[cfg(not(feature = "fleet"))]
        return Err(without_fleet(url));
    }

    /// Takes the steps of the schema that a database lacks. Where one was not taken, what was done says why.
    ///
    /// # Errors
    /// [`super::StoreError::Unfit`], [`super::StoreError::Underway`] beside another: nothing was done.
    pub fn migrate(url: &DatabaseUrl) -> Result<Migrated> {
        #[cfg(feature = "fleet")]
        return PostgresStore::migrate(url.reveal());
        #[cfg(not(feature = "fleet"))]
        return Err(without_fleet(url));
    }

    /// Takes an address for a copy of the store of this name: where nothing is, or what an earlier copy of it
    /// has left.
    ///
    /// # Errors
    /// [`super::StoreError::Folder`], [`super::StoreError::Unfit`] for what is something else;
    /// [`super::StoreError::Locked`], [`super::StoreError::Underway`] beside another copy.
    pub fn begin_copy(
        address: &StoreAddress,
        bucket: Option<&BucketAccess>,
        of: &str,
    ) -> Result<Box<dyn Loader>> {
        match address {
            StoreAddress::Folder(root) => SqliteStore::begin_copy(root, of),
            #[cfg(feature = "fleet")]
            StoreAddress::Postgres(url) => PostgresStore::begin_copy(url, bucket, of),
            #[cfg(not(feature = "fleet"))]
            StoreAddress::Postgres(url) => {
                debug_assert!(bucket.is_none(), "no setting gives one");
                Err(without_fleet(url))
            }
        }
    }

    /// Holds a store against every service, until the hold is dropped.
    ///
    /// # Errors
    /// [`super::StoreError::Locked`], [`super::StoreError::Unfit`] while one has it open.
    pub fn hold(address: &StoreAddress) -> Result<Box<dyn Hold>> {
        match address {
            StoreAddress::Folder(root) => SqliteStore::hold(root),
            #[cfg(feature = "fleet")]
            StoreAddress::Postgres(url) => PostgresStore::hold(url),
            #[cfg(not(feature = "fleet"))]
            StoreAddress::Postgres(url) => Err(without_fleet(url)),
        }
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => Arc::clone(store) as Arc<dyn Store>,
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// The store, to look into it.
    pub fn inspectable(&self) -> &dyn Inspectable {
        match self {
            Self::Embedded(store) => store.as_ref(),
            #[cfg(feature = "fleet")]
            Self::Postgres(store) => store.as_ref(),
        }
    }

    /// The embedded engine's, for what no other one offers.
    pub fn embedded(&self) -> Option<&Arc<SqliteStore>> {
        match self {
            Self::Embedded(store) => Some(store),
            #[cfg(feature = "fleet")]
            Self::Postgres(_) => None,
        }
    }
}

/// The refusal of an address that no setting gives: it was refused when it was read.
#[cfg(not(feature = "fleet"))]
fn without_fleet(url: &dyn fmt::Display) -> super::StoreError {
    super::StoreError::Unfit {
        reason: format!("{url} needs the feature \"fleet\", which this program was built without"),
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(root) => root.display().fmt(f),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}
