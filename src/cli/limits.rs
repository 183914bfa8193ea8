//! The settings of [`Limits`]: each a flag, a variable and a name in the file's table `limits`.

use clap::Args;
use serde::Deserialize;

use crate::http::Limits;

/// Declares the limits that may be given: name, variable, and what `--help` says.
macro_rules! given_limits {
    ($($(#[doc = $text:literal])+ $name:ident, $variable:literal;)+) => {
        /// The limits that somebody gave.
        #[derive(Clone, Debug, Default, Args, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(super) struct GivenLimits {
            $(
                $(#[doc = $text])+
                #[arg(long, value_name = "N", env = $variable)]
                $name: Option<u64>,
            )+
        }

        impl GivenLimits {
            /// These, then those, then the defaults.
            pub(super) fn or(&self, others: &Self) -> Limits {
                let usual = Limits::default();
                Limits {
                    $($name: self.$name.or(others.$name).unwrap_or(usual.$name),)+
                }
            }
        }

        #[cfg(test)]
        const LIMITS: &[(&str, &[&str], fn(&Limits) -> u64)] =
            &[$((stringify!($name), &[$($text),+], |limits| limits.$name),)+];
    };
}

given_limits! {
    /// Most connections at once; more wait [default: 10000]
    connections_max, "SITECONF_CONNECTIONS_MAX";
    /// Connections of one address; 0 for no limit [default: 1024]
    connections_address_max, "SITECONF_CONNECTIONS_ADDRESS_MAX";
    /// Seconds for a body of JSON or of a form [default: 20]
    body_s_max, "SITECONF_BODY_S_MAX";
    /// Seconds in which an upload must bring 1 KiB for each [default: 30]
    upload_grace_s, "SITECONF_UPLOAD_GRACE_S";
    /// Bytes of bodies of the Admin API in memory at once [default: 134217728]
    bodies_bytes_max, "SITECONF_BODIES_BYTES_MAX";
    /// Of these, most for one account [default: 67108864]
    bodies_bytes_account_max, "SITECONF_BODIES_BYTES_ACCOUNT_MAX";
    /// Comparisons, archives, searches and long listings at once [default: 2]
    long_at_once_max, "SITECONF_LONG_AT_ONCE_MAX";
    /// Such requests that wait [default: 256]
    long_waiting_max, "SITECONF_LONG_WAITING_MAX";
    /// Such requests of one token or session that run or wait [default: 8]
    long_credential_max, "SITECONF_LONG_CREDENTIAL_MAX";
    /// Passwords checked at once; each takes 19 MiB [default: 2]
    logins_at_once_max, "SITECONF_LOGINS_AT_ONCE_MAX";
    /// Logins that wait for that [default: 64]
    logins_waiting_max, "SITECONF_LOGINS_WAITING_MAX";
    /// Logins of one address that are checked or wait [default: 16]
    logins_waiting_address_max, "SITECONF_LOGINS_WAITING_ADDRESS_MAX";
    /// Wrong logins a minute from one address to one account; 0 for no limit [default: 5]
    wrong_logins_minute_max, "SITECONF_WRONG_LOGINS_MINUTE_MAX";
    /// Wrong logins a minute from one address; 0 for no limit [default: 10]
    wrong_logins_minute_address_max, "SITECONF_WRONG_LOGINS_MINUTE_ADDRESS_MAX";
    /// Wrong logins a minute to one account; 0 for no limit [default: 60]
    wrong_logins_minute_account_max, "SITECONF_WRONG_LOGINS_MINUTE_ACCOUNT_MAX";
    /// Requests a minute from one address with tokens that do not count; 0 for no limit
    /// [default: 300]
    wrong_tokens_minute_address_max, "SITECONF_WRONG_TOKENS_MINUTE_ADDRESS_MAX";
}

/// The first limit that must not be 0 and is.
pub(super) fn zero(limits: &Limits) -> Option<&'static str> {
    [
        ("connections_max", limits.connections_max),
        ("logins_at_once_max", limits.logins_at_once_max),
        ("body_s_max", limits.body_s_max),
        ("bodies_bytes_max", limits.bodies_bytes_max),
        ("bodies_bytes_account_max", limits.bodies_bytes_account_max),
        ("long_at_once_max", limits.long_at_once_max),
        ("long_credential_max", limits.long_credential_max),
        ("upload_grace_s", limits.upload_grace_s),
        (
            "logins_waiting_address_max",
            limits.logins_waiting_address_max,
        ),
    ]
    .into_iter()
    .find_map(|(name, value)| (value == 0).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_says_its_default() {
        let usual = Limits::default();
        for (name, text, value) in LIMITS {
            let said = text.concat();
            let default = format!("[default: {}]", value(&usual));
            assert!(said.ends_with(&default), "{name}: {said}");
        }
    }
}
