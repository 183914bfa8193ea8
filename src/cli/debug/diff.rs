//! The files that differ between two revisions.

use serde::Serialize;

use super::report;
use super::tolerant::Tolerant;
use crate::cli::file::shown::File;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::{Outcome, Result, Streams};
use crate::manifest::diff::diff;
use crate::repo::Revision;

/// A file that differs.
#[derive(Serialize)]
struct Row {
    path: String,
    change: &'static str,
    old: Option<File>,
    new: Option<File>,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &["CHANGE", "OLD", "NEW", "PATH"];

    fn cells(&self) -> Vec<String> {
        let file = |file: &Option<File>| file.as_ref().map(File::text).unwrap_or_default();
        vec![
            self.change.to_owned(),
            file(&self.old),
            file(&self.new),
            self.path.clone(),
        ]
    }
}

/// `debug diff`. What lies below a damaged node is not compared, and the node is named.
pub(super) fn run(
    opened: &OpenStore,
    old: &Revision,
    new: &Revision,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let nodes = opened.projects.nodes();
    let root =
        |revision: &Revision| Ok::<_, super::Error>(nodes.manifest(revision.manifest())?.root);
    let tolerant = Tolerant::new(nodes);
    let changes = diff(&tolerant, root(old)?, root(new)?)?;
    let rows: Vec<_> = changes
        .into_iter()
        .map(|change| Row {
            change: match (&change.old, &change.new) {
                (None, _) => "added",
                (_, None) => "deleted",
                _ => "modified",
            },
            path: change.path,
            old: change.old.map(File::from),
            new: change.new.map(File::from),
        })
        .collect();
    output::list(streams.out, json, &rows)?;
    report(&tolerant.into_findings(), streams)
}
