//! Where the keys of a bucket come from: the file, the environment, or what a platform says of a role.

use std::fs;
use std::process::{Command, Output};

use super::Fleet;
use super::large::noise;
use crate::harness::bucket::{KEY_ID, SECRET_KEY, TestBucket};
use crate::harness::role_service::{PLATFORM_TOKEN, RoleService};
use crate::harness::server::Database;
use crate::harness::{Project, own_folder, soon};

/// All that may say it in the environment.
const VARIABLES: [&str; 10] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
];

/// A command of a store whose large files lie at this URL, with this environment and no other of its kind.
fn run(store: &[&str], blobs: &str, environment: &[(&str, &str)], command: &[&str]) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    process.args(command).args(store).args(["--blobs", blobs]);
    for variable in VARIABLES {
        process.env_remove(variable);
    }
    process.envs(environment.iter().copied());
    process.output().unwrap()
}

#[test]
fn a_store_is_made_with_the_keys_that_the_platform_gives() {
    let service = RoleService::start();
    let folder = own_folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (token, keys) = (path("token"), path("keys"));
    fs::write(&token, PLATFORM_TOKEN).unwrap();
    TestBucket::write_keys(keys.as_ref());
    let (url, of_pod) = (service.url(), format!("{}/keys", service.url()));
    let account = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/shop"),
        ("AWS_ENDPOINT_URL_STS", &url),
    ];
    let pod = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", of_pod.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token),
    ];
    let slashed = format!("{url}/");
    let machine = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", slashed.as_str())];
    let given = [
        ("AWS_ACCESS_KEY_ID", KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
    ];
    let cases: [(&str, Vec<_>, &[&str], bool); 6] = [
        ("", account.to_vec(), &[], true),
        ("", pod.to_vec(), &[], true),
        ("&role=machine", machine.to_vec(), &[], true),
        // Whoever names the machine means it.
        ("&role=machine", [&machine[..], &given].concat(), &[], true),
        // Keys that somebody gave come before those of a platform.
        ("", [&account[..], &given].concat(), &[], false),
        ("", pod.to_vec(), &["--s3-credentials-file", &keys], false),
    ];
    for (at, (more, environment, flags, is_of_role)) in cases.into_iter().enumerate() {
        let (database, bucket) = (Database::without_store(), TestBucket::new());
        let before = service.given();
        let key = path(&format!("server-key{at}"));
        let store = ["--store", &database.url, "--server-key-file", &key];
        let made = run(
            &[&store[..], flags].concat(),
            &format!("{}{more}", bucket.url()),
            &environment,
            &["init"],
        );
        assert!(made.status.success(), "{at}: {made:?}");
        assert_eq!(service.given() > before, is_of_role, "{at}");
        assert!(bucket.is_marked(), "{at}");
    }
}

#[test]
fn what_a_platform_says_wrongly_is_told() {
    let store = [
        "--store",
        "postgres://siteconf@127.0.0.1:1/none",
        "--server-key-file",
        "/nowhere",
    ];
    let refused = |more: &[&str], blobs: &str, environment: &[(&str, &str)]| {
        let store = [&store[..], more].concat();
        let output = run(&store, blobs, environment, &["config", "check"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let blobs = "s3://shop?region=eu-1";
    let open =
        "the keys of the role would not come encrypted; it must be https://, or on this machine\n";
    let account = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/shop"),
        ("AWS_ENDPOINT_URL_STS", "http://sts.example"),
    ];
    assert_eq!(
        refused(&[], blobs, &account),
        format!("siteconf: AWS_ENDPOINT_URL_STS: {open}")
    );
    let pod = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/keys"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token"),
    ];
    assert_eq!(
        refused(&[], blobs, &pod),
        format!("siteconf: AWS_CONTAINER_CREDENTIALS_FULL_URI: {open}")
    );
    let of_machine = format!("{blobs}&role=machine");
    let machine = [(
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "http://metadata.example",
    )];
    assert_eq!(
        refused(&[], &of_machine, &machine),
        format!("siteconf: AWS_EC2_METADATA_SERVICE_ENDPOINT: {open}")
    );
    assert_eq!(
        refused(&["--s3-credentials-file", "/keys"], &of_machine, &[]),
        "siteconf: s3_credentials_file = \"/keys\" (--s3-credentials-file): blobs says role=machine; give \
         one of the two\n"
    );
    // A service beside the container has one address alone, and is not asked by a check.
    let container = [(
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "/v2/credentials/1",
    )];
    let fine = run(&store, blobs, &container, &["config", "check"]);
    assert!(fine.status.success(), "{fine:?}");
    // Half of what it takes is nothing.
    for half in [&account[1..], &pod[..1]] {
        assert!(refused(&[], blobs, half).starts_with("siteconf: there are no keys for "));
    }
}

#[test]
fn keys_that_are_not_given_say_nothing_of_the_files() {
    let fleet = Fleet::with_bucket();
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "large.bin", vec![b'x'; 100_000]);
    let flags = daemon.store_flags();
    let store: Vec<_> = flags[..4].iter().map(|it| it.to_str().unwrap()).collect();
    let account = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/shop"),
        ("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1"),
    ];
    let cat = ["cat", "acme/shop.erp", "main", "large.bin"];
    let refused = run(&store, &fleet.bucket().url(), &account, &cat);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let away = ": the bucket of large files does not answer\n";
    assert!(said.ends_with(away) && !said.contains("damaged"), "{said}");
}

#[test]
fn the_keys_in_a_file_are_read_anew_when_it_has_changed() {
    let fleet = Fleet::with_bucket();
    let keys = fleet.folder.path().join("s3-keys");
    let daemon = fleet.daemon(&["--log", "trace"]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let put = |number| {
        let target = project.file("main", &format!("{number}.bin"));
        project.user.put(&target, &noise(number, 100_000)).status
    };
    assert_eq!(put(1), 201);

    let wrong = format!("aws_access_key_id = {KEY_ID}\naws_secret_access_key = another\n");
    fs::write(&keys, wrong).unwrap();
    assert_eq!(put(2), 503, "{}", daemon.log());
    TestBucket::write_keys(&keys);
    // It is left alone for a moment.
    soon(|| put(3) == 201);

    // What cannot be used changes nothing.
    fs::write(&keys, "another").unwrap();
    assert_eq!(put(4), 201, "{}", daemon.log());
    let told =
        daemon.logged("the keys of the bucket cannot be read anew; those of before are used");
    assert_eq!(
        told["fault"],
        "it must have the lines \"aws_access_key_id = …\" and \"aws_secret_access_key = …\", under [default] or \
         under nothing"
    );
    assert!(!daemon.log().contains(SECRET_KEY));
}
