//! A token as it is listed.

use crate::access::{Account, ShownToken, TokenState, TokenView};
use crate::cli::output::Listed;

/// The state of a token that would open something if its owner's account were enabled.
const OWNER_DISABLED: &str = "owner disabled";

/// A token of this account as it is listed: as the Admin API has it, but for [`OWNER_DISABLED`], which that does not
/// tell.
pub(super) fn shown(token: TokenView, owner: &Account) -> ShownToken {
    let is_shut = token.state == TokenState::Active && !owner.is_enabled();
    let shown = ShownToken::from(token);
    if !is_shut {
        return shown;
    }
    ShownToken {
        state: OWNER_DISABLED.to_owned(),
        ..shown
    }
}

impl Listed for ShownToken {
    const HEADINGS: &'static [&'static str] = &[
        "ID",
        "OWNER",
        "NAME",
        "ENDS IN",
        "STATE",
        "EXPIRES",
        "LAST USED",
        "INSTANCE",
        "OLD VALUE UNTIL",
        "REPOS",
    ];

    fn cells(&self) -> Vec<String> {
        let instance = match (self.fingerprint_required, self.fingerprint_bound) {
            (false, _) => "any",
            (true, false) => "the first",
            (true, true) => "bound",
        };
        vec![
            self.token_id.clone(),
            self.owner.clone(),
            self.name.clone(),
            self.suffix.clone(),
            self.state.clone(),
            self.expires_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            self.last_used_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            instance.to_owned(),
            self.earlier_until.clone().unwrap_or_default(),
            self.repos.join(" "),
        ]
    }
}
