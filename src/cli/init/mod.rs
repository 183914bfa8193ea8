//! A store, made without being served.

use std::path::Path;

use crate::cli::args::DaemonRole;
use crate::cli::first_start::{first_account, first_account_of_fleet, server_key};
use crate::cli::opened::Opened;
use crate::cli::output::visible_path;
use crate::cli::settings::Settings;
use crate::cli::{Error, Result, Streams, bucket, engine};
use crate::store::database_url::DatabaseUrl;
use crate::store::engine::{Engine, Purpose, StoreAddress};
use crate::store::sqlite::Folder;

/// `init`. It makes what a first start of the service makes; one that was interrupted is finished.
pub(super) fn init(
    role: &DaemonRole,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    match &settings.store {
        StoreAddress::Folder(_) if role.daemon_role.is_some() => Err(Error::Usage(
            "--daemon-role is for a store in PostgreSQL, and store names none".to_owned(),
        )),
        StoreAddress::Folder(data) => in_folder(data, settings, streams),
        StoreAddress::Postgres(url) => in_database(url, role, settings, streams),
    }
}

fn in_folder(data: &Path, settings: &Settings, streams: &mut Streams<'_>) -> Result<()> {
    let shown = visible_path(data);
    if Folder::was_made(data) && !Opened::for_reading(settings)?.accounts.is_empty()? {
        return Err(Error::Failed(format!(
            "{shown}: there is a store here already; \"siteconf status --data {shown}\" shows it"
        )));
    }
    let engine = engine::open(settings, Purpose::Serve)?;
    let opened = Opened::of(engine);
    server_key(
        opened.key_file(settings)?,
        &opened.repository,
        &opened.accounts,
        false,
    )?;
    if let Some(folder) = opened.data_folder() {
        first_account(folder, &opened.accounts, streams)?;
    }
    streams.tell(format_args!(
        "{shown} holds a store now; \"siteconf serve --data {shown}\" serves it"
    ))
}

/// The tables, the key and the first account, whose password is printed: there is no folder to keep it in.
fn in_database(
    url: &DatabaseUrl,
    role: &DaemonRole,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    // What is missing is told before anything is made.
    let key_file = engine::key_file(None, settings)?;
    let bucket = bucket::access(settings)?;
    let address = engine::with_password(url, settings)?;
    Engine::init(&address).map_err(|error| engine::of_store(error, settings))?;
    // As the service will, which is sooner told now than then.
    let refused = |error| engine::of_store(error, settings);
    let store = StoreAddress::Postgres(address.clone());
    drop(Engine::open(&store, bucket.as_ref(), Purpose::Serve).map_err(refused)?);
    let Opened {
        repository,
        accounts,
        ..
    } = Opened::beside(settings)?;
    if !accounts.is_empty()? {
        return Err(Error::Failed(format!(
            "{url}: there is a store here already"
        )));
    }
    if let Some(role) = &role.daemon_role {
        Engine::grant(&address, role).map_err(refused)?;
    }
    server_key(key_file, &repository, &accounts, false)?;
    first_account_of_fleet(&accounts, streams)?;
    streams.tell(format_args!(
        "{url} holds a store now; \"siteconf serve\" with the same settings serves it"
    ))
}
