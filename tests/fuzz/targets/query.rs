//! Queries: the first byte names the route, `a` the first, the rest is the query. Its pairs mean the same however they
//! are escaped, and the links of an answer lead on.

use std::fmt::Write as _;

use super::answer::Answer;
use super::scene::{ask, cookie, token};

const READ: &str = "/site-builder/api/erp-config/projects/acme%2Fshop.erp/repository";
const ADMIN: &str = "/site-builder/api/projects/acme%2Fshop.erp/branches/main";
/// Links of an answer that are followed.
const FOLLOWED_MAX: usize = 3;

pub(crate) fn hold(input: &[u8]) {
    let Some((route, query)) = input.split_first() else {
        return;
    };
    let Ok(query) = std::str::from_utf8(query) else {
        return;
    };
    // What no target may hold is refused for every route: `request` has it.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !br#""\<>`{}#"#.contains(&byte);
    if !query.bytes().all(is_plain) || query.len() > 4000 {
        return;
    }
    let path = match route.wrapping_sub(b'a') % 10 {
        0 => format!("{READ}/tree"),
        1 => format!("{READ}/branches"),
        2 => format!("{READ}/commits"),
        3 => format!("{READ}/files/config%2Fprices.xml"),
        4 => format!("{READ}/compare"),
        5 => format!("{ADMIN}/tree"),
        6 => format!("{ADMIN}/history"),
        7 => "/site-builder/api/projects".to_owned(),
        8 => "/site-builder/api/audit".to_owned(),
        _ => "/site-builder/api/erp-config/projects".to_owned(),
    };
    if path.ends_with("/history") {
        // What others have told may be kept between the two answers, and is told here only then.
        get(&format!("{path}?limit=100"));
    }
    let answer = get(&format!("{path}?{query}"));
    let escaped = get(&format!("{path}?{}", escaped(query)));
    assert_eq!(
        (escaped.status, escaped.plain()),
        (answer.status, answer.plain()),
        "escaped it is another query"
    );
    for link in links(&answer).take(FOLLOWED_MAX) {
        assert_eq!(get(link).status, 200, "{link} leads nowhere");
    }
}

fn get(target: &str) -> Answer {
    let lines = format!("PRIVATE-TOKEN: {}\r\nCookie: {}\r\n", token(), cookie());
    let (answer, changed) = ask("GET", target, lines.as_bytes(), b"");
    assert!(!changed, "a read changed something");
    answer
}

/// The query with each byte of its keys and values escaped, but where it is already.
fn escaped(query: &str) -> String {
    let mut out = String::new();
    let mut rest = query.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'&' | b'=' => out.push(byte as char),
            b'+' => out.push_str("%20"),
            b'%' => {
                out.push('%');
                out.extend(rest.by_ref().take(2).map(char::from));
            }
            _ => write!(out, "%{byte:02x}").expect("a text takes it"),
        }
    }
    out
}

/// The targets of the links to other pages.
fn links(answer: &Answer) -> impl Iterator<Item = &str> {
    let links = answer.header("link").unwrap_or_default().split(", ");
    links.filter_map(|link| {
        let address = link.strip_prefix("<http://localhost")?;
        address.split('>').next()
    })
}
