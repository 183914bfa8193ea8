//! Which API and which of its routes a method and a path name.
//!
//! A route is an enum parsed from method and path. A further route is one variant and one line in
//! its API's table here, one function in its API's handlers, and an operation in the document.

pub(in crate::http) mod admin;
pub(in crate::http) mod openapi;
pub(in crate::http) mod read;
pub(in crate::http) mod user;

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
            _ => Self::None,
        }
    }
}

/// What a request of some API asks for.
pub(in crate::http) enum Routed<R> {
    To(R),
    /// Which methods there are.
    Options(Vec<Method>),
}

/// Looks a method and path up in a table of routes.
///
/// # Errors
/// [`Error::NoRoute`] when the path has no method at all, [`Error::Method`] when it has others.
pub(in crate::http) fn routed<R>(
    method: &Method,
    segments: &[&str],
    find: impl Fn(&Method, &[&str]) -> Option<R>,
) -> Result<Routed<R>, Error> {
    let looked_up = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    if let Some(route) = find(looked_up, segments) {
        return Ok(Routed::To(route));
    }
    let mut methods = head_rules::METHODS.to_vec();
    methods.retain(|method| find(method, segments).is_some());
    if methods.is_empty() {
        Err(Error::NoRoute)
    } else if method == Method::OPTIONS {
        Ok(Routed::Options(methods))
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
            (&["api", "v4", "projects"], Mount::None),
            (&["api"], Mount::None),
            (&[], Mount::None),
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
        let find = |method: &Method, segments: &[&str]| {
            let known = [Method::GET, Method::PUT].contains(method) && segments == ["a"];
            known.then_some(())
        };
        assert!(matches!(
            routed(&Method::HEAD, &["a"], find),
            Ok(Routed::To(()))
        ));
        assert!(matches!(
            routed(&Method::OPTIONS, &["a"], find),
            Ok(Routed::Options(methods)) if methods == [Method::GET, Method::PUT]
        ));
        assert!(matches!(
            routed(&Method::POST, &["a"], find),
            Err(Error::Method { allow }) if allow == "GET, HEAD, PUT, OPTIONS"
        ));
        assert!(matches!(
            routed(&Method::OPTIONS, &["b"], find),
            Err(Error::NoRoute)
        ));
    }
}
