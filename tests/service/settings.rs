//! Settings as they reach the binary: by flags, variables and a file.

use std::fs;
use std::process::{Command, Output};

use crate::daemon::siteconf;

/// What `serve` says with these variables and flags, which it must refuse before it makes a folder.
fn refused(variables: &[(&str, &str)], flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut command = siteconf(&data);
    command
        .arg("serve")
        .args(flags)
        .envs(variables.iter().copied());
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    assert_eq!(status.code(), Some(2), "{variables:?} {flags:?}");
    assert!(
        stdout.is_empty() && !data.exists(),
        "{variables:?} {flags:?}"
    );
    String::from_utf8(stderr).unwrap()
}

#[test]
fn the_stronger_place_holds_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("siteconf.toml");
    fs::write(&file, "# mine\nlimits.body_s_max = 0\n").unwrap();
    let file = file.to_str().unwrap();
    let in_file = [("SITECONF_CONFIG", file)];
    let in_both = [("SITECONF_CONFIG", file), ("SITECONF_BODY_S_MAX", "many")];
    for (variables, flags, said) in [
        (
            &in_file[..],
            &[][..],
            format!("limits.body_s_max = 0 ({file}, line 2): it must be at least 1"),
        ),
        (
            &in_both,
            &[],
            "limits.body_s_max = \"many\" (SITECONF_BODY_S_MAX in the environment): it must be a whole \
             number of seconds, or as 90s, 5m or 12h"
                .to_owned(),
        ),
        (
            &in_both,
            &["--body-s-max", "0"],
            "limits.body_s_max = 0 (--body-s-max): it must be at least 1".to_owned(),
        ),
        (
            &[("SITECONF_CONFIG", "/nowhere")],
            &[],
            "config = \"/nowhere\" (SITECONF_CONFIG in the environment): it cannot be read: No such file \
             or directory (os error 2)"
                .to_owned(),
        ),
        (
            &[("SITECONF_LOG", "a=b=c")],
            &[],
            "log = \"a=b=c\" (SITECONF_LOG in the environment): it is no filter: error parsing level \
             filter: expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a \
             number 0-5"
                .to_owned(),
        ),
    ] {
        assert_eq!(refused(variables, flags), format!("siteconf: {said}\n"));
    }
}

#[test]
fn a_variable_that_is_no_setting_is_refused_by_the_check_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (word, code, said) in [
        (
            "check",
            2,
            "siteconf: SITECONF_LISTN in the environment is no setting\n",
        ),
        ("print", 0, ""),
    ] {
        let mut command = siteconf(&folder.path().join("data"));
        command.args(["config", word]).env("SITECONF_LISTN", "none");
        let Output { status, stderr, .. } = command.output().unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(code), said));
    }
}

#[test]
fn a_variable_that_is_empty_is_not_set() {
    let names = [
        "DATA",
        "STORE",
        "LISTEN",
        "HOSTS",
        "ROOT_MOUNT",
        "KEEP_DAYS",
        "LOG_FORMAT",
        "LOG",
        "CONFIG",
    ];
    let printed = |variables: &[String]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_siteconf"));
        command.args(["config", "print"]).env_clear();
        let output = command
            .envs(variables.iter().map(|name| (name, "")))
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = names.map(|name| format!("SITECONF_{name}"));
    assert_eq!(printed(&all), printed(&[]));
}
