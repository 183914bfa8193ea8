//! Whoever is logged in reads what they have saved, through any daemon.

use std::time::Duration;

use super::Fleet;
use crate::harness::{Daemon, Project};
use crate::rounds::Rounds;

/// Daemons, of which each but the first looks for changes through a slow network.
fn daemons(fleet: &Fleet, flags: &[&str]) -> Vec<Daemon> {
    let slow = [1, 5].map(|ms| {
        let (place, proxy) = fleet.place_by_proxy();
        proxy.delay_looks(Duration::from_millis(ms));
        Daemon::start_at(place, crate::harness::own_folder(), flags)
    });
    std::iter::once(fleet.daemon(flags)).chain(slow).collect()
}

#[test]
fn what_somebody_has_saved_through_one_daemon_they_read_through_every_other() {
    let rounds = Rounds::or(200);
    let fleet = Fleet::new();
    let daemons = daemons(&fleet, &[]);
    let project = Project::with_main(&daemons[0].user("alice", &[]), "acme/shop");
    let seen: Vec<_> = daemons
        .iter()
        .map(|daemon| project.seen_by(&project.user.at(daemon.address())))
        .collect();
    for round in 0..rounds.count {
        let (text, at) = (round.to_string(), usize::try_from(round).unwrap());
        let (saves, reads) = (&seen[at % 3], &seen[(at + 1 + at % 2) % 3]);
        saves.save("main", "a.xml", &text);
        let read = reads.user.get(&reads.file("main", "a.xml"));
        read.assert_bytes(200, text.as_bytes());
        assert_eq!(reads.versions("main").len() as u64, round + 1);
    }
}

#[test]
fn with_strict_reads_so_does_the_holder_of_a_token() {
    let rounds = Rounds::or(60);
    let fleet = Fleet::new();
    let daemons = daemons(&fleet, &["--reads", "strict"]);
    let project = Project::with_main(&daemons[0].user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemons[0].reader(&project);
    for round in 0..rounds.count {
        let text = round.to_string();
        project.save("main", "a.xml", &text);
        for daemon in &daemons {
            let read = reader.at(daemon.address()).get(&project.raw("a.xml"));
            read.assert_bytes(200, text.as_bytes());
        }
    }
}
