//! The roles of specification section 5.4, as names and as grants.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::grant::{Grant, Pattern};
use super::permission::Permissions;
use crate::base::name_error::shortened;
use crate::base::repo_id::{RepoId, check_name};

const USER: &str = "ROLE_SITEBUILDER_USER";
const PUBLIC_EDITOR: &str = "ROLE_SITEBUILDER_EDITOR__PUBLIC";
const AUDITOR: &str = "ROLE_SITEBUILDER_EDITOR__READONLY";
const ROOT: &str = "ROLE_SITEBUILDER_EDITOR__ROOT";

/// A role of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// `ROLE_SITEBUILDER_USER`: one's own folder.
    User,
    /// `ROLE_SITEBUILDER_USER__<prefix>`: the projects of a group in any user's folder. The prefix
    /// passed the rules of a project's name or of a whole repo id.
    Prefix(String),
    /// `ROLE_SITEBUILDER_EDITOR__PUBLIC`: the public folder.
    PublicEditor,
    /// `ROLE_SITEBUILDER_EDITOR__READONLY`: everything, to look at.
    Auditor,
    /// `ROLE_SITEBUILDER_EDITOR__ROOT`: everything.
    Root,
}

/// Says that a text names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown role \"{text}\": it must be {USER}, {USER}__<prefix> with a project's name, the start of \
     one up to a \"/\", or a repo id, {PUBLIC_EDITOR}, {AUDITOR} or {ROOT}"
)]
pub struct RoleError {
    text: String,
}

impl Role {
    /// What the role gives to the account with this number.
    pub fn grant(&self, account: u64) -> Grant<'_> {
        match self {
            Self::User => Grant::new(Pattern::UserFolder(account), Permissions::FULL),
            Self::Prefix(prefix) => Grant::new(Pattern::Prefix(prefix), Permissions::FULL),
            Self::PublicEditor => {
                let change = Permissions::WRITE.and(Permissions::REMOVE);
                Grant::new(Pattern::Public, change)
            }
            Self::Auditor => Grant::new(Pattern::Everything, Permissions::VIEW),
            Self::Root => Grant::new(Pattern::Everything, Permissions::ALL),
        }
    }
}

/// All grants of an account with these roles. One without a role owns its folder all the same, and
/// everybody may read what is public.
pub fn grants(account: u64, roles: &[Role]) -> impl Iterator<Item = Grant<'_>> {
    let everybody = Grant::new(Pattern::Public, Permissions::VIEW);
    let given = roles.iter().map(move |role| role.grant(account));
    [Role::User.grant(account), everybody]
        .into_iter()
        .chain(given)
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        let prefix = text
            .strip_prefix(USER)
            .and_then(|rest| rest.strip_prefix("__"));
        match (text, prefix) {
            (USER, _) => Ok(Self::User),
            (PUBLIC_EDITOR, _) => Ok(Self::PublicEditor),
            (AUDITOR, _) => Ok(Self::Auditor),
            (ROOT, _) => Ok(Self::Root),
            (_, Some(prefix)) if check_name(prefix).is_ok() || RepoId::parse(prefix).is_ok() => {
                Ok(Self::Prefix(prefix.to_owned()))
            }
            _ => Err(RoleError {
                text: shortened(text).into_owned(),
            }),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str(USER),
            Self::Prefix(prefix) => write!(f, "{USER}__{prefix}"),
            Self::PublicEditor => f.write_str(PUBLIC_EDITOR),
            Self::Auditor => f.write_str(AUDITOR),
            Self::Root => f.write_str(ROOT),
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_one_spelling() {
        for name in [
            "ROLE_SITEBUILDER_USER",
            "ROLE_SITEBUILDER_USER__acme",
            "ROLE_SITEBUILDER_USER__acme/shop",
            "ROLE_SITEBUILDER_USER__acme/shop.erp",
            "ROLE_SITEBUILDER_EDITOR__PUBLIC",
            "ROLE_SITEBUILDER_EDITOR__READONLY",
            "ROLE_SITEBUILDER_EDITOR__ROOT",
        ] {
            let role: Role = name.parse().unwrap();
            assert_eq!(role.to_string(), name);
            let json = serde_json::to_string(&role).unwrap();
            assert_eq!(json, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Role>(&json).unwrap(), role);
        }
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for name in [
            "",
            "ROLE_ADMIN",
            "role_sitebuilder_user",
            "ROLE_SITEBUILDER_USER_",
            "ROLE_SITEBUILDER_USER__",
            "ROLE_SITEBUILDER_USER__acme/",
            "ROLE_SITEBUILDER_USER__/acme",
            "ROLE_SITEBUILDER_USER__acme/../other",
            "ROLE_SITEBUILDER_USER__a b",
            "ROLE_SITEBUILDER_EDITOR",
            "ROLE_SITEBUILDER_EDITOR__WRITE",
            "ROLE_SITEBUILDER_EDITOR__ROOT ",
        ] {
            let refused = name.parse::<Role>().unwrap_err().to_string();
            let begins = format!("unknown role \"{name}\": ");
            assert!(refused.starts_with(&begins), "{refused}");
        }
    }
}
