//! Who else may read the token is told, once, at the start.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use rustix::process::Signal;

use crate::daemon::PROJECT;
use crate::running::Running;
use crate::scene::{Scene, files, plain, refusal, said};

#[test]
fn a_file_of_the_token_that_everybody_may_read_is_told_once() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    let token = scene.at("token");
    let set_mode = |mode| fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o644);
    let told = format!(
        "siteconf: {}: everybody on this machine may read the token: chmod o= it",
        token.display()
    );
    said(&scene.pull(&[]), 0, &format!("{told}\n"));
    // Later a job of cron would tell it each time.
    said(&scene.pull(&[]), 0, "");
    let mut watch = Running::start(scene.command(&scene.daemon.base(), &["--watch"]));
    assert_eq!(watch.complaint(), told);
    scene.save(&files(&[("a", "2")]));
    watch.line();
    watch.signal(Signal::TERM);
    assert_eq!(watch.end(), (Some(0), String::new()));
}

#[test]
fn a_group_may_read_the_token_as_that_of_a_unit() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1")]));
    fs::set_permissions(scene.at("token"), fs::Permissions::from_mode(0o640)).unwrap();
    said(&scene.pull(&[]), 0, "");
}

#[test]
fn a_token_that_goes_unencrypted_to_another_machine_is_told() {
    let scene = Scene::new();
    let address = "http://conf.example";
    // Over a proxy that is not there: nothing leaves this machine.
    let pull = |mut command: Command| -> Output {
        for name in ["no_proxy", "NO_PROXY"] {
            command.env_remove(name);
        }
        command
            .env("http_proxy", "http://127.0.0.1:1")
            .output()
            .unwrap()
    };
    let told = refusal(&pull(scene.command(address, &[])));
    let rest = told.strip_prefix(
        "siteconf: the token goes over the network unencrypted: http://conf.example; use https\n",
    );
    let rest = rest.unwrap_or_else(|| panic!("{told}"));
    assert_eq!(rest.lines().count(), 1, "{told}");
    // Without one there is nothing to learn.
    let mut without = plain(&["pull", address, PROJECT, "main"]);
    without.arg(scene.dir());
    let told = refusal(&pull(without));
    assert!(!told.contains("unencrypted"), "{told}");
}
