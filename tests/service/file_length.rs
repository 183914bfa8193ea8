//! A limit on the length of files (`ulimit -f`, `LimitFSIZE=`): what would become longer is refused, and nothing else.

use std::fs;

use crate::daemon::{Daemon, file, serve, within};

const OCTETS: &str = "application/octet-stream";
/// In blocks of 512 bytes: 32 MiB.
const LIMIT: &str = "-f 65536";
/// No more than a client has sent before it reads the answer.
const TOO_LONG_BYTES: usize = (32 << 20) + (64 << 10);

#[test]
fn an_upload_beyond_the_limit_is_refused_and_the_service_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let limited = within(LIMIT, &serve(&folder.path().join("data")));
    let mut daemon = Daemon::start_as(folder, limited);
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let mut save = |path: &str, bytes| {
        let answer = admin.attempt("PUT", &file(path), OCTETS, &vec![b'a'; bytes]);
        answer.map(|answer| answer.status)
    };
    assert_eq!(save("long.bin", TOO_LONG_BYTES).unwrap(), 507);
    assert_eq!(save("large.bin", 1 << 20).unwrap(), 201);
    assert_eq!(save("small.xml", 4).unwrap(), 201);
    assert!(daemon.stop().success());
}

#[test]
fn a_command_beyond_the_limit_says_so_and_leaves_nothing() {
    let mut daemon = Daemon::start();
    Daemon::make_project(&mut daemon.admin());
    let room = tempfile::tempdir().unwrap();
    let at = |name: &str| room.path().join(name).display().to_string();
    fs::create_dir(at("in")).unwrap();
    fs::write(at("in/long.bin"), vec![b'a'; TOO_LONG_BYTES]).unwrap();
    daemon.import(at("in").as_ref());
    daemon.stop();
    fs::write(at("other.bin"), vec![b'b'; TOO_LONG_BYTES]).unwrap();
    let (other, backup, out) = (at("other.bin"), at("backup.tar"), at("out"));
    for (words, said) in [
        (
            &["put", "acme/shop.erp", "main", "other.bin", &other][..],
            "LimitFSIZE",
        ),
        (&["backup", &backup], "File too large"),
        (&["export", "acme/shop.erp", "main", &out], "File too large"),
    ] {
        let refused = within(LIMIT, &daemon.command(words)).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{words:?}: {refused:?}");
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(told.contains(said), "{words:?}: {told}");
    }
    let mut left: Vec<_> = fs::read_dir(room.path()).unwrap().collect();
    left.retain(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().starts_with("backup")
    });
    assert!(left.is_empty(), "{left:?}");
}
