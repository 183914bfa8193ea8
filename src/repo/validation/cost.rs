//! How much work a schema can make, found before it is used: a schema may lead to its parts in so many ways
//! that a small file takes for ever.

use std::collections::HashMap;
use std::iter::once;

use serde_json::{Map, Value};

use super::patterns::Patterns;
use super::reference::{IDS, referred};
use crate::base::limits::{SCHEMA_CHAIN_MAX, SCHEMA_DEPTH_MAX, SCHEMA_PARTS_MAX, SCHEMA_PATHS_MAX};

/// Keywords whose value is a schema for the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords whose value is a list of schemas for the same value.
const SAME_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value has schemas for the same value under names.
const SAME_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords whose value is a schema, or a list of them, for what is in the value.
const BELOW: [&str; 5] = [
    "additionalProperties",
    "additionalItems",
    "items",
    "prefixItems",
    "contains",
];
/// Keywords that are not taken: what they cost cannot be told from the schema, or they lead elsewhere.
const NOT_TAKEN: [&str; 6] = [
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
];

/// Bytes of a text that are looked at in one step.
const TEXT_BYTES_A_STEP: f64 = 16.0;

/// How many steps a schema takes at most for what is in a file at a depth; the last number of each is that of
/// all deeper ones, too.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    /// For each value.
    values: Vec<f64>,
    /// For each byte of a text.
    texts: Vec<f64>,
    /// For each byte of a name in an object.
    names: Vec<f64>,
}

/// A schema within the schema.
#[derive(Default)]
struct Part {
    /// What it says beside other schemas, in scalars.
    weight: f64,
    /// Steps of its expression for each byte of a text.
    text: f64,
    /// Those of its expressions for each byte of a name.
    name: f64,
    /// For names.
    names: Vec<usize>,
    /// For the same value.
    same: Vec<usize>,
    /// For one child of the value each: a child has one name.
    named: Vec<usize>,
    /// For any child of the value.
    below: Vec<usize>,
}

impl Cost {
    /// Looks through a schema from its root, along its references; its expressions are counted.
    ///
    /// # Errors
    /// Says what is not taken: a reference that leads out of the schema or nowhere, one that leads back
    /// without going deeper into a file, and what is too large.
    pub(super) fn of<'s>(schema: &'s Value, patterns: &mut Patterns<'s>) -> Result<Self, String> {
        let mut parts = Parts {
            schema,
            patterns,
            all: Vec::new(),
            known: HashMap::new(),
            open: Vec::new(),
        };
        let root = parts.part(schema)?;
        while let Some((at, value)) = parts.open.pop() {
            parts.all[at] = parts.read(value)?;
        }
        let order = parts.order(root)?;
        let values = parts.by_depth(root, &order, |part| part.weight);
        if values[0] > SCHEMA_PATHS_MAX {
            return Err(format!(
                "it leads to its parts in more than {SCHEMA_PATHS_MAX} ways"
            ));
        }
        let text = |part: &Part| part.weight / TEXT_BYTES_A_STEP + part.text;
        let of_texts = parts.joined(&order, |at| text(&parts.all[at]));
        let names = parts.by_depth(root, &order, |part| {
            let schemas = part.names.iter().map(|other| of_texts[*other]);
            part.name + schemas.sum::<f64>()
        });
        let texts = parts.by_depth(root, &order, text);
        Ok(Self {
            values,
            texts,
            names,
        })
    }

    /// How many steps it takes at most to hold the schema against this value.
    pub(super) fn against(&self, value: &Value) -> f64 {
        self.steps(value, 0)
    }

    fn steps(&self, value: &Value, depth: usize) -> f64 {
        let at = |each: &[f64]| at_depth(each, depth);
        match value {
            Value::Array(list) => {
                let below = list.iter().map(|below| self.steps(below, depth + 1));
                at(&self.values) + below.sum::<f64>()
            }
            Value::Object(object) => {
                let names = object.keys().map(|name| bytes(name)).sum::<f64>();
                let below = object.values().map(|below| self.steps(below, depth + 1));
                at(&self.values) + at(&self.names) * names + below.sum::<f64>()
            }
            Value::String(text) => at(&self.texts) * bytes(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => at(&self.values),
        }
    }

    /// How many refusals there may be at most of a value at a depth itself, and how many for each byte of its names.
    pub(super) fn refusals(&self, depth: usize) -> (f64, f64) {
        (at_depth(&self.values, depth), at_depth(&self.names, depth))
    }
}

fn at_depth(each: &[f64], depth: usize) -> f64 {
    each.get(depth).or(each.last()).copied().unwrap_or(0.0)
}

/// The bytes of a text, and some for looking at it at all.
pub(super) fn bytes(text: &str) -> f64 {
    TEXT_BYTES_A_STEP + f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX))
}

/// The parts of a schema that its root leads to.
struct Parts<'s, 'p> {
    schema: &'s Value,
    patterns: &'p mut Patterns<'s>,
    all: Vec<Part>,
    /// By where they are in memory.
    known: HashMap<*const Value, usize>,
    /// Those that are to be read.
    open: Vec<(usize, &'s Value)>,
}

impl<'s> Parts<'s, '_> {
    /// The number of a part.
    fn part(&mut self, value: &'s Value) -> Result<usize, String> {
        let key = std::ptr::from_ref(value);
        if let Some(at) = self.known.get(&key) {
            return Ok(*at);
        }
        let at = self.all.len();
        if at == SCHEMA_PARTS_MAX {
            return Err(format!("it has more than {SCHEMA_PARTS_MAX} parts"));
        }
        self.all.push(Part::default());
        self.known.insert(key, at);
        self.open.push((at, value));
        Ok(at)
    }

    /// Those of the values that are schemas; the others, such as lists of names, are added to the weight.
    fn these(
        &mut self,
        weight: &mut f64,
        values: impl Iterator<Item = &'s Value>,
    ) -> Result<Vec<usize>, String> {
        let mut schemas = Vec::new();
        for value in values {
            if value.is_object() || value.is_boolean() {
                schemas.push(self.part(value)?);
            } else {
                *weight += scalars(value);
            }
        }
        Ok(schemas)
    }

    fn read(&mut self, value: &'s Value) -> Result<Part, String> {
        let mut part = Part {
            weight: 1.0,
            ..Part::default()
        };
        let Some(object) = value.as_object() else {
            return Ok(part);
        };
        let weight = &mut part.weight;
        for (keyword, value) in object {
            let listed = || value.as_array().into_iter().flatten();
            let named = || value.as_object().into_iter().flat_map(Map::values);
            match keyword.as_str() {
                "$ref" => {
                    let to = referred(self.schema, value)?;
                    part.same.push(self.part(to)?);
                }
                word if IDS.contains(&word)
                    && value.is_string()
                    && !std::ptr::eq(object, self.root()) =>
                {
                    return Err(format!("\"{keyword}\" is taken at the root alone"));
                }
                word if NOT_TAKEN.contains(&word) => {
                    return Err(format!("\"{word}\" is not taken here"));
                }
                word if SAME.contains(&word) => part.same.extend(self.these(weight, once(value))?),
                word if SAME_LISTS.contains(&word) => {
                    part.same.extend(self.these(weight, listed())?);
                }
                word if SAME_NAMED.contains(&word) => {
                    part.same.extend(self.these(weight, named())?);
                }
                word if BELOW.contains(&word) && value.is_array() => {
                    part.below.extend(self.these(weight, listed())?);
                }
                word if BELOW.contains(&word) => {
                    part.below.extend(self.these(weight, once(value))?);
                }
                "properties" => part.named.extend(self.these(weight, named())?),
                "patternProperties" => {
                    for pattern in value.as_object().into_iter().flat_map(Map::keys) {
                        part.name += self.patterns.add(pattern)?;
                    }
                    part.below.extend(self.these(weight, named())?);
                }
                "propertyNames" => part.names.extend(self.these(weight, once(value))?),
                "$defs" | "definitions" => {}
                "pattern" => {
                    *weight += 1.0;
                    if let Some(pattern) = value.as_str() {
                        part.text += self.patterns.add(pattern)?;
                    }
                }
                _ => *weight += scalars(value),
            }
        }
        Ok(part)
    }

    fn root(&self) -> &'s Map<String, Value> {
        static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        self.schema.as_object().unwrap_or(&EMPTY)
    }

    /// What comes together of each part for a value: its own, and that of those it leads to for the same value.
    fn joined(&self, order: &[usize], own: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut here = vec![0.0; self.all.len()];
        for at in order {
            let same: f64 = self.all[*at].same.iter().map(|other| here[*other]).sum();
            here[*at] = same + own(*at);
        }
        here
    }

    /// What comes together of the root at each depth, at most.
    fn by_depth(&self, root: usize, order: &[usize], own: impl Fn(&Part) -> f64) -> Vec<f64> {
        let mut here = self.joined(order, |at| own(&self.all[at]));
        let mut by_depth = vec![here[root]];
        // The deepest lists and objects have values below them.
        while by_depth.len() <= SCHEMA_DEPTH_MAX && here.iter().any(|count| *count > 0.0) {
            here = self.joined(order, |at| {
                let part = &self.all[at];
                let named = part.named.iter().map(|other| here[*other]);
                let below: f64 = part.below.iter().map(|other| here[*other]).sum();
                named.fold(0.0, f64::max) + below
            });
            by_depth.push(here[root]);
        }
        by_depth
    }

    /// The parts, each behind those that it leads to for the same value.
    fn order(&self, root: usize) -> Result<Vec<usize>, String> {
        let mut order = Vec::new();
        let mut chains = vec![None; self.all.len()];
        for at in once(root).chain(0..self.all.len()) {
            self.visit(at, 0, &mut chains, &mut order)?;
        }
        Ok(order)
    }

    /// The length of the longest chain from a part on.
    fn visit(
        &self,
        at: usize,
        depth: usize,
        chains: &mut [Option<usize>],
        order: &mut Vec<usize>,
    ) -> Result<usize, String> {
        if let Some(chain) = chains[at] {
            return Ok(chain);
        }
        if depth > SCHEMA_CHAIN_MAX {
            return Err(format!(
                "a part leads back to itself without going into a file, or through more than \
                 {SCHEMA_CHAIN_MAX} others"
            ));
        }
        let mut chain = 0;
        for other in &self.all[at].same {
            chain = chain.max(1 + self.visit(*other, depth + 1, chains, order)?);
        }
        if chain > SCHEMA_CHAIN_MAX {
            return Err(format!("a chain of more than {SCHEMA_CHAIN_MAX} parts"));
        }
        chains[at] = Some(chain);
        order.push(at);
        Ok(chain)
    }
}

fn scalars(value: &Value) -> f64 {
    match value {
        Value::Array(list) => list.iter().map(scalars).sum(),
        Value::Object(object) => object.values().map(scalars).sum(),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::limits::SCHEMA_STEPS_MAX;

    #[test]
    fn what_leads_nowhere_or_back_is_refused() {
        let refused = |schema: Value| Cost::of(&schema, &mut Patterns::default()).unwrap_err();
        let chain =
            "a part leads back to itself without going into a file, or through more than 64 others";
        assert_eq!(refused(json!({"$ref": "#"})), chain);
        assert_eq!(
            refused(
                json!({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}})
            ),
            chain
        );
        for reference in [
            "https://example.com/a.json",
            "b.json#/a",
            "#/$defs/none",
            "#none",
        ] {
            let text = refused(json!({"$ref": reference}));
            assert!(text.ends_with("lead to a part of this file"), "{text}");
        }
        assert_eq!(
            refused(json!({"unevaluatedProperties": false})),
            "\"unevaluatedProperties\" is not taken here"
        );
        assert_eq!(
            refused(json!({"items": {"$id": "x"}})),
            "\"$id\" is taken at the root alone"
        );
        let mut doubling = json!({"type": "object"});
        for _ in 0..40 {
            doubling = json!({"allOf": [{"$ref": "#/$defs/d"}, {"$ref": "#/$defs/d"}], "$defs": {"d": doubling}});
        }
        // Names of definitions are found from the root, so each step refers to the next by its path.
        assert!(Cost::of(&doubling, &mut Patterns::default()).is_err());
    }

    #[test]
    fn work_is_counted_by_depth() {
        let tree = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "nodes": {"items": {"$ref": "#"}}},
        });
        let cost = Cost::of(&tree, &mut Patterns::default()).unwrap();
        let mut file = json!({"name": "a"});
        for _ in 0..30 {
            file = json!({"name": "a", "nodes": [file]});
        }
        assert!(cost.against(&file) < 1000.0);

        let forked = json!({"anyOf": [
            {"properties": {"a": {"$ref": "#"}}, "required": ["x"]},
            {"properties": {"a": {"$ref": "#"}}, "required": ["y"]},
        ]});
        let cost = Cost::of(&forked, &mut Patterns::default()).unwrap();
        let mut file = json!(1);
        for _ in 0..60 {
            file = json!({"a": file});
        }
        assert!(cost.against(&file) > 1e15);

        // What is in the deepest list that is taken counts, too.
        let (mut listed, mut file) = (json!({"enum": [0, 1, 2, 3, 4]}), json!(1));
        for _ in 0..SCHEMA_DEPTH_MAX {
            (listed, file) = (json!({"items": listed}), json!([file]));
        }
        let cost = Cost::of(&listed, &mut Patterns::default()).unwrap();
        assert!(cost.against(&file) > 105.0);
    }

    #[test]
    fn expressions_count_by_their_programs() {
        let steps = |schema: Value, file: &Value| {
            let cost = Cost::of(&schema, &mut Patterns::default()).unwrap();
            cost.against(file)
        };
        let large = "a[ab]{12000}[cd]";
        let text = "ab".repeat(1 << 18);
        let (value, name) = (json!({ "a": text }), json!({ text.as_str(): 1 }));
        for (schema, file) in [
            (json!({"properties": {"a": {"pattern": large}}}), &value),
            (json!({"patternProperties": {large: {}}}), &name),
            (
                json!({"propertyNames": {"allOf": [{"pattern": large}]}}),
                &name,
            ),
        ] {
            assert!(steps(schema, file) > SCHEMA_STEPS_MAX);
        }
        assert!(steps(json!({"propertyNames": {"pattern": large}}), &value) < SCHEMA_STEPS_MAX);

        let mut usual = Map::new();
        for number in 0..12 {
            usual.insert(
                format!("^x{number}-[a-z0-9.-]+$"),
                json!({"pattern": "^[a-z0-9./-]+$"}),
            );
        }
        let file: Map<_, _> = (0..10_000)
            .map(|number| (format!("x1-name-{number:05}"), json!("v".repeat(80))))
            .collect();
        let schema = json!({"patternProperties": usual, "additionalProperties": false});
        assert!(steps(schema, &Value::Object(file)) < SCHEMA_STEPS_MAX);
    }
}
