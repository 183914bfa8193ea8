//! The grammar of `pull`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::settings::{bytes_from_1, seconds_to_a_day};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(in crate::cli) struct Pull {
    /// The service, as in `https://conf.example`; with a path it is the root of the API as it stands, as in
    /// `https://gitlab.example/api/v4`
    pub(super) url: String,
    /// The project, as in acme/shop.erp
    pub(super) repo_id: String,
    /// The branch
    #[arg(value_name = "REF")]
    pub(super) branch: String,
    /// The folder to keep equal to it; made when absent. A change replaces it: a shell in it must enter it again
    pub(super) dir: PathBuf,
    /// Goes on for ever: waits for changes, and lays them out as they come
    #[arg(long)]
    pub(super) watch: bool,
    /// How long --watch waits between two questions to a server that does not hold its answers, up to a day
    #[arg(long, value_name = "SECONDS", value_parser = seconds_to_a_day, default_value = "30")]
    pub(super) interval: u64,
    /// File of the token, read again when it is changed or refused; without it the variable `SITECONF_TOKEN`
    /// has it
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// What a shell is to run after a change, with `SITECONF_COMMIT`, `SITECONF_DIR`, `SITECONF_CHANGED`, the
    /// number of changed files, and `SITECONF_CHANGES`, a file that names them; until it ends with 0 it is
    /// run again with each pull, with --watch after a while. What it prints goes to standard error, 64 KiB of
    /// it. What it leaves running must write elsewhere, as into a file: nobody reads that any more
    #[arg(long, value_name = "CMD")]
    pub(super) exec: Option<String>,
    /// How long CMD may take, up to a day; then it is ended with all that it started
    #[arg(long, value_name = "SECONDS", value_parser = seconds_to_a_day, default_value = "300")]
    pub(super) exec_timeout: u64,
    /// Removes nothing: what is gone from the branch stays in the folder
    #[arg(long)]
    pub(super) keep: bool,
    /// Reads every file of the folder, rather than to go by size and time, and mends what was changed
    #[arg(long)]
    pub(super) verify: bool,
    /// File of the certificates to trust, PEM, in the place of the system's
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,
    /// What came of it as JSON; with --watch a line for each change
    #[arg(long)]
    pub(super) json: bool,
    /// Files that are fetched at once where they take long, each over a connection
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), default_value = "8")]
    pub(super) parallel: u16,
    /// Most bytes that all files may have together
    #[arg(long, value_name = "BYTES", value_parser = bytes_from_1, default_value = "10G")]
    pub(super) bytes_max: u64,
}
