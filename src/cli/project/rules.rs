//! The rules of a project for its contents, shown and set.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::args::ProjectRules;
use crate::base::limits::JSON_BYTES_MAX;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::{Listed, counted};
use crate::cli::{Error, Result, Streams, names};
use crate::repo::{ProjectWriter, Rule};

/// A file of rules.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rules: Vec<Rule>,
}

/// A rule as it is listed.
#[derive(Serialize)]
struct Row {
    rule: usize,
    check: String,
    schema: Option<String>,
    patterns: Vec<String>,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &["RULE", "CHECK", "SCHEMA", "PATTERNS"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.rule.to_string(),
            self.check.clone(),
            self.schema.clone().unwrap_or_default(),
            self.patterns.join(" "),
        ]
    }
}

/// `project rules`.
pub(super) fn run(
    args: &ProjectRules,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let project = opened.project(&repo_id)?;
    let set = match &args.set {
        Some(file) => read(file, streams)?,
        None if args.none => Vec::new(),
        None => {
            let rules = project.rules();
            if args.json {
                return output::write_json(streams.out, &Rules { rules });
            }
            let row = |(index, rule): (usize, Rule)| Row {
                rule: index + 1,
                check: rule.check.to_string(),
                schema: rule.schema,
                patterns: rule.patterns,
            };
            let rows: Vec<_> = rules.into_iter().enumerate().map(row).collect();
            return output::list(streams.out, false, &rows);
        }
    };
    ProjectWriter::new(project, opened.actor.clone()).set_rules(&set)?;
    if set.is_empty() {
        return streams.tell_change(format_args!("{repo_id} has no rules now"));
    }
    let count = counted(set.len() as u64, "rule", "rules");
    streams.tell_change(format_args!(
        "{repo_id} has {count} now; \"siteconf project validate {repo_id}\" lists what breaks them"
    ))
}

/// Reads a file of rules.
pub(super) fn read(file: &Path, streams: &mut Streams<'_>) -> Result<Vec<Rule>> {
    let is_stdin = file == Path::new("-");
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        output::visible_path(file)
    };
    let mut bytes = Vec::new();
    let most = JSON_BYTES_MAX + 1;
    let read = if is_stdin {
        (&mut *streams.input).take(most).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|from| from.take(most).read_to_end(&mut bytes))
    };
    read.map_err(Error::file("reading", &name))?;
    if bytes.len() as u64 > JSON_BYTES_MAX {
        return Err(Error::Failed(format!(
            "{name} is larger than {JSON_BYTES_MAX} bytes"
        )));
    }
    let wrong = |error| Error::Failed(format!("{name}: {error}"));
    // serde alone would also take arrays of the fields.
    serde_json::from_slice::<HashMap<String, Vec<Map<String, Value>>>>(&bytes).map_err(wrong)?;
    let rules: Rules = serde_json::from_slice(&bytes).map_err(wrong)?;
    Ok(rules.rules)
}
