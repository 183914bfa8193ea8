//! The grammar of `project`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, value_parser};

use crate::cli::deleted::RestoreArgs;
use crate::cli::settings::{Flags, LIST, days_from_1};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProjectCommand {
    /// Makes a project without a branch
    Create {
        /// The project: its name, a dot and its type, as in acme/shop.erp
        repo_id: String,
        /// The account that owns it
        #[arg(long, value_name = "NAME")]
        owner: String,
    },
    /// Shows a project: owner, branches, sizes, which snapshots stay
    Show {
        /// The project, as in acme/shop.erp
        repo_id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Lists all projects
    List(ProjectList),
    /// Gives a project another name; branches, snapshots and tokens stay
    ///
    /// The URLs of clients change with it: whoever asks by name must ask by the new one, by the number
    /// `id` nobody has to change. Roles are for names: give those that lead to the new one first.
    Rename {
        /// The project, as in acme/shop.erp
        repo_id: String,
        /// Its new name, as in acme/store.erp
        #[arg(value_name = "NEW_REPO_ID")]
        new_id: String,
    },
    /// Gives a project to another account
    ///
    /// Tokens of the old owner read the project on only if a role of that account opens it.
    Transfer {
        /// The project, as in acme/shop.erp
        repo_id: String,
        /// The account that owns it from now on
        #[arg(value_name = "NAME")]
        owner: String,
    },
    /// Deletes a project with its branches; for a time it can be restored
    Delete {
        /// The project, as in acme/shop.erp
        repo_id: String,
    },
    /// Restores a deleted project with its history
    Restore(RestoreArgs),
    /// Says which snapshots of a project stay when it is pruned, in place of what was said before
    Keep(ProjectKeep),
    /// Shows the rules of a project for its contents, or sets them
    Rules(ProjectRules),
    /// Lists the files that break the rules of a project; exit code 1 if there are any
    Validate(ProjectValidate),
}

impl ProjectCommand {
    /// False for what only reads.
    pub(in crate::cli) fn changes(&self) -> bool {
        match self {
            Self::List(_) | Self::Show { .. } | Self::Validate(_) => false,
            Self::Rules(args) => args.set.is_some() || args.none,
            _ => true,
        }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ProjectList {
    /// Instead those projects and branches that are deleted and can be restored
    #[arg(long)]
    pub(in crate::cli) deleted: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<LIST>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("rule").required(true).multiple(true)
    .args(["snapshots", "days", "all", "as_service"]))]
pub(in crate::cli) struct ProjectKeep {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// Of each branch, the newest so many
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(in crate::cli) snapshots: Option<u64>,
    /// Those that are younger, as 30 or 12w
    #[arg(long, value_name = "DAYS", value_parser = days_from_1)]
    pub(in crate::cli) days: Option<u64>,
    /// All
    #[arg(long, conflicts_with_all = ["snapshots", "days"])]
    pub(in crate::cli) all: bool,
    /// Those that the settings say
    #[arg(long, conflicts_with_all = ["snapshots", "days", "all"])]
    pub(in crate::cli) as_service: bool,
}

/// What `help project rules` says of the file.
const RULES_LONG: &str = "\
A file of rules is JSON, as --json shows them and the Admin API takes them:

  {\"rules\": [
    {\"patterns\": [\"*.json\"], \"check\": \"json\"},
    {\"patterns\": [\"*.xml\"], \"check\": \"xml\"},
    {\"patterns\": [\"*.yaml\", \"*.yml\"], \"check\": \"yaml\"},
    {\"patterns\": [\"conf/**/*.json\"], \"check\": \"schema\", \"schema\": \"schemas/conf.json\"}
  ]}

A pattern without a slash is of names in every folder, one with a slash of whole paths; ** stands for any \
number of folders. Rules are for what is saved from then on: \"siteconf project validate\" lists what \
breaks them, also before they are set.";

#[derive(Debug, Args)]
#[command(after_long_help = RULES_LONG)]
pub(in crate::cli) struct ProjectRules {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// Set the rules of this file in place of those that it has; with - of standard input
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(in crate::cli) set: Option<PathBuf>,
    /// Take its rules away
    #[arg(long, conflicts_with_all = ["set", "json"])]
    pub(in crate::cli) none: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ProjectValidate {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// Only this branch
    pub(in crate::cli) branch: Option<String>,
    /// By the rules of this file, in place of those that the project has; with - of standard input
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) rules: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
