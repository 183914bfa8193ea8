//! What a reference within a schema names.

use serde_json::Value;

/// Keywords that give a part an id of its own.
pub(super) const IDS: [&str; 2] = ["$id", "id"];

/// Gives the part of a schema that a reference names: the one that the validator takes.
///
/// # Errors
/// Says that it leads out of the schema or nowhere, or that the draft decides which part it names.
pub(super) fn referred<'s>(schema: &'s Value, reference: &Value) -> Result<&'s Value, String> {
    let text = reference.as_str().unwrap_or_default();
    let elsewhere = || {
        format!(
            "\"$ref\": {reference} is not taken: it must begin with \"#\" and lead to a part of this \
             file"
        )
    };
    let fragment = text.strip_prefix('#').ok_or_else(elsewhere)?;
    let pointer = percent_encoding::percent_decode_str(fragment).decode_utf8();
    let pointer = pointer.map_err(|_| elsewhere())?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let mut anchored = Vec::new();
        with_anchor(schema, &pointer, &mut anchored);
        return match anchored[..] {
            [] => Err(elsewhere()),
            [part] => Ok(part),
            _ => Err(format!(
                "\"$ref\": {reference} is not taken: several parts have this anchor"
            )),
        };
    }
    // In a part with an id of its own, references begin there.
    for (end, _) in pointer.match_indices('/').skip(1) {
        if schema.pointer(&pointer[..end]).is_some_and(has_id) {
            return Err(format!(
                "\"$ref\": {reference} is not taken: it leads through a part that has an id of its own"
            ));
        }
    }
    schema.pointer(&pointer).ok_or_else(elsewhere)
}

/// The parts of a schema that have this anchor, by the keyword of any draft.
fn with_anchor<'s>(value: &'s Value, anchor: &str, found: &mut Vec<&'s Value>) {
    match value {
        Value::Object(object) => {
            let text = |keyword: &str| object.get(keyword).and_then(Value::as_str);
            let is_anchor = |keyword| text(keyword) == Some(anchor);
            let is_id = |keyword| text(keyword).and_then(|id| id.strip_prefix('#')) == Some(anchor);
            if ["$anchor", "$dynamicAnchor"].into_iter().any(is_anchor)
                || IDS.into_iter().any(is_id)
            {
                found.push(value);
            }
            for below in object.values() {
                with_anchor(below, anchor, found);
            }
        }
        Value::Array(list) => {
            for below in list {
                with_anchor(below, anchor, found);
            }
        }
        _ => {}
    }
}

fn has_id(part: &Value) -> bool {
    IDS.into_iter()
        .any(|keyword| part.get(keyword).is_some_and(Value::is_string))
}
