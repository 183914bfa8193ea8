//! Diffs of XML that is in the encoding that it declares: contract section 5.

use serde_json::{Value, json};

use crate::harness::{Daemon, Project};

/// Windows-1251: "Цена" and "Цены".
const PRICE: &[u8] = b"\xd6\xe5\xed\xe0";
const PRICES: &[u8] = b"\xd6\xe5\xed\xfb";

fn xml(encoding: &str, name: &[u8]) -> Vec<u8> {
    let head = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>\r\n<a>");
    [head.as_bytes(), name, b"</a>\r\n"].concat()
}

/// The diff of a file that was saved first with one content and then with another, as all routes tell it.
fn diff(old: &[u8], new: &[u8]) -> String {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", old);
    project.save("main", "a.xml", new);
    let reader = daemon.reader(&project);
    let ask = |rest: &str| reader.get(&project.read(rest)).expect_status(200).json();
    let of_commit = ask("/commits/main/diff")[0]["diff"].clone();
    let compared = ask("/compare?from=main@v0002&to=main")["diffs"][0]["diff"].clone();
    assert_eq!(of_commit, compared);
    let hunks = of_commit.as_str().unwrap().to_owned();

    let is_text = !hunks.starts_with("Binary");
    let admin = |rest: &str| {
        let target = format!("/diff?from=v0002&to=main{rest}");
        project
            .user
            .get(&project.on("main", &target))
            .expect_status(200)
    };
    let listed = admin("").json()[0].clone();
    assert_eq!(listed["binary"], !is_text);
    let lines = |sign| json!(hunks.lines().filter(|line| line.starts_with(sign)).count());
    let (added, removed) = if is_text {
        (lines('+'), lines('-'))
    } else {
        (Value::Null, Value::Null)
    };
    assert_eq!(
        (&listed["additions"], &listed["deletions"]),
        (&added, &removed)
    );
    let whole = if is_text {
        format!("--- a/a.xml\n+++ b/a.xml\n{hunks}")
    } else {
        "Binary files differ\n".to_owned()
    };
    assert_eq!(admin("&unified=1&path=a.xml").text(), whole);
    hunks
}

const BINARY: &str = "Binary files a/a.xml and b/a.xml differ\n";

#[test]
fn xml_is_compared_as_the_text_that_it_declares() {
    let head = "<?xml version=\"1.0\" encoding=\"windows-1251\"?>\r\n";
    assert_eq!(
        diff(&xml("windows-1251", PRICE), &xml("windows-1251", PRICES)),
        format!("@@ -1,2 +1,2 @@\n {head}-<a>Цена</a>\r\n+<a>Цены</a>\r\n")
    );
    // Another encoding alone is a change of the declaration.
    assert_eq!(
        diff(
            &xml("windows-1251", PRICE),
            &xml("UTF-8", "Цена".as_bytes())
        ),
        format!(
            "@@ -1,2 +1,2 @@\n-{head}+{} <a>Цена</a>\r\n",
            head.replace("windows-1251", "UTF-8")
        )
    );
}

#[test]
fn bytes_that_no_declaration_tells_are_no_text() {
    for (old, new) in [
        // None is declared, or one that the bytes are not.
        (PRICE.to_vec(), PRICES.to_vec()),
        (xml("UTF-8", PRICE), xml("UTF-8", PRICES)),
        (xml("klingon", PRICE), xml("klingon", PRICES)),
        // Several texts in one of these may be of the same bytes, or the reverse.
        (xml("Shift_JIS", b"\x83\x65"), xml("Shift_JIS", b"\x83\x66")),
        (
            xml("windows-1251", b"\0\xd6"),
            xml("windows-1251", b"\0\xe5"),
        ),
        // The texts are the same, but not the bytes.
        (
            xml("windows-1251", PRICE),
            xml("windows-1251", "Цена".as_bytes()),
        ),
    ] {
        assert_eq!(
            diff(&old, &new),
            BINARY,
            "{:?}",
            String::from_utf8_lossy(&old)
        );
    }
}
