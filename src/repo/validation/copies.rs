//! How much memory it takes to find where in a file a schema is broken: where the schema leaves several ways, all
//! refusals of each are made, with copies of the values.

use serde_json::Value;

use super::cost::{Cost, bytes};

/// Keywords whose value is repeated nowhere.
const NOT_REPEATED: [&str; 5] = ["title", "description", "$comment", "default", "examples"];
/// What a value takes in memory beside its text, in bytes, and a name in an object.
const VALUE_BYTES: f64 = 48.0;

/// What refusals of a schema repeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies {
    /// Of the schema at each level of a file, in bytes; `None` where it leaves one way alone, and one refusal ends it.
    repeated: Option<f64>,
}

impl Copies {
    /// Looks through a schema.
    pub(super) fn of(schema: &Value) -> Self {
        Self {
            repeated: has_ways(schema).then(|| repeated(schema)),
        }
    }

    /// How many bytes are copied at most to find what in this value is not allowed: each refusal has the value and the
    /// ways to it in the file and in the schema.
    pub(super) fn bytes(self, cost: &Cost, value: &Value) -> f64 {
        let Some(repeated) = self.repeated else {
            return 0.0;
        };
        let mut copying = Copying {
            cost,
            repeated,
            copied: 0.0,
        };
        copying.add(value, 0, 0.0);
        copying.copied
    }
}

/// What is copied, while it is counted.
struct Copying<'c> {
    cost: &'c Cost,
    repeated: f64,
    copied: f64,
}

impl Copying<'_> {
    /// Adds what is copied of a value at a depth, which so many bytes of names lead to. Gives its own size in memory.
    fn add(&mut self, value: &Value, depth: u32, way: f64) -> f64 {
        let (mut refusals, of_names) = self.cost.refusals(depth as usize);
        let mut own = VALUE_BYTES;
        match value {
            Value::Array(list) => {
                for below in list {
                    own += self.add(below, depth + 1, way);
                }
            }
            Value::Object(object) => {
                for (name, below) in object {
                    refusals += of_names * bytes(name);
                    let name = VALUE_BYTES + bytes(name);
                    own += name + self.add(below, depth + 1, way + name);
                }
            }
            Value::String(text) => own += bytes(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        self.copied += refusals * (own + way + self.repeated * f64::from(depth + 1));
        own
    }
}

/// True where a schema has alternatives, wherever they are.
fn has_ways(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => object.iter().any(|(keyword, value)| {
            ["anyOf", "oneOf"].contains(&keyword.as_str()) || has_ways(value)
        }),
        Value::Array(list) => list.iter().any(has_ways),
        _ => false,
    }
}

/// The longest way to a part of a schema, or what it says there, in bytes.
fn repeated(schema: &Value) -> f64 {
    match schema {
        Value::Object(object) => {
            let told = object
                .iter()
                .filter(|(keyword, _)| !NOT_REPEATED.contains(&keyword.as_str()));
            let ways = told.map(|(keyword, value)| {
                let below = match keyword.as_str() {
                    // This is repeated as a whole.
                    "not" => whole(value),
                    _ => repeated(value),
                };
                bytes(keyword) + below
            });
            ways.fold(0.0, f64::max)
        }
        Value::Array(list) => list.iter().map(repeated).fold(0.0, f64::max),
        Value::String(text) => bytes(text),
        _ => VALUE_BYTES,
    }
}

/// What a part of a schema takes in memory, in bytes.
fn whole(value: &Value) -> f64 {
    let below = match value {
        Value::Object(object) => object
            .iter()
            .map(|(name, below)| bytes(name) + whole(below))
            .sum(),
        Value::Array(list) => list.iter().map(whole).sum(),
        Value::String(text) => bytes(text),
        _ => 0.0,
    };
    VALUE_BYTES + below
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::repo::validation::patterns::Patterns;

    #[test]
    fn what_a_refusal_would_copy_is_told_before() {
        let copied = |schema: Value, file: &Value| {
            let schema = json!({"anyOf": [schema, {"type": "null"}]});
            let cost = Cost::of(&schema, &mut Patterns::default()).unwrap();
            Copies::of(&schema).bytes(&cost, file)
        };
        let large = "x".repeat(100_000);
        let long_name = json!({ large.as_str(): vec![1; 1000] });
        let many_names = json!(vec![json!({"a": 1}); 1000]);
        let reaches = json!({"additionalProperties": {"items": {"type": "string"}}});
        for (schema, file) in [
            (reaches, &long_name),
            (json!({"items": {"not": {"const": large}}}), &many_names),
            (
                json!({"items": {"patternProperties": {large.as_str().get(..8000).unwrap(): {}}}}),
                &json!(vec![1; 10_000]),
            ),
        ] {
            assert!(copied(schema, file) > 5e7);
        }
        let usual =
            json!({"items": {"properties": {"a": {"type": "string", "description": large}}}});
        assert!(copied(usual, &many_names) < 1e7);
        let plain = json!({"type": "object"});
        let cost = Cost::of(&plain, &mut Patterns::default()).unwrap();
        assert!(Copies::of(&plain).bytes(&cost, &long_name) < 1.0);
    }
}
