//! Which API and which of its routes a method and a path name.
//!
//! A route is an enum parsed from method and path. A further route is one variant and one line in
//! its API's table here, one function in its API's handlers, and an operation in the document.

pub(in crate::http) mod admin;
pub(in crate::http) mod names;
pub(in crate::http) mod openapi;
pub(in crate::http) mod policy;
pub(in crate::http) mod probe;
mod project_name;
pub(in crate::http) mod read;
pub(in crate::http) mod template;
pub(in crate::http) mod user;
pub(in crate::http) mod web;

use hyper::Method;

use super::error::Error;
use super::request::head_rules;

/// The API that a path belongs to, with the segments below its mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Mount<'a> {
    Read(&'a [&'a str]),
    Admin(&'a [&'a str]),
    User(&'a [&'a str]),
    OpenApi(&'a [&'a str]),
    Probe(&'a [&'a str]),
    Web(&'a [&'a str]),
    None,
}

impl<'a> Mount<'a> {
    /// The API of these segments; `root_mount` as in the settings.
    pub(in crate::http) fn of(segments: &'a [&'a str], root_mount: bool) -> Self {
        match segments {
            ["site-builder", "api", "erp-config", "api", "v4", rest @ ..]
            | ["site-builder", "api", "erp-config", rest @ ..] => Self::Read(rest),
            ["api", "v4", rest @ ..] if root_mount => Self::Read(rest),
            ["site-builder", "api", "openapi.json", rest @ ..] => Self::OpenApi(rest),
            ["site-builder", "api", rest @ ..] => Self::Admin(rest),
            ["user", rest @ ..] => Self::User(rest),
            ["livez" | "readyz", ..] => Self::Probe(segments),
            [] | ["site-builder", ..] => Self::Web(segments),
            _ => Self::None,
        }
    }
}

/// What a request asks for.
#[derive(Debug)]
pub(in crate::http) enum Target {
    /// Something of the Read API.
    Read(read::Route),
    /// Something of the Admin API.
    Admin(admin::Route),
    /// Logging in and out.
    User(user::Route),
    /// The document that describes both APIs.
    OpenApi(openapi::Route),
    /// Whether the service is well.
    Probe(probe::Route),
    /// The page.
    Web(web::Route),
    /// Which methods a path has.
    Options(Vec<Method>),
}

/// What a method and the path below a mount ask for.
///
/// # Errors
/// [`Error::NoRoute`] when the path has no method at all, [`Error::Method`] when it has others.
pub(in crate::http) fn find(method: &Method, mount: Mount<'_>) -> Result<Target, Error> {
    match mount {
        Mount::Read(segments) => look_up(method, |method| {
            read::Route::find(method, segments).map(Target::Read)
        }),
        Mount::Admin(segments) => look_up(method, |method| {
            admin::Route::find(method, segments).map(Target::Admin)
        }),
        Mount::User(segments) => look_up(method, |method| {
            user::Route::find(method, segments).map(Target::User)
        }),
        Mount::OpenApi(segments) => look_up(method, |method| {
            openapi::Route::find(method, segments).map(Target::OpenApi)
        }),
        Mount::Probe(segments) => look_up(method, |method| {
            probe::Route::find(method, segments).map(Target::Probe)
        }),
        Mount::Web(segments) => look_up(method, |method| {
            web::Route::find(method, segments).map(Target::Web)
        }),
        Mount::None => Err(Error::NoRoute),
    }
}

/// Looks a method up among those of a path, which `find` knows.
fn look_up(method: &Method, find: impl Fn(&Method) -> Option<Target>) -> Result<Target, Error> {
    let looked_up = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    if let Some(target) = find(looked_up) {
        return Ok(target);
    }
    let mut methods = head_rules::METHODS.to_vec();
    methods.retain(|method| find(method).is_some());
    if methods.is_empty() {
        Err(Error::NoRoute)
    } else if method == Method::OPTIONS {
        Ok(Target::Options(methods))
    } else {
        Err(Error::method(&methods))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mounts_are_those_of_the_contract() {
        for (segments, expected) in [
            (
                &["site-builder", "api", "erp-config", "health"][..],
                Mount::Read(&["health"]),
            ),
            (
                &["site-builder", "api", "erp-config", "api", "v4", "user"],
                Mount::Read(&["user"]),
            ),
            (
                &["site-builder", "api", "projects"],
                Mount::Admin(&["projects"]),
            ),
            (
                &["site-builder", "api", "openapi.json"],
                Mount::OpenApi(&[]),
            ),
            (&["user", "login"], Mount::User(&["login"])),
            (&["livez"], Mount::Probe(&["livez"])),
            (&["api", "v4", "projects"], Mount::None),
            (&["api"], Mount::None),
            (&[], Mount::Web(&[])),
            (
                &["site-builder", "files", "a.erp"],
                Mount::Web(&["site-builder", "files", "a.erp"]),
            ),
        ] {
            assert_eq!(Mount::of(segments, false), expected, "{segments:?}");
        }
        assert_eq!(
            Mount::of(&["api", "v4", "projects"], true),
            Mount::Read(&["projects"])
        );
    }

    #[test]
    fn a_known_path_tells_its_methods() {
        let branch = ["projects", "a.erp", "branches", "main"];
        let find = |method| find(&method, Mount::Admin(&branch));
        assert!(matches!(
            find(Method::DELETE),
            Ok(Target::Admin(admin::Route::Branch(
                _,
                admin::branch::Route::Delete
            )))
        ));
        assert!(matches!(
            find(Method::OPTIONS),
            Ok(Target::Options(methods)) if methods == [Method::GET, Method::PATCH, Method::DELETE]
        ));
        assert!(matches!(
            find(Method::POST),
            Err(Error::Method { allow }) if allow == "GET, HEAD, PATCH, DELETE, OPTIONS"
        ));
        let session = super::find(&Method::HEAD, Mount::User(&["session"]));
        assert!(matches!(session, Ok(Target::User(user::Route::Session))));
        let nothing = super::find(&Method::OPTIONS, Mount::User(&["b"]));
        assert!(matches!(nothing, Err(Error::NoRoute)));
    }
}
