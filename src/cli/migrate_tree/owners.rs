//! The owner map: which account an old owner becomes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::access::Role;
use crate::base::account_name::AccountName;
use crate::base::limits::SEGMENT_BYTES_MAX;
use crate::cli::{Error, Result};

/// Longest owner map, in bytes.
const MAP_BYTES_MAX: u64 = 4 << 20;

/// The accounts of old owners; an owner without an entry becomes the account of its name.
#[derive(Debug, Default)]
pub(super) struct Owners(BTreeMap<String, Becomes>);

/// The account that an owner becomes.
#[derive(Clone, Default)]
pub(super) struct Becomes {
    pub(super) account: String,
    pub(super) roles: Vec<Role>,
    pub(super) password: Option<String>,
}

impl fmt::Debug for Becomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Becomes({})", self.account)
    }
}

impl Owners {
    /// Reads a map.
    ///
    /// # Errors
    /// [`Error::Failed`] with the line, for what is no such map; [`Error::File`].
    pub(super) fn read(path: &Path) -> Result<Self> {
        let failed = Error::file("reading", path);
        let length = fs::metadata(path).map(|of| of.len());
        let text = match length {
            Ok(length) if length > MAP_BYTES_MAX => {
                return Err(Error::Failed(format!(
                    "{}: an owner map has at most {MAP_BYTES_MAX} bytes",
                    path.display()
                )));
            }
            Ok(_) => fs::read(path),
            Err(error) => Err(error),
        };
        let text = text.map_err(failed)?;
        serde_json::from_slice(&text).map_err(|e| Error::Failed(format!("{}: {e}", path.display())))
    }

    /// The account that an owner becomes.
    pub(super) fn of(&self, owner: &str) -> Becomes {
        self.0.get(owner).cloned().unwrap_or_else(|| Becomes {
            account: owner.to_owned(),
            ..Becomes::default()
        })
    }

    /// True if it names this owner.
    pub(super) fn has(&self, owner: &str) -> bool {
        self.0.contains_key(owner)
    }

    /// The owners that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// An entry as it is written.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an entry must be the name of an account, or an object with account and, \
                               if wanted, roles and password"
)]
enum Entry {
    Name(String),
    Whole(Whole),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    account: String,
    #[serde(default)]
    roles: Vec<String>,
    password: Option<String>,
}

impl TryFrom<Entry> for Becomes {
    type Error = String;

    fn try_from(entry: Entry) -> std::result::Result<Self, String> {
        let whole = match entry {
            Entry::Name(account) => Whole {
                account,
                roles: Vec::new(),
                password: None,
            },
            Entry::Whole(whole) => whole,
        };
        let account = AccountName::parse(&whole.account).map_err(|e| e.to_string())?;
        let roles = whole.roles.iter().map(|role| role.parse::<Role>());
        Ok(Self {
            account: account.to_string(),
            roles: roles
                .collect::<std::result::Result<_, _>>()
                .map_err(|e| e.to_string())?,
            password: whole.password,
        })
    }
}

impl<'de> Deserialize<'de> for Owners {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Owners;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the old owners")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut entries: A,
            ) -> std::result::Result<Owners, A::Error> {
                let mut owners = BTreeMap::new();
                while let Some((owner, entry)) = entries.next_entry::<String, Entry>()? {
                    if owner.len() > SEGMENT_BYTES_MAX {
                        return Err(A::Error::custom(format!(
                            "an owner has a name of at most {SEGMENT_BYTES_MAX} bytes"
                        )));
                    }
                    let becomes = Becomes::try_from(entry).map_err(A::Error::custom)?;
                    if owners.insert(owner.clone(), becomes).is_some() {
                        return Err(A::Error::custom(format!("\"{owner}\" is there twice")));
                    }
                }
                Ok(Owners(owners))
            }
        }

        from.deserialize_map(Entries)
    }
}
