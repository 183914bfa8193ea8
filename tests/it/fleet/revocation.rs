//! What is revoked through one daemon counts at no other from its answer on, however slow the others are to
//! look for changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::Fleet;
use crate::harness::{ADMIN, Daemon, Project, own_folder};
use crate::rounds::Rounds;

/// Who revoke at once.
const FAIR_SHARDS: usize = 32;
/// Uses of each token after it was revoked.
const USES: usize = 3;
const DELAY_MAX: Duration = Duration::from_millis(200);

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn what_is_revoked_through_one_daemon_is_accepted_by_no_other() {
    let rounds = Rounds::or(200);
    let fleet = Fleet::new();
    let one = fleet.daemon(&[]);
    let (place, proxy) = fleet.place_by_proxy();
    let other = Daemon::start_at(
        place,
        own_folder(),
        &["--wrong-tokens-minute-address-max", "1000000"],
    );
    let project = Project::with_main(&one.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    proxy.delay_looks(DELAY_MAX);
    let (taken, used) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..FAIR_SHARDS {
            scope.spawn(|| {
                while taken.fetch_add(1, Ordering::Relaxed) < rounds.count {
                    used.fetch_add(trial(&project, &other), Ordering::Relaxed);
                }
            });
        }
    });
    let used = used.into_inner();
    eprintln!(
        "{} tokens, used {used} times before they were revoked",
        rounds.count
    );
    assert!(used >= rounds.count);
}

/// Makes a token, uses it at the other daemon, revokes it, and uses it there again. Gives how often it was
/// accepted.
fn trial(project: &Project, other: &Daemon) -> u64 {
    let body = json!({ "name": "short-lived", "repos": [project.id] });
    let token = project.user.issue(&body);
    let holder = other.token(token["tokenString"].as_str().unwrap());
    let raw = project.raw("a.xml");
    let mut accepted = 0;
    // From then on the other daemon has it in memory.
    while accepted == 0 {
        accepted += u64::from(holder.get(&raw).status == 200);
    }
    let id = token["tokenId"].as_str().unwrap();
    let revoked = project.user.delete(&format!("{ADMIN}/tokens/{id}"));
    revoked.expect_status(204);
    for _ in 0..USES {
        holder.get(&raw).assert_error(401, "401 Unauthorized");
    }
    accepted
}
