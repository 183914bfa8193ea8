//! Routes by their place in one list: what counts and logs requests needs neither the names in a path nor
//! a search.

use std::sync::LazyLock;

use super::policy::Policy;
use super::{Target, admin, openapi, probe, read, user, web};

/// Where the Admin API is mounted.
const ADMIN: &str = "/site-builder/api";

/// Where each table is mounted.
const TABLES: [(&str, &[&str]); 8] = [
    ("/site-builder/api/erp-config", read::Route::TEMPLATES),
    (ADMIN, admin::project::Route::TEMPLATES),
    (ADMIN, admin::branch::Route::TEMPLATES),
    (ADMIN, admin::account::Route::TEMPLATES),
    ("/user", user::Route::TEMPLATES),
    ("/site-builder/api/openapi.json", openapi::Route::TEMPLATES),
    ("", probe::Route::TEMPLATES),
    ("", web::Route::TEMPLATES),
];

/// The policies of each table's routes.
const POLICIES: [&[Policy]; TABLES.len()] = [
    read::Route::POLICIES,
    admin::project::Route::POLICIES,
    admin::branch::Route::POLICIES,
    admin::account::Route::POLICIES,
    user::Route::POLICIES,
    openapi::Route::POLICIES,
    probe::Route::POLICIES,
    web::Route::POLICIES,
];

/// The place of each table's first route among all, and at the end their count.
const FIRST: [usize; TABLES.len() + 1] = {
    let mut first = [0; TABLES.len() + 1];
    let mut table = 0;
    while table < TABLES.len() {
        first[table + 1] = first[table] + TABLES[table].1.len();
        table += 1;
    }
    first
};

/// A route of any table; or none, for a path that has none and for `OPTIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Template(usize);

impl Template {
    /// No route.
    pub(in crate::http) const NONE: Self = Self(FIRST[TABLES.len()]);
    /// How many there are, none included.
    const COUNT: usize = Self::NONE.0 + 1;

    /// The route of a target.
    pub(in crate::http) fn of(target: &Target) -> Self {
        Self(match target {
            Target::Read(route) => FIRST[0] + route.place(),
            Target::Admin(admin::Route::Project(route)) => FIRST[1] + route.place(),
            Target::Admin(admin::Route::Branch(_, route)) => FIRST[2] + route.place(),
            Target::Admin(admin::Route::Account(route)) => FIRST[3] + route.place(),
            Target::User(route) => FIRST[4] + route.place(),
            Target::OpenApi(route) => FIRST[5] + route.place(),
            Target::Probe(route) => FIRST[6] + route.place(),
            Target::Web(route) => FIRST[7] + route.place(),
            Target::Options(_) => return Self::NONE,
        })
    }

    /// Every route, none last.
    pub(in crate::http) fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(Self)
    }

    /// Its place among all.
    pub(in crate::http) fn place(self) -> usize {
        self.0
    }

    /// Its path, with the names of its parameters for their values; `none` without a route.
    pub(in crate::http) fn path(self) -> &'static str {
        NAMES[self.0].1.as_str()
    }

    /// Whom it is for; nothing without a route.
    pub(in crate::http) fn policy(self) -> Option<Policy> {
        POLICIES.concat().get(self.0).copied()
    }

    /// Its method, which has `HEAD` where it has `GET`; `none` without a route.
    pub(in crate::http) fn method(self) -> &'static str {
        NAMES[self.0].0
    }
}

/// Method and path of every route.
static NAMES: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let names = TABLES.iter().flat_map(|(mount, templates)| {
        templates.iter().map(move |template| {
            let (method, path) = template.split_once(' ').unwrap_or_default();
            (method, format!("{mount}{path}"))
        })
    });
    names.chain([("none", "none".to_owned())]).collect()
});

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::*;
    use crate::http::route::{Mount, find};

    #[test]
    fn a_request_has_the_template_of_its_route() {
        for (method, path, expected) in [
            (
                Method::GET,
                "site-builder api erp-config health",
                "/site-builder/api/erp-config/health",
            ),
            (
                Method::HEAD,
                "site-builder api erp-config api v4 projects 7 repository archive.tar.gz",
                "/site-builder/api/erp-config/projects/{repo_id}/repository/archive",
            ),
            (
                Method::DELETE,
                "site-builder api tokens 7",
                "/site-builder/api/tokens/{token_id}",
            ),
            (Method::POST, "user login", "/user/login"),
            (
                Method::GET,
                "site-builder api openapi.json",
                "/site-builder/api/openapi.json",
            ),
            (Method::GET, "readyz", "/readyz"),
            (Method::GET, "site-builder", "/site-builder/{state}"),
            (Method::OPTIONS, "readyz", "none"),
        ] {
            let segments: Vec<_> = path.split(' ').collect();
            let target = find(&method, Mount::of(&segments, false)).unwrap();
            assert_eq!(Template::of(&target).path(), expected);
        }
        assert_eq!(Template::all().last(), Some(Template::NONE));
        assert_eq!(
            (Template::NONE.method(), Template::NONE.path()),
            ("none", "none")
        );
    }
}
