//! The page in browsers: `journeys.mjs` drives Debian's Chromium, and its Firefox through `everywhere.mjs`, against a
//! daemon. Whatever the browser complains of, a violation of the page's policy first of all, fails the run.
//! `webkit.mjs` goes the main way in the engine of Safari. And the files it is made of (`assets`).
//!
//! The files of journeys are dealt out to tests that run beside each other, each with a daemon and a browser of its
//! own.
//!
//! `install` gets what it takes. On a machine without it the test says that it was left out; with `CI=true` that
//! is a failure. With `SITECONF_PAGE_SHOTS` pictures of all screens go into that folder; `SITECONF_PAGE_ONLY` is
//! a part of the names of the journeys to run: the empty one has Firefox run all of them.
#![cfg(test)]

#[path = "../it/harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other suite uses the rest")]
mod harness;

mod assets;
#[path = "../support/left_out.rs"]
mod left_out;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::Daemon;
use left_out::leave_out;

/// How long the run may take, in seconds, before it counts as hanging.
const PATIENCE_S: &str = "900";
const CHROMIUM: &str = "/usr/bin/chromium-headless-shell";
const FIREFOX: &str = "/usr/bin/firefox-esr";
const WEBKIT: &str = "/usr/bin/WebKitWebDriver";

/// How many tests share the journeys in Chromium: all that follow.
const PARTS: usize = 3;

#[test]
fn people_do_their_work_1() {
    people_do_their_work(1);
}

#[test]
fn people_do_their_work_2() {
    people_do_their_work(2);
}

#[test]
fn people_do_their_work_3() {
    people_do_their_work(3);
}

#[test]
fn people_do_their_work_in_firefox() {
    let only = setting("SITECONF_PAGE_ONLY").unwrap_or_else(|| "everywhere.mjs".to_owned());
    let settings = [("SITECONF_FIREFOX", FIREFOX), ("SITECONF_PAGE_ONLY", &only)];
    run_journeys("journeys.mjs", &[FIREFOX], &settings);
}

#[test]
fn people_do_their_work_in_webkit() {
    run_journeys("webkit.mjs", &[WEBKIT, "/usr/bin/Xvfb"], &[]);
}

/// Runs one part of the journeys.
fn people_do_their_work(part: usize) {
    let part = format!("{part}/{PARTS}");
    let settings = [
        ("SITECONF_CHROMIUM", CHROMIUM),
        ("SITECONF_PAGE_PART", &part),
    ];
    run_journeys("journeys.mjs", &[CHROMIUM], &settings);
}

/// Runs this script with the settings that it takes, where these programs are there.
fn run_journeys(script: &str, programs: &[&str], settings: &[(&str, &str)]) {
    let daemon = Daemon::start();
    let document = daemon.anonymous().get("/site-builder/");
    if document.text().contains("built without its page") {
        leave_out("the page, which this build does not have");
        return;
    }
    let Some(packages) = packages(programs) else {
        return;
    };
    let status = Command::new("timeout")
        .args([PATIENCE_S, "node"])
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/page")
                .join(script),
        )
        .env("SITECONF_BASE", format!("http://{}", daemon.address()))
        .env("SITECONF_PASSWORD", daemon.initial_password())
        .env("SITECONF_PAGE_PACKAGES", packages)
        .envs(settings.iter().copied())
        .status()
        .expect("timeout is on the machine");
    assert!(status.success(), "{status}; what failed is above");
}

/// The folder that `install` made, if it and these programs are there.
fn packages(programs: &[&str]) -> Option<PathBuf> {
    let folder = setting("SITECONF_CLIENTS").map_or_else(
        || {
            let cache = setting("XDG_CACHE_HOME").map(PathBuf::from);
            let home = || Path::new(&setting("HOME").unwrap_or_default()).join(".cache");
            cache.unwrap_or_else(home).join("siteconf-clients")
        },
        PathBuf::from,
    );
    let folder = folder.join("page-tests");
    let made_from = folder.join("made-from");
    for needed in programs.iter().map(Path::new).chain([&*made_from]) {
        if !needed.exists() {
            leave_out(&format!(
                "{} is not on this machine; tests/page/install gets it",
                needed.display()
            ));
            return None;
        }
    }
    Some(folder)
}

/// A variable of the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "these settings are the suite's own"
)]
fn setting(name: &str) -> Option<String> {
    env::var(name).ok()
}
