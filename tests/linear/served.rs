//! A store, and the daemons that serve it.

use std::ffi::OsString;

use crate::daemon::Daemon;
use crate::gate::Gate;
#[cfg(feature = "fleet")]
use crate::{cluster::Cluster, store::Store};

/// How many daemons serve a database.
#[cfg(feature = "fleet")]
const DAEMONS: usize = 3;
/// Without it, who holds a token may read what was there 20 ms ago.
#[cfg(feature = "fleet")]
const STRICT: [&str; 2] = ["--reads", "strict"];

/// A store with its daemons.
#[derive(Debug)]
pub(crate) enum Served {
    /// One daemon on a folder.
    Folder(Daemon),
    /// Several over a database.
    #[cfg(feature = "fleet")]
    Database {
        store: Store,
        /// Ends after them.
        _cluster: Box<Cluster>,
    },
}

impl Served {
    /// An empty folder with its daemon.
    pub(crate) fn from_a_folder() -> Self {
        Self::Folder(Daemon::start())
    }

    /// A database with several.
    #[cfg(feature = "fleet")]
    pub(crate) fn from_a_database() -> Self {
        let cluster = Cluster::start();
        Self::Database {
            store: Store::make(&cluster, DAEMONS, &STRICT),
            _cluster: Box::new(cluster),
        }
    }

    /// The flags that name the store.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        match self {
            Self::Folder(daemon) => daemon.store_flags(),
            #[cfg(feature = "fleet")]
            Self::Database { store, .. } => store.flags.clone(),
        }
    }

    /// How many daemons there are.
    pub(crate) fn daemons(&self) -> usize {
        match self {
            Self::Folder(_) => 1,
            #[cfg(feature = "fleet")]
            Self::Database { store, .. } => store.daemons.len(),
        }
    }

    /// The way to them.
    pub(crate) fn gate(&self) -> Gate {
        match self {
            Self::Folder(daemon) => Gate::to([daemon.admin()], false),
            // The server goes on with what a daemon has sent it.
            #[cfg(feature = "fleet")]
            Self::Database { store, .. } => {
                Gate::to((0..DAEMONS).map(|daemon| store.admin_at(daemon)), true)
            }
        }
    }

    /// Kills one of them where it stands, and starts it again.
    pub(crate) fn kill_and_restart(&mut self, gate: &Gate, place: usize) {
        match self {
            Self::Folder(daemon) => {
                gate.kill(place, daemon);
                daemon.kill_and_restart();
                gate.open(place, daemon);
            }
            #[cfg(feature = "fleet")]
            Self::Database { store, .. } => {
                let serve = store.serve();
                let daemon = &mut store.daemons[place];
                gate.kill(place, daemon);
                daemon.kill_and_restart_as(serve);
                gate.open(place, daemon);
            }
        }
    }
}
