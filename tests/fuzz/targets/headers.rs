//! Header lines of a read: whatever they ask for, the answer is the file, the part of it that it names, or none
//! of its bytes.

use super::scene::{FILES, ask, cookie, token};

const TARGET: &str = "/site-builder/api/erp-config/projects/acme%2Fshop.erp/repository/files/config%2Fprices.xml/raw";

pub(crate) fn hold(input: &[u8]) {
    let file = FILES[0].1;
    let mut lines = format!("PRIVATE-TOKEN: {}\r\n", token()).into_bytes();
    for line in input.split(|byte| *byte == b'\n') {
        // What hyper refuses, it refuses for every route: `request` has it.
        let Some(end) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..end], &line[end + 1..]);
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let of_the_frame = [
            &b"content-length"[..],
            b"transfer-encoding",
            b"expect",
            b"connection",
            b"upgrade",
        ];
        let is_plain = !name.is_empty()
            && name.iter().all(is_token)
            && !of_the_frame.contains(&name.to_ascii_lowercase().as_slice())
            && value.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
        if is_plain && lines.len() + line.len() < 16 << 10 {
            lines.extend_from_slice(line);
            lines.extend_from_slice(b"\r\n");
        }
    }
    let lines = text_with_cookie(lines);
    let (answer, changed) = ask("GET", TARGET, &lines, b"");
    assert!(!changed, "a read changed something");
    match answer.status {
        200 => assert_eq!(answer.plain(), file),
        206 => {
            let range = answer.header("content-range").expect("which part it is");
            let range = range.strip_prefix("bytes ").expect("bytes");
            let (range, size) = range.split_once('/').expect("a size");
            let (first, last) = range.split_once('-').expect("a range");
            let first: usize = first.parse().expect("a number");
            let last: usize = last.parse().expect("a number");
            assert_eq!(size, file.len().to_string());
            if let Some((from, to)) = asked(&lines) {
                assert_eq!((first, last), (from, to.min(file.len() - 1)));
            }
            assert_eq!(answer.body, file[first..=last]);
        }
        304 => assert!(answer.header("etag").is_some()),
        416 => {
            let range = format!("bytes */{}", file.len());
            assert_eq!(answer.header("content-range"), Some(range.as_str()));
        }
        400 | 401 | 403 | 412 | 421 | 431 => {}
        other => panic!("status {other}"),
    }
    if matches!(answer.status, 200 | 206 | 304) {
        let tag = answer.header("etag").expect("a tag");
        assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag} is weak");
    }
}

/// The first and the last byte that the lines ask for, where one of them names both.
fn asked(lines: &[u8]) -> Option<(usize, usize)> {
    let lines = std::str::from_utf8(lines).ok()?;
    let (_, range) = lines.split_once("\r\nRange: bytes=")?;
    let (first, last) = range.split("\r\n").next()?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The lines with the session where one says `@COOKIE@`: it opens nothing here.
fn text_with_cookie(lines: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(lines) {
        Ok(text) => text.replace("@COOKIE@", cookie()).into_bytes(),
        Err(bytes) => bytes.into_bytes(),
    }
}
