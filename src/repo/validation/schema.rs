//! JSON Schemas: read, and held against files. Nothing is fetched, and expressions are matched in linear
//! time.

use std::borrow::Cow;
use std::panic::resume_unwind;
use std::thread;

use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::copies::Copies;
use super::cost::Cost;
use super::effort::Effort;
use super::patterns::Patterns;
use super::text::{Fault, Place, decoded};
use super::unproven::Unproven;
use super::{json, yaml};
use crate::base::limits::{
    SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX, SCHEMA_PLACE_BYTES_MAX, SCHEMA_STACK_BYTES,
    SCHEMA_STEPS_MAX,
};
use crate::repo::Result;
use crate::store::StoreError;

/// Memory that a byte of a schema takes once it is read, in bytes, but for its expressions.
const BYTES_OF_ONE: usize = 16;
/// Bytes that are copied in one step.
const COPIED_A_STEP: f64 = 16.0;

/// A schema that can be held against files.
#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator,
    cost: Cost,
    copies: Copies,
    bytes: usize,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// What is no JSON, no schema of a draft that is known, or refers to what is not in the file. Those of
    /// [`Effort::spend`]: it takes as many steps as bytes of memory.
    ///
    /// # Limits
    /// [`SCHEMA_BYTES_MAX`], and those of [`Cost::of`] and [`Patterns::add`].
    pub(super) fn read(bytes: &[u8], effort: &Effort) -> std::result::Result<Self, Unproven> {
        if bytes.len() > SCHEMA_BYTES_MAX {
            let reason = format!("a schema has at most {SCHEMA_BYTES_MAX} bytes");
            return Err(Fault::of_all(reason).into());
        }
        let text = decoded(bytes)?;
        effort.spend(steps(BYTES_OF_ONE * text.len()))?;
        let schema = json::value(&text)?;
        on_own_stack(|| {
            let mut patterns = Patterns::default();
            let cost = Cost::of(&schema, &mut patterns).map_err(Fault::of_all)?;
            effort.spend(steps(2 * patterns.bytes()))?;
            let validator = patterns
                .options()
                .build(&schema)
                .map_err(|error| fault_of(&error, |path| Some(json::place(&text, path))))?;
            let bytes = BYTES_OF_ONE * text.len() + 2 * patterns.bytes();
            Ok(Self {
                validator,
                cost,
                copies: Copies::of(&schema),
                bytes,
            })
        })?
    }

    /// The memory that it takes, in bytes, at a guess: programs are there for both directions.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds it against a file in JSON or YAML; each document of the latter, and null where it has none.
    ///
    /// # Errors
    /// What is wrong with the file; that it would take too long to say; those of [`Effort::spend`].
    ///
    /// # Limits
    /// [`SCHEMA_DEPTH_MAX`], [`SCHEMA_STEPS_MAX`]. Where in the file it breaks the schema is told if that takes at most
    /// [`SCHEMA_PLACE_BYTES_MAX`].
    pub(super) fn check(
        &self,
        text: &str,
        is_yaml: bool,
        effort: &Effort,
    ) -> std::result::Result<(), Unproven> {
        let values = if is_yaml {
            yaml::values(text)?
        } else {
            vec![json::value(text)?]
        };
        if values
            .iter()
            .any(|value| is_nested(value, SCHEMA_DEPTH_MAX))
        {
            let reason = format!("nested more than {SCHEMA_DEPTH_MAX} deep");
            return Err(Fault::of_all(reason).into());
        }
        let steps: f64 = values.iter().map(|value| self.cost.against(value)).sum();
        if steps > SCHEMA_STEPS_MAX {
            return Err(Fault::of_all(
                "it would take too long to hold the schema against this file: make one of them simpler",
            )
            .into());
        }
        effort.spend(steps)?;
        on_own_stack(|| {
            let Some(number) = values
                .iter()
                .position(|value| !self.validator.is_valid(value))
            else {
                return Ok(());
            };
            let value = &values[number];
            let copied = self.copies.bytes(&self.cost, value);
            if copied > SCHEMA_PLACE_BYTES_MAX {
                return Err(Fault::of_all(
                    "the schema does not allow it; the place is not told, because the schema leaves too many \
                     ways for a file of this size",
                )
                .into());
            }
            effort.spend(copied / COPIED_A_STEP)?;
            let validated = self.validator.validate(value);
            Ok(validated.map_err(|error| {
                fault_of(&error, |path| {
                    if is_yaml {
                        yaml::place(text, number, path)
                    } else {
                        Some(json::place(text, path))
                    }
                })
            })?)
        })?
    }
}

fn steps(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// True for lists and objects within each other more than so deep.
fn is_nested(value: &Value, depth: usize) -> bool {
    let is_below = |below| is_nested(below, depth.saturating_sub(1));
    match value {
        Value::Array(list) => depth == 0 || list.iter().any(is_below),
        Value::Object(object) => depth == 0 || object.values().any(is_below),
        _ => false,
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
///
/// # Errors
/// [`StoreError::Busy`] where the system has no thread left.
fn on_own_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(SCHEMA_STACK_BYTES);
        let thread = builder
            .spawn_scoped(scope, work)
            .map_err(|_| StoreError::Busy)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a fault of ours")]
    fn a_panic_is_no_fault_of_a_file() {
        let _done = on_own_stack(|| panic!("a fault of ours"));
    }
}
