//! The grammar of `migrate-tree`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::settings::{Flags, IMPORT};

/// What `help migrate-tree` says of the files.
const LONG: &str = "\
The tree: ROOT, or apps/site-builder in it, holds
  user/OWNER/NAME.TYPE/BRANCH/…                        a branch, with its files
  user/OWNER/NAME.TYPE/.snapshots/BRANCH/v0001/…       an old snapshot of it
  user/OWNER/NAME.TYPE/.snapshots/BRANCH/v0001.json    what is known of that snapshot
  public/NAME.TYPE/…                                   the same for project public/NAME.TYPE
A name with slashes is folders in folders (acme/shop.erp), or one folder with %2F for each slash; that of \
a branch is always one folder. Where a folder may be a project or a part of a name (acme.com in \
acme.com/shop.erp), .snapshots tells which; an empty one will do. v0001.json may say created_at (when the \
next save replaced the state), created_by, operation (save, delete, batch, rollback, import), path and \
message. Without created_at the snapshot has the time of its folder, without created_by the owner's name.

OWNER becomes the account of this name, without a password that works, or what the owner map says; \
\"public\" owns the projects of public/, which everybody may read. The map:
  {\"old.ann\": \"ann\", \"bob\": {\"account\": \"bob\", \"roles\": [\"ROLE_SITEBUILDER_USER__acme\"]}}
An account that it makes may have a \"password\", too.

The file of tokens has one JSON object a line, with owner, name, repos (ids, or \"*\" alone) and either \
value or sha256, the SHA-256 of the 64 digits as text; it may have suffix (the last six digits, beside \
sha256), expires_at, created_at, last_used_at, fingerprint_required, fingerprint (the X-Instance-Id) and \
state (active, expired, revoked):
  {\"owner\": \"ann\", \"name\": \"till 7\", \"value\": \"00…ff\", \"repos\": [\"acme/shop.erp\"]}

What does not fit is left out and named, everything else is taken; then the exit code is 1. Repeated, it \
takes what is new in the tree. What was changed here meanwhile stays as it is, and is named where the tree \
has something else; what was renamed here goes on under its new name, and what was deleted or removed here \
stays so without --renew. A branch that came without a file \
that could not be read comes whole after \"siteconf branch delete\", with --renew.";

#[derive(Debug, Args)]
#[command(after_long_help = LONG)]
#[expect(clippy::struct_excessive_bools, reason = "one each flag")]
pub(in crate::cli) struct MigrateTree {
    /// The old tree: the folder that holds user and public, or one with apps/site-builder in it
    pub(in crate::cli) root: PathBuf,
    /// JSON: which account an old owner becomes
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) owner_map: Option<PathBuf>,
    /// JSON, a line each: the tokens of the old system
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) tokens: Option<PathBuf>,
    /// Only say what would be done
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Instead compare what is here with the tree, every state by its digest; exit code 1 if something
    /// differs
    #[arg(long, conflicts_with_all = ["dry_run", "renew"])]
    pub(in crate::cli) verify: bool,
    /// Make anew what came from the tree and was deleted here, and accounts of owners that were removed
    #[arg(long)]
    pub(in crate::cli) renew: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<IMPORT>,
}
