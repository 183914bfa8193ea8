//! `migrate`: the tables of a store in a database get what this version needs, on request.

use super::init::daemon_role::DaemonRole;
use super::output::visible_path;
use super::settings::Settings;
use super::{Error, Result, Streams, engine, upgrade};
use crate::store::Migrated;
use crate::store::engine::{Engine, StoreAddress};

/// `migrate`.
pub(super) fn run(role: &DaemonRole, settings: &Settings, streams: &mut Streams<'_>) -> Result<()> {
    let url = match &settings.store {
        StoreAddress::Postgres(url) => url,
        StoreAddress::Folder(data) => {
            return Err(Error::Failed(format!(
                "\"siteconf migrate\" is for a store in PostgreSQL; \"siteconf upgrade --data {}\" is for \
                 this folder",
                visible_path(data)
            )));
        }
    };
    let address = engine::with_password(url, settings)?;
    let migrated = Engine::migrate(&address).map_err(|error| engine::of_store(error, settings))?;
    let Migrated {
        from,
        current,
        steps,
        is_ready,
    } = migrated;
    if steps.is_empty() {
        let known = if from == current {
            "which this version needs"
        } else {
            "which a newer version made"
        };
        writeln!(
            streams.out,
            "{url} has schema {from}, {known}: nothing to do"
        )?;
    } else {
        for (number, brings) in &steps {
            writeln!(streams.out, "step {number}: {brings}")?;
        }
        writeln!(streams.out, "{url} has schema {current} now; it had {from}")?;
    }
    if let Some(role) = &role.daemon_role {
        Engine::grant(&address, role).map_err(|error| engine::of_store(error, settings))?;
        writeln!(streams.out, "the role \"{role}\" may serve it")?;
    }
    if is_ready && !steps.is_empty() {
        upgrade::note(settings, format!("from schema {from} to {current}"))?;
    }
    Ok(())
}
