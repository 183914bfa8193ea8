//! `GET /projects/<project>/repository/branches`

use super::json::BranchJson;
use crate::http::call::Call;
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply};
use crate::http::search::Search;
use crate::repo::{Branch, Project};

/// Lists branches by name; with `search` those that match, an exact match first.
pub(super) fn list(call: &Call, project: &Project) -> Result<Reply, Error> {
    let search = call.query.text("search")?.map(Search::parse);
    let mut branches = project.branches()?;
    let default = default_name(project)?;
    if let Some(search) = &search {
        branches.retain(|branch| search.matches(branch.name().as_str()));
        // The sort is stable, so the others keep their order.
        branches.sort_by_key(|branch| !search.is_exactly(branch.name().as_str()));
    }
    let shown = |branch: &Branch| {
        let is_default = default.as_deref() == Some(branch.name().as_str());
        BranchJson::new(call, project, branch, is_default)
    };
    let shown: Vec<_> = branches.iter().map(shown).collect::<Result<_, _>>()?;
    Ok(Reply::list(&shown, Freshness::Moving, call.headers()))
}

fn default_name(project: &Project) -> Result<Option<String>, Error> {
    let default = project.default_branch()?;
    Ok(default.map(|branch| branch.name().to_string()))
}
