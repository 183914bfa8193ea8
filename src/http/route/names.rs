//! The names of the routes of a table, as the document has them.

use super::policy::Policy;

/// Names every route of a table as the document does, `METHOD /path/below/the/mount`, and says whom it is
/// for. The compiler sees to it that no variant is forgotten, and none is without a policy.
macro_rules! templates {
    ($($route:pat => [$($template:literal),+ $(,)?] for $policy:ident,)+) => {
        impl Route {
            /// The names of all routes.
            pub(in crate::http) const TEMPLATES: &[&str] = &[$($($template),+),+];

            /// The policy of each, in the same order.
            pub(in crate::http) const POLICIES: &[crate::http::route::policy::Policy] = &[
                $($(crate::http::route::names::of($template, crate::http::route::policy::Policy::$policy)),+),+
            ];

            /// The place of its first name among them.
            pub(in crate::http) fn place(&self) -> usize {
                match self {
                    $($route => const {
                        crate::http::route::names::place(Self::TEMPLATES, [$($template),+][0])
                    },)+
                }
            }

            /// The names that lead to this route.
            #[cfg(test)]
            pub(in crate::http) fn templates(&self) -> &'static [&'static str] {
                match self {
                    $($route => &[$($template),+],)+
                }
            }
        }
    };
}
pub(in crate::http) use templates;

/// The policy of one name of a route.
pub(in crate::http) const fn of(_name: &str, policy: Policy) -> Policy {
    policy
}

/// The place of a name in its table.
pub(in crate::http) const fn place(templates: &[&str], name: &str) -> usize {
    let mut place = 0;
    while !is_same(templates[place].as_bytes(), name.as_bytes()) {
        place += 1;
    }
    place
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut same = a.len() == b.len();
    let mut at = 0;
    while same && at < a.len() {
        same = a[at] == b[at];
        at += 1;
    }
    same
}
