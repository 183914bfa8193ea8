//! The text under a branch digest, and the digest (specification section 9).

use sha2::{Digest, Sha256 as Hasher};

use super::super::opened::Opened;
use super::super::{Outcome, Result, Streams};
use crate::base::id::Sha256;
use crate::manifest::digest;
use crate::repo::Revision;

/// `debug digest`. No line of a file can be taken for the last one, which holds no `|`.
pub(super) fn run(
    opened: &Opened,
    revision: &Revision,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let nodes = opened.repository.nodes();
    let manifest = nodes.manifest(revision.manifest())?;
    let mut hasher = Hasher::new();
    let mut written = Ok(());
    digest::lines(nodes.as_ref(), manifest.root, |lines| {
        hasher.update(lines);
        if written.is_ok() {
            written = streams.out.write_all(lines);
        }
    })?;
    written?;
    let sha256 = Sha256::from_bytes(hasher.finalize().into());
    writeln!(streams.out, "sha256 {sha256}")?;
    Ok(Outcome::Fine)
}
