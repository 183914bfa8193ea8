//! JSON Schemas: read, and held against files. Nothing is fetched, and expressions are matched in linear
//! time.

use std::borrow::Cow;
use std::thread;

use jsonschema::{ValidationError, Validator};

use super::cost::Cost;
use super::patterns::Patterns;
use super::text::{Fault, Place, decoded};
use super::{json, yaml};
use crate::base::limits::{SCHEMA_BYTES_MAX, SCHEMA_STACK_BYTES, SCHEMA_STEPS_MAX};

/// Memory that a byte of a schema takes once it is read, in bytes, but for its expressions.
const BYTES_OF_ONE: usize = 16;

/// A schema that can be held against files.
#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator,
    cost: Cost,
    bytes: u64,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// What is no JSON, no schema of a draft that is known, or refers to what is not in the file.
    ///
    /// # Limits
    /// [`SCHEMA_BYTES_MAX`], and those of [`Cost::of`] and [`Patterns::add`].
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() > SCHEMA_BYTES_MAX {
            return Err(Fault::of_all(format!(
                "a schema has at most {SCHEMA_BYTES_MAX} bytes"
            )));
        }
        let text = decoded(bytes)?;
        let schema = json::value(&text)?;
        on_own_stack(|| {
            let mut patterns = Patterns::default();
            let cost = Cost::of(&schema, &mut patterns).map_err(Fault::of_all)?;
            let validator = patterns
                .options()
                .build(&schema)
                .map_err(|error| fault_of(&error, |path| Some(json::place(&text, path))))?;
            let bytes = (BYTES_OF_ONE * text.len() + 2 * patterns.bytes()) as u64;
            Ok(Self {
                validator,
                cost,
                bytes,
            })
        })
    }

    /// The memory that it takes, in bytes, at a guess: programs are there for both directions.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Holds it against a file in JSON or YAML; each document of the latter.
    pub(super) fn check(&self, text: &str, is_yaml: bool) -> Result<(), Fault> {
        let values = if is_yaml {
            yaml::values(text)?
        } else {
            vec![json::value(text)?]
        };
        let steps: f64 = values.iter().map(|value| self.cost.against(value)).sum();
        if steps > SCHEMA_STEPS_MAX {
            return Err(Fault::of_all(
                "it would take too long to hold the schema against this file: make one of them simpler",
            ));
        }
        on_own_stack(|| {
            for (number, value) in values.iter().enumerate() {
                self.validator.validate(value).map_err(|error| {
                    fault_of(&error, |path| {
                        if is_yaml {
                            yaml::place(text, number, path)
                        } else {
                            Some(json::place(text, path))
                        }
                    })
                })?;
            }
            Ok(())
        })
    }
}

/// What a value of a file breaks, with the place that `place` finds for it. The value itself is not
/// repeated: it may be long, or secret.
fn fault_of<'e>(
    error: &ValidationError<'_>,
    place: impl FnOnce(std::vec::IntoIter<Cow<'e, str>>) -> Option<Place>,
) -> Fault {
    let pointer = error.instance_path().as_str().to_owned();
    let names = pointer.split('/').skip(1);
    let names: Vec<_> = names
        .map(|name| Cow::Owned(name.replace("~1", "/").replace("~0", "~")))
        .collect();
    let reason = error.masked().to_string();
    let reason = if pointer.is_empty() {
        reason
    } else {
        format!("{pointer}: {reason}")
    };
    match place(names.into_iter()) {
        Some(place) => Fault::at(place, reason),
        None => Fault::of_all(reason),
    }
}

/// Does work that goes as deep as a schema and a file are nested.
fn on_own_stack<T: Send>(work: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
    let failed = || Fault::of_all("it could not be checked");
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(SCHEMA_STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work).map_err(|_| failed())?;
        thread.join().unwrap_or_else(|_| Err(failed()))
    })
}
