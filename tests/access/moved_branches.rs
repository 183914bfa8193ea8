//! Changes of a branch whose name another has by the time of their commit.

use bytes::Bytes;
use siteconf::access::Error;
use siteconf::base::file_path::FilePath;
use siteconf::repo::{self, Condition, Missing, ProjectWriter};

use crate::id;
use crate::overtaken::{branch, pair};

#[test]
fn a_save_goes_to_no_branch_that_has_lost_the_name_under_which_it_was_sent() {
    for is_taken in [false, true] {
        let (world, store, other) = pair();
        let eve = world.user("eve", &[]);
        let project = world.project(&eve, "acme/shop.erp");
        let writer = ProjectWriter::new(project.clone(), "eve");
        let main = branch("main");
        writer.create_branch(&main, None).unwrap();
        store.next(move || {
            let there = other.projects.project(&id("acme/shop.erp")).unwrap();
            let there = ProjectWriter::new(there, "bob");
            let old = branch("old");
            let renamed = there.rename_branch(&branch("main"), &old, &Condition::None);
            renamed.unwrap();
            if is_taken {
                there.create_branch(&branch("main"), None).unwrap();
            }
        });
        let file = world.projects.new_file(Bytes::from_static(b"new")).unwrap();
        let path = FilePath::parse("a.txt").unwrap();
        let saved = writer.save(&main, &path, file, Condition::None);
        let refused = Error::from(saved.map(drop).unwrap_err());
        let missing = repo::Error::NotFound {
            what: Missing::Branch,
        };
        assert_eq!(refused.to_string(), missing.to_string());
        for found in project.branches().unwrap() {
            assert!(found.head().file(&path).is_err(), "{}", found.name());
        }
    }
}
