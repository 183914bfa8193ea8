//! Who does something, as it is recorded.

use std::net::IpAddr;

/// Who makes a change. The account's name is what histories show; the rest is for the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    name: String,
    /// Who really acts: the system's user who runs a command.
    user: Option<String>,
    from: Option<IpAddr>,
}

impl Actor {
    /// The account of this name, at the address that its request came from, if it came from one.
    pub fn account(name: &str, from: Option<IpAddr>) -> Self {
        Self {
            name: name.to_owned(),
            user: None,
            from,
        }
    }

    /// A command that this user of the system runs.
    pub fn command_line(user: String) -> Self {
        Self {
            user: Some(user),
            ..Self::account("command line", None)
        }
    }

    /// This one who acts for an account: histories name the account, the audit log both.
    #[must_use]
    pub fn acting_for(self, account: &str) -> Self {
        let by = match self.user {
            Some(user) => format!("{}: {user}", self.name),
            None => self.name,
        };
        Self {
            name: account.to_owned(),
            user: Some(by),
            from: self.from,
        }
    }

    /// The service, of its own accord.
    pub fn service() -> Self {
        Self::account("siteconf", None)
    }

    /// The name for histories.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name with the system's user, for the audit log.
    pub fn full_name(&self) -> String {
        match &self.user {
            Some(user) => format!("{} ({user})", self.name),
            None => self.name.clone(),
        }
    }

    /// Where the request came from.
    pub fn address(&self) -> Option<IpAddr> {
        self.from
    }
}

impl From<&str> for Actor {
    /// The account of this name.
    fn from(name: &str) -> Self {
        Self::account(name, None)
    }
}
