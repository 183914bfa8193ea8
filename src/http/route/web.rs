//! The routes of the page: what a person's browser asks for.

use hyper::Method;

/// The page and its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /`
    Home,
    /// `GET /site-builder/` and every path below it that nothing else has: the page finds its state in the
    /// address itself. `is_below` for all but the first.
    Document { is_below: bool },
    /// `GET /site-builder/-/<hash>/<name>`
    Asset { hash: String, name: String },
    /// `GET /site-builder/licences`
    Licences,
}

impl Route {
    /// The route with this method and path.
    pub(in crate::http) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        if method != Method::GET {
            return None;
        }
        match segments {
            [] => Some(Self::Home),
            ["site-builder", "-", hash, name] => Some(Self::Asset {
                hash: (*hash).to_owned(),
                name: (*name).to_owned(),
            }),
            ["site-builder", "-", ..] => None,
            ["site-builder", "licences"] => Some(Self::Licences),
            ["site-builder", below @ ..] => Some(Self::Document {
                is_below: !below.is_empty(),
            }),
            _ => None,
        }
    }
}

crate::http::route::names::templates! {
    Self::Home => ["GET /"] for Anybody,
    Self::Document { .. } => ["GET /site-builder/{state}"] for Anybody,
    Self::Asset { .. } => ["GET /site-builder/-/{hash}/{name}"] for Anybody,
    Self::Licences => ["GET /site-builder/licences"] for Anybody,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_the_page_or_of_one_of_its_files() {
        for (path, expected) in [
            ("", "GET /"),
            ("site-builder", "GET /site-builder/{state}"),
            ("site-builder/files/a/b.erp", "GET /site-builder/{state}"),
            ("site-builder/licences", "GET /site-builder/licences"),
            (
                "site-builder/-/00/app.js",
                "GET /site-builder/-/{hash}/{name}",
            ),
        ] {
            let segments: Vec<_> = path.split_terminator('/').collect();
            let found = Route::find(&Method::GET, &segments).expect(path);
            assert_eq!(found.templates(), [expected], "{path}");
            assert_eq!(Route::find(&Method::POST, &segments), None, "{path}");
        }
        for path in [
            "site-builder/-",
            "site-builder/-/00",
            "site-builder/-/00/a/b",
        ] {
            let segments: Vec<_> = path.split('/').collect();
            assert_eq!(Route::find(&Method::GET, &segments), None, "{path}");
        }
    }
}
