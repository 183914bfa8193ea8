//! The store of the service: opened, and with what it needs before it is served.

use std::sync::Arc;

use super::{ServeFlags, common_settings, say};
use crate::access::{self, Accounts};
use crate::base::clock::Clock;
use crate::base::secret::ServerKey;
use crate::cli::output::visible;
use crate::cli::settings::Settings;
use crate::cli::{Result, Streams, engine, first_start, open_store};
use crate::repo::{Projects, SteadyClock};
use crate::store::engine::{Engine, Purpose};
use crate::store::record_cache::RecordCache;
use crate::store::sqlite::SqliteStore;
use crate::store::{Store, Writes};

/// A store that can be served.
pub(super) struct ServedStore {
    pub(super) engine: Engine,
    /// Over the engine, with records kept in memory.
    pub(super) store: Arc<dyn Store>,
    pub(super) projects: Projects,
    pub(super) key: ServerKey,
}

impl ServedStore {
    /// Opens the store of the settings, and makes in it what it lacks.
    ///
    /// # Errors
    /// Why it cannot be served, and what to do.
    pub(super) fn open(
        settings: &Settings,
        flags: &ServeFlags,
        clock: &Arc<dyn Clock>,
        streams: &mut Streams<'_>,
    ) -> Result<Self> {
        let engine = engine::open(settings, Purpose::Serve)?;
        let store: Arc<dyn Store> = Arc::new(RecordCache::over(engine.store()));
        let projects = access::projects(Arc::clone(&store), Arc::clone(clock));
        let key = begin(&engine, &projects, settings, flags.new_server_key, streams)?;
        if flags.trust_clock {
            trust_clock(projects.steady_clock())?;
        }
        engine.show_signs_of_life(common_settings::of(settings));
        Ok(Self {
            engine,
            store,
            projects,
            key,
        })
    }
}

/// Puts the time that the store knows of back to that of the machine's clock, if it is ahead.
fn trust_clock(steady_clock: &SteadyClock) -> Result<()> {
    let ahead_s = steady_clock.ahead_s();
    if ahead_s > 0 {
        steady_clock.trust_clock(&open_store::actor())?;
        tracing::warn!(
            "the machine's clock is trusted: the time that the store knew of was {ahead_s} s ahead of it"
        );
    }
    Ok(())
}

/// Takes the server's key, and makes what the store needs before it is served. `renew_key` is as for
/// [`first_start::server_key`].
fn begin(
    engine: &Engine,
    projects: &Projects,
    settings: &Settings,
    renew_key: bool,
    streams: &mut Streams<'_>,
) -> Result<ServerKey> {
    let accounts = Accounts::new(projects).acting(open_store::actor());
    let folder = engine.embedded().map(|store| store.data_folder());
    let key_file = engine::key_file(folder, settings)?;
    if folder.is_none() {
        first_start::require_account(&accounts, settings)?;
    }
    let renewed = renew_key.then(|| engine.inspectable());
    let key = first_start::server_key(key_file, projects, &accounts, renewed)?;
    if let Some(store) = engine.embedded() {
        begin_in_folder(store, &accounts, settings, streams)?;
    }
    Ok(key)
}

/// What a store in a folder needs beyond its key before it is served.
fn begin_in_folder(
    store: &SqliteStore,
    accounts: &Accounts,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    first_start::first_account(store.data_folder(), accounts, streams)?;
    // Behind the first account, which a small disk must not keep anybody from.
    store.keep_free(settings.disk_free_min);
    if store.writes() == Writes::Full {
        say_little_room(streams, settings);
    }
    Ok(())
}

/// Tells what is refused for want of room, and what to do.
fn say_little_room(streams: &mut Streams<'_>, settings: &Settings) {
    say(
        streams,
        format_args!(
            "the disk of {} has less free room than disk_free_min, {} bytes: what adds content is \
             refused with 507 until there is more; on a small disk, set disk_free_min lower",
            visible(&settings.store.to_string()),
            settings.disk_free_min
        ),
    );
}
