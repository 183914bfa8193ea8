//! How long all checks of a change may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use siteconf::base::clock::{Clock, Timestamp};
use siteconf::base::repo_id::RepoId;
use siteconf::repo::{BatchAction, Check, Condition, Error, ProjectWriter, Projects, Rule};
use siteconf::store::StoreError;
use siteconf::store::memory::MemoryStore;

use crate::fixture::{branch, path};

/// A machine on which a second passes between any two readings of its clock.
#[derive(Debug, Default)]
struct Slow(AtomicI64);

impl Clock for Slow {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000)
    }

    fn uptime_ms(&self) -> i64 {
        self.0.fetch_add(1000, Ordering::Relaxed)
    }
}

#[test]
fn a_change_whose_checks_take_too_long_may_be_tried_again() {
    let projects = Projects::new(Arc::new(MemoryStore::default()), Arc::new(Slow::default()));
    let id = RepoId::parse("acme/shop.erp").unwrap();
    let project = projects.create_project(&id, 1, "alice").unwrap();
    let project = ProjectWriter::new(project, "alice");
    project.create_branch(&branch("main"), None).unwrap();
    let rule = Rule {
        patterns: vec!["*.json".to_owned()],
        check: Check::Json,
        schema: None,
    };
    project.set_rules(&[rule]).unwrap();
    let batch = |count: usize, content: &str| {
        let actions = (0..count).map(|number| {
            let text = format!("{content}{number}");
            let file = projects.new_file(text.into()).unwrap();
            BatchAction::Put(path(&format!("{number}.json")), file, None)
        });
        project.batch(&branch("main"), actions.collect(), &Condition::None)
    };
    let refusal = |error: Error| match error {
        Error::Invalid { reason } => reason,
        other => panic!("{other:?}"),
    };
    // Perhaps the machine is slow now and will not be later.
    let refused = batch(30, "").unwrap_err();
    assert!(
        matches!(&refused, Error::Store(error) if matches!(**error, StoreError::Busy)),
        "{refused:?}"
    );
    // What is known to be wrong by then is told.
    let told = refusal(batch(30, "x").unwrap_err());
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(
        lines[0],
        "20 files break rules of the project, so nothing was changed:"
    );
    assert_eq!(
        lines[11..],
        [
            "and 10 more",
            "and perhaps others: it takes too long to look at all files"
        ]
    );
    batch(20, "").unwrap();
}
