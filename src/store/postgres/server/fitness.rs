//! What is looked for on each new connection.

use tokio_postgres::Client;

use super::primary::Started;
use crate::store::postgres::failure::unfit;
use crate::store::{Result, StoreError};

/// PostgreSQL 14.
const VERSION_MIN: i32 = 140_000;
/// Why a standby is not used.
pub(super) const IS_STANDBY: &str = "it is a standby; give the address of the primary";

/// Looks whether this server keeps what is written. Gives which it is.
pub(super) async fn require_server(client: &Client) -> Result<Started> {
    let told = "SELECT current_setting('server_version_num')::int, pg_is_in_recovery(),
                       current_setting('fsync')::bool, current_setting('full_page_writes')::bool,
                       current_setting('server_encoding'),
                       (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8";
    let told = client.query_one(told, &[]).await?;
    let version: i32 = told.try_get(0)?;
    if version < VERSION_MIN {
        let major = version / 10_000;
        return Err(unfit(format!(
            "it is PostgreSQL {major}; 14 is the oldest that will do"
        )));
    }
    if told.try_get(1)? {
        // It may be about to take the place of the primary.
        return Err(StoreError::Engine(IS_STANDBY.into()));
    }
    let encoding: &str = told.try_get(4)?;
    if encoding != "UTF8" {
        return Err(unfit(format!(
            "its encoding is {encoding}; make a database with ENCODING 'UTF8'"
        )));
    }
    for (place, setting) in [(2, "fsync"), (3, "full_page_writes")] {
        if !told.try_get::<_, bool>(place)? {
            return Err(unfit(format!(
                "its setting {setting} is off, so it loses what it has acknowledged when the power \
                 fails; turn it on"
            )));
        }
    }
    Ok(Started(told.try_get(5)?))
}
