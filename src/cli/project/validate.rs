//! What breaks the rules of a project.

use serde::Serialize;

use super::args::ProjectValidate;
use super::rules;
use crate::base::file_path::FilePath;
use crate::base::limits::BROKEN_PAGE_MAX;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::{counted, visible};
use crate::cli::{Outcome, Result, Streams, names};
use crate::repo::{Broken, ShownBroken};

/// A file that breaks a rule, as JSON.
#[derive(Serialize)]
struct Row<'a> {
    branch: &'a str,
    #[serde(flatten)]
    broken: ShownBroken<'a>,
}

/// `project validate`.
pub(super) fn list(
    args: &ProjectValidate,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let tried = args.rules.as_deref();
    let tried = tried.map(|file| rules::read(file, streams)).transpose()?;
    let branches = match &args.branch {
        Some(name) => vec![opened.branch(&repo_id, &names::branch(name)?)?],
        None => opened.project(&repo_id)?.branches()?,
    };
    let (mut found, mut listed) = (0, Vec::new());
    for branch in &branches {
        let (head, name) = (branch.head(), branch.name().as_str());
        let mut after: Option<FilePath> = None;
        loop {
            let page = head.broken(tried.as_deref(), after.as_ref(), BROKEN_PAGE_MAX)?;
            for broken in page.files {
                found += 1;
                if args.json {
                    listed.push((name.to_owned(), broken));
                } else {
                    writeln!(streams.out, "{}", visible(&format!("{name}:{broken}")))?;
                }
            }
            let Some(next) = page.next else { break };
            after = Some(names::file(&next)?);
        }
    }
    if args.json {
        let rows: Vec<_> = listed.iter().map(Row::from).collect();
        output::write_json(streams.out, &rows)?;
    } else if found == 0 {
        streams.tell(format_args!("no file of {repo_id} breaks a rule"))?;
    } else {
        streams.tell(counted(found, "file breaks a rule", "files break rules"))?;
    }
    Ok(if found == 0 {
        Outcome::Fine
    } else {
        Outcome::Findings
    })
}

impl<'a> From<&'a (String, Broken)> for Row<'a> {
    fn from((branch, broken): &'a (String, Broken)) -> Self {
        Self {
            branch,
            broken: broken.into(),
        }
    }
}
