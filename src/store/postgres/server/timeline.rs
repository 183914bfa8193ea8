//! Which history of the database a server writes.

use tokio_postgres::Client;

use crate::store::Result;
use crate::store::postgres::failure::{Meaning, meaning_of};

/// The number of a history, as PostgreSQL counts them; 0 where the server does not tell, which is one like another. A
/// standby that takes the place of its primary begins another one, and so does a database that is restored to a moment:
/// what was committed in the one before may be missing in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store::postgres) struct Timeline(pub(in crate::store::postgres) u32);

impl Timeline {
    /// That of the server at the other end of a connection.
    ///
    /// # Errors
    /// That the connection is lost.
    pub(super) async fn of(client: &Client) -> Result<Self> {
        // The name of a file of the log begins with it. Services that keep no such files may refuse the question.
        let name = "SELECT pg_walfile_name(pg_current_wal_insert_lsn())";
        let name: Option<String> = match client.query_one(name, &[]).await {
            Ok(row) => row.try_get(0)?,
            Err(error) if meaning_of(&error) == Meaning::Refused => None,
            Err(error) => return Err(error.into()),
        };
        let number = name.and_then(|name| u32::from_str_radix(name.get(..8)?, 16).ok());
        Ok(Self(number.unwrap_or_default()))
    }
}
