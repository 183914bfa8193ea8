//! The grammar of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(in crate::cli) struct Completions {
    /// For which shell
    pub(super) shell: Shell,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ManPages {
    /// The folder, as /usr/local/share/man/man1; made when absent
    pub(super) dir: PathBuf,
}
