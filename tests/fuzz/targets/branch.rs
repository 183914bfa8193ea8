//! Names of branches and projects, versions of snapshots: what is taken is kept to the byte, git takes it,
//! and no name is at the same time another thing.

use siteconf::base::branch_name::BranchName;
use siteconf::base::limits::{BRANCH_BYTES_MAX, PROJECT_NAME_BYTES_MAX, PROJECT_TYPE_BYTES_MAX};
use siteconf::base::repo_id::RepoId;
use siteconf::base::snapshot_version::SnapshotVersion;

pub(crate) fn hold(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(branch) = BranchName::parse(text) {
        assert_eq!(branch.as_str(), text);
        assert!((1..=BRANCH_BYTES_MAX).contains(&text.len()));
        assert!(is_reference(text), "git does not take {text:?}");
        assert!(BranchName::split_snapshot(text).is_none());
        let json = serde_json::to_string(&branch).expect("a text");
        assert_eq!(serde_json::from_str::<BranchName>(&json).ok(), Some(branch));
    }
    if let Some((branch, version)) = BranchName::split_snapshot(text) {
        assert_eq!(format!("{branch}@{version}"), text);
        assert!(BranchName::parse(text).is_err(), "{text:?} is two things");
    }
    if let Ok(version) = SnapshotVersion::parse(text) {
        assert_eq!(version.to_string(), text);
        assert_eq!(SnapshotVersion::new(version.number()), version);
    }
    if let Ok(id) = RepoId::parse(text) {
        assert_eq!(id.as_str(), text);
        assert_eq!(format!("{}.{}", id.name(), id.kind()), text);
        assert_eq!(RepoId::new(id.name(), id.kind()).as_ref(), Ok(&id));
        assert!(id.name().len() <= PROJECT_NAME_BYTES_MAX);
        assert!(id.kind().len() <= PROJECT_TYPE_BYTES_MAX);
        for part in id.name().split('/') {
            assert!(!matches!(part, "" | "." | "..") && !part.starts_with('-'));
            assert!(
                part.chars()
                    .all(|sign| sign.is_alphanumeric() || "_-.".contains(sign))
            );
        }
        let folder = text.split('/').next().expect("a first part");
        assert_eq!(id.is_public(), folder == "public" && text.contains('/'));
    }
}

/// True for what `git check-ref-format --allow-onelevel` takes.
fn is_reference(text: &str) -> bool {
    let parts = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    text.split('/').all(parts)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && text != "@"
        && !text.contains(|sign: char| sign.is_ascii_control() || " ~^:?*[\\".contains(sign))
}
