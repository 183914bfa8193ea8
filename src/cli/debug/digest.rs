//! The text under a branch digest, and the digest (specification section 9).

use std::io::{self, Write};

use sha2::{Digest, Sha256 as Hasher};

use super::report;
use super::tolerant::Tolerant;
use crate::base::id::Sha256;
use crate::cli::open_store::OpenStore;
use crate::cli::{Outcome, Result, Streams};
use crate::manifest::digest;
use crate::repo::Revision;

/// `debug digest`. No line of a file can be taken for the last one, which holds no `|`. Of a damaged
/// tree the lines that can be read are shown, and no digest.
pub(super) fn run(
    opened: &OpenStore,
    revision: &Revision,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let nodes = opened.projects.nodes();
    let manifest = nodes.manifest(revision.manifest())?;
    let tolerant = Tolerant::new(nodes);
    let mut hasher = Hasher::new();
    let mut out = Lines {
        out: streams.out,
        json,
        any: false,
    };
    let mut written = out.begin();
    digest::lines(&tolerant, manifest.root, |lines| {
        hasher.update(lines);
        if written.is_ok() {
            written = out.write(lines);
        }
    })?;
    written?;
    let findings = tolerant.into_findings();
    let sha256 = Sha256::from_bytes(hasher.finalize().into());
    out.end(findings.is_empty().then_some(sha256))?;
    report(&findings, streams)
}

/// Where the lines go, one by one: a branch may have more than fit into memory.
struct Lines<'a> {
    out: &'a mut dyn Write,
    json: bool,
    any: bool,
}

impl Lines<'_> {
    fn begin(&mut self) -> io::Result<()> {
        if self.json {
            write!(self.out, "{{\n  \"lines\": [")?;
        }
        Ok(())
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if !self.json {
            return self.out.write_all(lines);
        }
        for line in String::from_utf8_lossy(lines).lines() {
            let comma = if self.any { "," } else { "" };
            write!(self.out, "{comma}\n    ")?;
            serde_json::to_writer(&mut *self.out, line)?;
            self.any = true;
        }
        Ok(())
    }

    fn end(&mut self, sha256: Option<Sha256>) -> io::Result<()> {
        match (self.json, sha256) {
            (true, Some(sha256)) => {
                writeln!(self.out, "\n  ],\n  \"sha256\": \"{sha256}\"\n}}")
            }
            (true, None) => writeln!(self.out, "\n  ],\n  \"sha256\": null\n}}"),
            (false, Some(sha256)) => writeln!(self.out, "sha256 {sha256}"),
            (false, None) => Ok(()),
        }
    }
}
