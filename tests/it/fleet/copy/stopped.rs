//! Copies that are cut off at any moment, and go on.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rustix::process::{Pid, Signal, kill_process};

use super::{Contents, Side, World, assert_refused, report, run, text};
use crate::fleet::hold_after;
use crate::harness::soon;
use crate::rounds::Rounds;

const IS_HELD: &str = "SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'siteconf' AND wait_event = 'PgSleep'";

/// Copies with kills before it, each at any moment of what is left.
fn copy_with_kills(side: &Side, from: &str, to: &str, kills: &[Duration]) {
    for moment in kills {
        let mut command = side.command(from, to);
        // Not by way of another program, which would be killed alone.
        let mut own = std::process::Command::new(env!("CARGO_BIN_EXE_siteconf"));
        own.args(command.get_args().skip(2));
        command = own;
        side.wait_until_left();
        let mut copy = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(*moment);
        copy.kill().unwrap();
        if copy.wait().unwrap().success() {
            // It was whole before that.
            return;
        }
    }
    let output = side.copy(from, to);
    let said = String::from_utf8_lossy(&output.stderr);
    // A copy that was killed after its last step has left a store.
    if !said.contains("it has a store") && !said.contains("the folder is not empty (\"FORMAT\"") {
        report(&output);
    }
}

#[test]
fn a_copy_that_is_killed_at_any_moment_goes_on_to_the_same_end() {
    let mut world = World::new();
    world.daemon.stop();
    let (data, whole) = (world.data(), Contents::of_folder(&world.data()));
    let began = Instant::now();
    let side = Side::new();
    report(&side.copy(text(&data), &side.database.url));
    let takes = began.elapsed();
    let rounds = Rounds::or(1);
    for round in 0..rounds.count {
        let mut random = rounds.random(round);
        let mut kills = |count: u32| -> Vec<_> {
            let mut moment = || takes.mul_f64(random.random_range(0.0..1.1));
            (0..count).map(|_| moment()).collect()
        };
        let side = Side::new();
        copy_with_kills(&side, text(&data), &side.database.url, &kills(3));
        assert_eq!(Contents::of_database(&side), whole);
        let back = world.folder.path().join(format!("back{round}"));
        copy_with_kills(&side, &side.database.url, text(&back), &kills(3));
        assert_eq!(Contents::of_folder(&back), whole);
    }
}

#[test]
fn ctrl_c_ends_a_copy_and_the_same_command_goes_on() {
    let mut world = World::new();
    world.daemon.stop();
    let (data, side) = (world.data(), Side::new());
    // Else it could be at its end by the time that it is interrupted.
    side.database.ask(&hold_after("CREATE TABLE"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_siteconf"));
    command.args(
        side.command(text(&data), &side.database.url)
            .get_args()
            .skip(2),
    );
    let copy = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its signals are watched by the time that it makes the tables.
    soon(|| !side.database.ask(IS_HELD).is_empty());
    let id = i32::try_from(copy.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    side.database.ask("DELETE FROM public.held");
    let ended = copy.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(
        said,
        "siteconf: interrupted; the same command goes on where it stopped\n"
    );
    assert_eq!(ended.status.code(), Some(130));
    assert!(ended.stdout.is_empty());
    report(&side.copy(text(&data), &side.database.url));
    assert_eq!(Contents::of_database(&side), Contents::of_folder(&data));
}

/// Has a statement run before records come into the database.
fn before_records(side: &Side, statement: &str) {
    side.database.ask(&format!(
        "CREATE OR REPLACE FUNCTION public.first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            {statement};
            RETURN NULL;
        END $$;
        CREATE OR REPLACE TRIGGER first BEFORE INSERT ON siteconf.record
            FOR EACH STATEMENT EXECUTE FUNCTION public.first()"
    ));
}

#[test]
fn what_stops_a_copy_is_told_and_the_same_command_goes_on() {
    let (mut world, side) = (World::new(), Side::new());
    let (data, url) = (world.data(), side.database.url.as_str());
    let from = text(&data);
    // Beside the service it has made the tables.
    assert_eq!(side.copy(from, url).status.code(), Some(1));
    world.daemon.stop();
    let kept = "what was copied is kept; run the same again";
    for (statement, said) in [
        (
            "RAISE EXCEPTION 'no room' USING ERRCODE = '53100'",
            "no space left on the disk",
        ),
        (
            "PERFORM pg_terminate_backend(pg_backend_pid())",
            "the database does not answer",
        ),
    ] {
        before_records(&side, statement);
        let said = format!("{url}: {said}; {kept}");
        assert_refused(&side.copy(from, url), 1, &said);
    }

    // The lock of a service holds no command off that writes beside one.
    side.database
        .ask("CREATE TABLE public.held AS SELECT 1 AS one");
    before_records(
        &side,
        "WHILE EXISTS (SELECT FROM public.held) LOOP PERFORM pg_sleep(0.01); END LOOP",
    );
    side.wait_until_left();
    let mut copy = side.command(from, url);
    let copy = copy
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_held = "SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query LIKE '%INSERT INTO siteconf.record%'
        AND pid <> pg_backend_pid()";
    soon(|| !side.database.ask(is_held).is_empty());
    let beside = run(&["user", "disable", "alice", "--data", from]);
    assert!(beside.status.success(), "{beside:?}");
    side.database.ask("DELETE FROM public.held");
    let changed = format!(
        "{from}: what is copied was changed meanwhile, as a command beside the service does; {kept}"
    );
    assert_refused(&copy.wait_with_output().unwrap(), 1, &changed);
    report(&side.copy(from, url));
    assert_eq!(Contents::of_database(&side), Contents::of_folder(&data));
}
