//! The projects that there are.

use std::collections::HashMap;

use serde::Serialize;

use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::{Result, Streams};

/// A project as it is listed.
#[derive(Serialize)]
struct Row {
    repo_id: String,
    id: u64,
    owner: Option<String>,
    default_branch: Option<String>,
    created_at: String,
    updated_at: String,
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &[
        "REPO ID",
        "ID",
        "OWNER",
        "DEFAULT BRANCH",
        "CREATED",
        "UPDATED",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.repo_id.clone(),
            self.id.to_string(),
            self.owner.clone().unwrap_or_default(),
            self.default_branch.clone().unwrap_or_default(),
            self.created_at.clone(),
            self.updated_at.clone(),
        ]
    }
}

/// `project list`.
pub(in crate::cli) fn list(
    opened: &OpenStore,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let accounts = opened.accounts.list()?;
    let names: HashMap<u64, &str> = accounts.iter().map(|a| (a.number(), a.name())).collect();
    let mut rows = Vec::new();
    for project in opened.projects.all()? {
        let default = project.default_branch()?;
        rows.push(Row {
            repo_id: project.repo_id().to_string(),
            id: project.number(),
            owner: names.get(&project.owner()).map(|name| (*name).to_owned()),
            default_branch: default.map(|branch| branch.name().to_string()),
            created_at: project.created_at().to_string(),
            updated_at: project.updated_at()?.to_string(),
        });
    }
    output::list(streams.out, json, &rows)
}
