//! The schema, in numbered steps: the first makes it, each later one brings it on.
//!
//! A step that stands is never changed. It adds, or does what there is in another way, so that programs of the step
//! before go on beside it; what is no longer needed goes a release later, with a `writer_min` that keeps out whoever
//! needs it.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::failure::{failure, unfit};
use crate::store::{Found, Migrated, Result, StoreError};

/// A step: its statements, and what it brings, for a person.
struct Step {
    sql: &'static str,
    brings: &'static str,
}

/// The steps, from 1 on.
const STEPS: &[Step] = &[
    Step {
        sql: include_str!("1.sql"),
        brings: "the tables and functions",
    },
    Step {
        sql: include_str!("2.sql"),
        brings: "what the store says of itself: its step, who may write, whether it is whole",
    },
    Step {
        sql: include_str!("3.sql"),
        brings: "a role for daemons that may change no table by itself, and their signs of life",
    },
    Step {
        sql: include_str!("4.sql"),
        brings: "collections: what keeps an object from them, and the trash of the bucket",
    },
    Step {
        sql: include_str!("5.sql"),
        brings: "records by their last version: saves take no longer while somebody holds an old snapshot",
    },
    Step {
        sql: include_str!("6.sql"),
        brings: "commits that take less of the server",
    },
    Step {
        sql: include_str!("7.sql"),
        brings: "commits that are told of when a standby has them, also after a lost connection; room that is given \
                 back as fast as it is taken",
    },
    Step {
        sql: include_str!("8.sql"),
        brings: "changes that tell who wrote them: those that were lost are told from others in their places; daemons \
                 that tell what they refuse",
    },
    Step {
        sql: include_str!("9.sql"),
        brings: "collections that end where the server has lost their beginning; old changes that are removed in their \
                 order",
    },
    Step {
        sql: include_str!("10.sql"),
        brings: "files of the bucket that no row names, and may be of a later backup, go by the trash, too",
    },
    Step {
        sql: include_str!("11.sql"),
        brings: "daemons of earlier versions sweep the bucket no more, and remove old changes in their order; \
                 \"siteconf gc\" of a version that knows no step after 8 is refused",
    },
    Step {
        sql: include_str!("12.sql"),
        brings: "daemons that tell the settings which must be the same at all of them; times that a clock has left \
                 which was ahead are doubted",
    },
];

/// What each step ends with.
const OWNED: &str = include_str!("owned.sql");
/// What the role of daemons may do.
const GRANT: &str = include_str!("grant.sql");
/// The format of objects and records that this program reads and writes.
const FORMAT: i32 = 2;
/// What who changes the schema is told: a table that somebody holds must not make all others wait behind us.
const OF_STEPS: &str = "SET statement_timeout = 0; SET lock_timeout = '3s';";
/// Has a superuser change it as its owner, too: what a step makes then is the owner's, as what a superuser has made
/// before becomes. Others who may not act as the owner are refused.
const AS_OWNER: &str = include_str!("as_owner.sql");
/// Who changes the schema holds this lock, as long as the connection lives.
const LOCK: &str = "SELECT pg_advisory_lock(1936290917, 1)";
const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1936290917, 1)";
/// Of a table that may lack columns.
const KEPT: &str = "
SELECT format, store_id::text, coalesce((to_jsonb(f) ->> 'schema')::int, 1),
       coalesce((to_jsonb(f) ->> 'writer_min')::int, 1), coalesce(to_jsonb(f) ->> 'state', 'ready'),
       to_jsonb(f) ->> 'copy_of'
FROM siteconf.format f";
/// The step from which migrations began that have not come to the last step, by the comment of a table.
const BEGUN_FROM: &str = "
SELECT substring(obj_description(f.tableoid, 'pg_class') FROM '^being migrated from schema ([0-9]+)$')::int
FROM siteconf.format f";

/// In which state a store is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It is whole.
    Ready,
    /// It is filled by a copy of the store of this name.
    CopyOf(String),
}

/// What a database says of its store.
#[derive(Debug)]
pub(super) struct StoreFormat {
    format: i32,
    pub(super) store_id: String,
    schema: i32,
    writer_min: i32,
    state: String,
    copy_of: Option<String>,
}

impl StoreFormat {
    /// Reads it; `None` where there is no store.
    pub(super) async fn read(client: &Client) -> Result<Option<Self>> {
        let row = match client.query_one(KEPT, &[]).await {
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(None),
            row => row?,
        };
        Ok(Some(Self {
            format: row.try_get(0)?,
            store_id: row.try_get(1)?,
            schema: row.try_get(2)?,
            writer_min: row.try_get(3)?,
            state: row.try_get(4)?,
            copy_of: row.try_get(5)?,
        }))
    }

    /// Looks whether this program may open the store.
    ///
    /// # Errors
    /// [`StoreError::Unfit`].
    pub(super) fn require(&self, expected: &Expected) -> Result<()> {
        self.require_format()?;
        let (schema, current) = (self.schema, current());
        if self.writer_min > current {
            return Err(unfit(format!(
                "it has schema {schema}, and this program knows {current}; install a newer siteconf"
            )));
        }
        if schema < current {
            return Err(unfit(format!(
                "it has schema {schema}, and this program needs {current}; \"siteconf migrate\" brings \
                 it on"
            )));
        }
        match expected {
            Expected::Ready if self.is_ready() => Ok(()),
            Expected::Ready => Err(unfit(
                "a copy into it has not come to its end; run \"siteconf copy\" again",
            )),
            Expected::CopyOf(_) if self.is_ready() => Err(unfit(
                "it has a store; a copy goes into a database without one",
            )),
            Expected::CopyOf(name) if self.copy_of.as_ref() == Some(name) => Ok(()),
            Expected::CopyOf(_) => Err(unfit(
                "it holds the beginning of a copy of another store; make the database anew",
            )),
        }
    }

    fn require_format(&self) -> Result<()> {
        if self.format == FORMAT {
            return Ok(());
        }
        Err(unfit(format!(
            "it has format {}, and this program reads format {FORMAT}",
            self.format
        )))
    }

    fn is_ready(&self) -> bool {
        self.state == "ready"
    }

    /// True where this program knows how to read and write it.
    fn has_our_schema(&self) -> bool {
        (self.writer_min..=self.schema).contains(&current())
    }
}

/// The last step that this program knows, which is the one that it needs.
fn current() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// The refusal of a database without a store.
pub(super) fn no_store() -> StoreError {
    unfit("it has no store; \"siteconf init\" makes one")
}

/// Makes a store by all steps, in one transaction. One that is there is left as it is.
///
/// # Errors
/// [`StoreError::Unfit`].
pub(super) async fn make(client: &Client) -> Result<Found> {
    match make_by_steps(client, "").await? {
        Some(kept) if kept.format == FORMAT && kept.is_ready() && !kept.has_our_schema() => {
            Ok(Found::OtherSchema)
        }
        // What else keeps it from being opened is told by who does so.
        _ => Ok(Found::Store),
    }
}

/// Makes a store for a copy of the store of this name. What an earlier copy of it has left is taken as it is.
///
/// # Errors
/// [`StoreError::Unfit`].
pub(super) async fn make_copy(client: &Client, of: &str) -> Result<()> {
    // It is hexadecimal digits.
    let name: String = of.chars().filter(char::is_ascii_hexdigit).collect();
    let state = format!("UPDATE siteconf.format SET state = 'copying', copy_of = '{name}';");
    match make_by_steps(client, &state).await? {
        Some(kept) => kept.require(&Expected::CopyOf(of.to_owned())),
        None => Ok(()),
    }
}

/// Makes a store and runs these statements, too. Gives what is there already.
async fn make_by_steps(client: &Client, last: &str) -> Result<Option<StoreFormat>> {
    // Of two at once one finds what the other has made.
    client.query_one(LOCK, &[]).await?;
    if let Some(kept) = StoreFormat::read(client).await? {
        return Ok(Some(kept));
    }
    let steps = STEPS.iter().zip(1..).map(|(step, number)| {
        let note = match number {
            1 => format!("INSERT INTO siteconf.format (format) VALUES ({FORMAT});"),
            number => reached(number),
        };
        [step.sql, &note].concat()
    });
    let statements = format!("BEGIN; {} {OWNED} {last} COMMIT", steps.collect::<String>());
    match client.batch_execute(&statements).await {
        Err(error) if error.code() == Some(&SqlState::DUPLICATE_SCHEMA) => {
            Err(unfit("it has a schema \"siteconf\" without a store"))
        }
        made => {
            made?;
            Ok(None)
        }
    }
}

/// Takes the steps that are missing, each in a transaction of its own, until one cannot be taken.
///
/// # Errors
/// [`StoreError::Unfit`], [`StoreError::Underway`]: nothing was done.
pub(super) async fn migrate(client: &Client) -> Result<Migrated> {
    client.batch_execute(OF_STEPS).await?;
    let is_ours: bool = client.query_one(TRY_LOCK, &[]).await?.try_get(0)?;
    if !is_ours {
        return Err(StoreError::Underway {
            what: "another \"siteconf migrate\"",
        });
    }
    let kept = StoreFormat::read(client).await?.ok_or_else(no_store)?;
    kept.require_format()?;
    let begun_from: Option<i32> = client.query_one(BEGUN_FROM, &[]).await?.try_get(0)?;
    let mut migrated = Migrated {
        from: kept.schema,
        from_first: begun_from.unwrap_or(kept.schema),
        current: current(),
        steps: Vec::new(),
        is_ready: kept.is_ready(),
        stopped: None,
    };
    let taken = usize::try_from(kept.schema).unwrap_or(0);
    for (step, number) in STEPS.iter().zip(1..).skip(taken) {
        if let Err(error) = take(client, step, number, migrated.from_first).await {
            migrated.stopped = Some(refusal(&error, number));
            break;
        }
        migrated.steps.push((number, step.brings));
    }
    Ok(migrated)
}

/// Takes a step of a migration that began from this one, wholly or not at all.
async fn take(
    client: &Client,
    step: &Step,
    number: i32,
    from: i32,
) -> std::result::Result<(), Error> {
    let begun = if number == current() {
        "NULL".to_owned()
    } else {
        format!("'being migrated from schema {from}'")
    };
    let comment = format!("COMMENT ON TABLE siteconf.format IS {begun};");
    let end = [OWNED, &reached(number), &comment].concat();
    for statements in ["BEGIN", AS_OWNER, step.sql, &end, "COMMIT"] {
        client.batch_execute(statements).await?;
    }
    Ok(())
}

/// Lets a role read the store, and call what changes it, also what later steps bring.
///
/// # Errors
/// [`StoreError::Unfit`].
pub(super) async fn grant(client: &Client, role: &str) -> Result<()> {
    let quoted = format!("\"{}\"", role.replace('"', "\"\""));
    let granted = GRANT.replace("{role}", &quoted);
    let statements = format!("BEGIN; {AS_OWNER} {granted} COMMIT");
    match client.batch_execute(&statements).await {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => Err(unfit(format!(
            "it has no role \"{role}\"; CREATE ROLE makes one, with LOGIN"
        ))),
        granted => Ok(granted?),
    }
}

/// Notes that a step was taken.
fn reached(number: i32) -> String {
    format!("UPDATE siteconf.format SET schema = {number};")
}

/// Why a step was not taken, and what to do.
fn refusal(error: &Error, number: i32) -> StoreError {
    let code = error.code();
    if code == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        let said = error.as_db_error().map_or("", |said| said.message());
        return unfit(format!(
            "this role may not take step {number} of the schema ({said}); run \"siteconf migrate\" as the \
             role that made the store"
        ));
    }
    if code == Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return unfit(format!(
            "somebody has held a table for 3 seconds that step {number} of the schema changes, as pg_dump \
             does, or a session that was left within a transaction; run \"siteconf migrate\" again when \
             that has ended"
        ));
    }
    failure(error)
}
