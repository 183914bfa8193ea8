//! Who may be given a project.

use crate::access::Account;
use crate::cli::{Error, Result};

/// # Errors
/// The account is disabled: nobody could answer for the project.
pub(in crate::cli) fn require_enabled(account: &Account) -> Result<()> {
    if account.is_enabled() {
        return Ok(());
    }
    let name = account.name();
    Err(Error::Failed(format!(
        "\"{name}\" is disabled and is given no project; \"siteconf user enable {name}\" lets the account in \
         again"
    )))
}
