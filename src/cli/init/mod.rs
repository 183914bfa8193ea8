//! A store, made without being served.

use crate::cli::first_start::{first_account, server_key};
use crate::cli::opened::Opened;
use crate::cli::output::visible_path;
use crate::cli::settings::Settings;
use crate::cli::{Error, Result, Streams};
use crate::store::sqlite::{Folder, SqliteStore};

/// `init`. It makes what a first start of the service makes; one that was interrupted is finished.
pub(super) fn init(settings: &Settings, streams: &mut Streams<'_>) -> Result<()> {
    let data = &settings.data;
    let shown = visible_path(data);
    if Folder::was_made(data) && !Opened::for_reading(settings)?.accounts.is_empty()? {
        return Err(Error::Failed(format!(
            "{shown}: there is a store here already; \"siteconf status --data {shown}\" shows it"
        )));
    }
    let Opened {
        store,
        repository,
        accounts,
        ..
    } = Opened::of(SqliteStore::open_locked(data)?);
    server_key(store.data_folder(), &repository, &accounts, false)?;
    first_account(store.data_folder(), &accounts, streams)?;
    streams.tell(format_args!(
        "{shown} holds a store now; \"siteconf serve --data {shown}\" serves it"
    ))
}
