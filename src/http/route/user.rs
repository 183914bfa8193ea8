//! The routes of logging in and out (contract section 7).

use hyper::Method;

/// A route below `/user`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    Login,
    Logout,
    Session,
    /// `PUT /password`
    ChangePassword,
    /// `GET /sessions`
    Sessions,
    /// `DELETE /sessions/<id>`
    EndSession {
        id: String,
    },
}

impl Route {
    /// The route with this method and path below `/user`.
    pub(in crate::http) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        match (method.as_str(), segments) {
            ("POST", ["login"]) => Some(Self::Login),
            ("POST", ["logout"]) => Some(Self::Logout),
            ("GET", ["session"]) => Some(Self::Session),
            ("PUT", ["password"]) => Some(Self::ChangePassword),
            ("GET", ["sessions"]) => Some(Self::Sessions),
            ("DELETE", ["sessions", id]) => Some(Self::EndSession {
                id: (*id).to_owned(),
            }),
            _ => None,
        }
    }
}

crate::http::route::names::templates! {
    Self::Login => ["POST /login"] for Anybody,
    Self::Logout => ["POST /logout"] for Anybody,
    Self::Session => ["GET /session"] for Session,
    Self::ChangePassword => ["PUT /password"] for Session,
    Self::Sessions => ["GET /sessions"] for Session,
    Self::EndSession { .. } => ["DELETE /sessions/{session_id}"] for OwnSession,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routes_are_those_of_the_contract() {
        for (method, segments, expected) in [
            (Method::POST, &["login"][..], Some(Route::Login)),
            (Method::POST, &["logout"], Some(Route::Logout)),
            (Method::GET, &["session"], Some(Route::Session)),
            (Method::PUT, &["password"], Some(Route::ChangePassword)),
            (Method::GET, &["sessions"], Some(Route::Sessions)),
            (
                Method::DELETE,
                &["sessions", "0"],
                Some(Route::EndSession { id: "0".into() }),
            ),
            (Method::DELETE, &["sessions"], None),
            (Method::GET, &["login"], None),
            (Method::POST, &["login", "x"], None),
            (Method::GET, &[], None),
        ] {
            assert_eq!(
                Route::find(&method, segments),
                expected,
                "{method} {segments:?}"
            );
        }
    }
}
