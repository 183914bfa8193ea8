//! JSON bodies of the Admin API: the first byte names the route, `a` the first, the rest is the body. Only JSON is
//! taken, it means the same however it is written, and what is refused has changed nothing.

use serde_json::Value;

use super::answer::Answer;
use super::scene::{ask, cookie};

const ROUTES: [(&str, &str); 11] = [
    ("POST", "/site-builder/api/projects"),
    ("PATCH", "/site-builder/api/projects/acme%2Fshop.erp"),
    (
        "POST",
        "/site-builder/api/projects/acme%2Fshop.erp/branches",
    ),
    (
        "PATCH",
        "/site-builder/api/projects/acme%2Fshop.erp/branches/main",
    ),
    (
        "POST",
        "/site-builder/api/projects/acme%2Fshop.erp/branches/main/batch",
    ),
    (
        "PUT",
        "/site-builder/api/projects/acme%2Fshop.erp/validation",
    ),
    ("POST", "/site-builder/api/tokens"),
    ("PATCH", "/site-builder/api/tokens/1"),
    ("POST", "/site-builder/api/tokens/1/rotate"),
    ("PATCH", "/site-builder/api/accounts/eve"),
    ("PUT", "/user/password"),
];

pub(crate) fn hold(input: &[u8]) {
    let Some((route, body)) = input.split_first() else {
        return;
    };
    let route = ROUTES[usize::from(route.wrapping_sub(b'a')) % ROUTES.len()];
    let (answer, changed) = send(route, body);
    let is_taken = (200..300).contains(&answer.status);
    assert!(is_taken || !changed, "a refusal changed something");
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        // Some routes need no body.
        return assert!(!is_taken || body.is_empty(), "what is no JSON was taken");
    };
    // Written anew, a field that comes twice would be there once.
    if answer.status != 400 {
        let written = serde_json::to_vec_pretty(&value).expect("it is JSON");
        let (again, _) = send(route, &written);
        assert_eq!(
            again.status, answer.status,
            "written anew it is another body"
        );
    }
}

fn send((method, target): (&str, &str), body: &[u8]) -> (Answer, bool) {
    let lines = format!(
        "Cookie: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        cookie(),
        body.len()
    );
    ask(method, target, lines.as_bytes(), body)
}
