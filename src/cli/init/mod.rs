//! A store, made without being served.

pub(super) mod daemon_role;

use std::fmt::Display;
use std::path::Path;

use clap::Args;

use daemon_role::DaemonRole;

use crate::cli::first_start::{first_account, first_account_of_fleet, server_key};
use crate::cli::open_store::OpenStore;
use crate::cli::output::visible_path;
use crate::cli::settings::Settings;
use crate::cli::{Error, Result, Streams, bucket, engine};
use crate::store::Found;
use crate::store::database_url::DatabaseUrl;
use crate::store::engine::{Engine, Purpose, StoreAddress};
use crate::store::sqlite::Folder;

/// What is to be made, and whether it may be there.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    #[command(flatten)]
    daemon: DaemonRole,
    /// Where a store is there already, succeeds and changes nothing
    #[arg(long)]
    if_absent: bool,
}

/// `init`. It makes what a first start of the service makes; one that was interrupted is finished.
pub(super) fn init(args: &InitArgs, settings: &Settings, streams: &mut Streams<'_>) -> Result<()> {
    match &*settings.store {
        StoreAddress::Folder(_) if args.daemon.daemon_role.is_some() => Err(Error::Usage(
            "--daemon-role is for a store in PostgreSQL, and store names none".to_owned(),
        )),
        StoreAddress::Folder(data) => in_folder(data, args, settings, streams),
        StoreAddress::Postgres(url) => in_database(url, args, settings, streams),
    }
}

/// What becomes of it where a store is there already.
fn already_there(args: &InitArgs, said: &dyn Display, streams: &mut Streams<'_>) -> Result<()> {
    if args.if_absent {
        return streams.tell(format_args!("{said}"));
    }
    Err(Error::Failed(said.to_string()))
}

fn in_folder(
    data: &Path,
    args: &InitArgs,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let shown = visible_path(data);
    if Folder::was_made(data) && !OpenStore::for_reading(settings)?.accounts.is_empty()? {
        let said = format_args!(
            "{shown}: there is a store here already; \"siteconf status --data {shown}\" shows it"
        );
        return already_there(args, &said, streams);
    }
    let engine = engine::open(settings, Purpose::Serve)?;
    let opened = OpenStore::of(engine);
    server_key(
        opened.key_file(settings)?,
        &opened.projects,
        &opened.accounts,
        None,
    )?;
    if let Some(folder) = opened.data_folder() {
        first_account(folder, &opened.accounts, streams)?;
    }
    streams.tell_change(format_args!(
        "{shown} holds a store now; \"siteconf serve --data {shown}\" serves it"
    ))
}

/// The tables, the key and the first account, whose password is printed: there is no folder to keep it in.
fn in_database(
    url: &DatabaseUrl,
    args: &InitArgs,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    // What is missing is told before anything is made.
    let key_file = engine::key_file(None, settings)?;
    let bucket = bucket::access(settings)?;
    let address = engine::complete(url, settings)?;
    if !args.if_absent {
        streams.require_out("the password")?;
    }
    let refused = |error| engine::of_store(error, settings);
    let found = Engine::init(&address).map_err(refused)?;
    if args.if_absent && found == Found::OtherSchema {
        return streams.tell(format_args!(
            "{url}: there is a store here already, with the schema of another version"
        ));
    }
    // As the service will, which is sooner told now than then.
    let store = StoreAddress::Postgres(address.clone());
    drop(Engine::open(&store, bucket.as_ref(), Purpose::Serve).map_err(refused)?);
    let OpenStore {
        projects, accounts, ..
    } = OpenStore::beside(settings)?;
    if !accounts.is_empty()? {
        let said = format_args!("{url}: there is a store here already");
        return already_there(args, &said, streams);
    }
    streams.require_out("the password")?;
    if let Some(role) = &args.daemon.daemon_role {
        Engine::grant(&address, role).map_err(refused)?;
    }
    server_key(key_file, &projects, &accounts, None)?;
    first_account_of_fleet(&accounts, streams)?;
    streams.tell_change(format_args!(
        "{url} holds a store now; \"siteconf serve\" with the same settings serves it"
    ))
}
