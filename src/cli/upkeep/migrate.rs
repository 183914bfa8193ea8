//! `migrate`: the tables of a store in a database get what this version needs, on request.

use super::upgrade;
use crate::cli::init::daemon_role::DaemonRole;
use crate::cli::output::visible_path;
use crate::cli::settings::Settings;
use crate::cli::{Error, Result, Streams, bucket, engine};
use crate::store::Migrated;
use crate::store::engine::{Engine, StoreAddress};

/// `migrate`.
pub(in crate::cli) fn run(
    role: &DaemonRole,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let url = match &*settings.store {
        StoreAddress::Postgres(url) => url,
        StoreAddress::Folder(data) => {
            return Err(Error::Failed(format!(
                "\"siteconf migrate\" is for a store in PostgreSQL; \"siteconf upgrade --data {}\" is for \
                 this folder",
                visible_path(data)
            )));
        }
    };
    let address = engine::complete(url, settings)?;
    // What is missing to leave word of it is told before anything is done.
    bucket::access(settings)?;
    let migrated = Engine::migrate(&address).map_err(|error| engine::of_store(error, settings))?;
    let Migrated {
        from,
        from_first,
        current,
        steps,
        is_ready,
        stopped,
    } = migrated;
    // Where this fails, the steps are told all the same; where nobody can be told, the audit log has them.
    let noted = if is_ready && stopped.is_none() && !steps.is_empty() {
        upgrade::note(settings, format!("from schema {from_first} to {current}"))
    } else {
        Ok(())
    };
    if let Some((reached, _)) = steps.last() {
        for (number, brings) in &steps {
            writeln!(streams.out, "step {number}: {brings}")?;
        }
        writeln!(streams.out, "{url} has schema {reached} now; it had {from}")?;
    } else if stopped.is_none() {
        let known = if from == current {
            "which this version needs"
        } else {
            "which a newer version made"
        };
        writeln!(
            streams.out,
            "{url} has schema {from}, {known}: nothing to do"
        )?;
    }
    noted?;
    if let Some(error) = stopped {
        return Err(engine::of_store(error, settings));
    }
    if let Some(role) = &role.daemon_role {
        Engine::grant(&address, role).map_err(|error| engine::of_store(error, settings))?;
        writeln!(streams.out, "the role \"{role}\" may serve it")?;
    }
    Ok(())
}
