//! A file, saved.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Serialize;

use super::args::Put;
use super::expected;
use crate::base::digest::byte_count;
use crate::base::id::{BlobId, GitId, Md5};
use crate::base::snapshot_version::SnapshotVersion;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::shell_word;
use crate::cli::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::{Chunks, NewFile, ProjectWriter};

/// What was saved, as JSON.
#[derive(Serialize)]
struct Saved {
    path: String,
    size: u64,
    md5: Md5,
    git: GitId,
    blob: BlobId,
    /// The snapshot taken just before.
    snapshot: SnapshotVersion,
    /// Null where it cannot be read any more.
    short_id: Option<String>,
}

/// `put`. A body that cannot be read to its end, or is too large, saves nothing.
pub(in crate::cli) fn save(
    args: &Put,
    bytes_max: u64,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let branch = names::branch(&args.branch)?;
    let path = names::file(&args.path)?;
    let message = names::message(args.message.as_deref())?;
    let place = (&repo_id, &branch, &path);
    let writer = opened.writer(&repo_id, &branch)?;
    let condition = expected::condition(args.expect.as_deref(), place, opened)?;
    let refusal = |error| expected::refusal(error, place, opened);
    // Before the bytes are read, which may take long.
    writer
        .check_save(&branch, &path, &condition)
        .map_err(refusal)?;

    let file = match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let name = output::visible_path(file);
            let mut from = File::open(file).map_err(Error::file("reading", file))?;
            read(&mut from, &name, bytes_max, opened)?
        }
        None if streams.input_is_closed => {
            return Err(Error::Usage(
                "standard input is closed, or leads nowhere: name the file to be saved".to_owned(),
            ));
        }
        None => read(&mut streams.input, "standard input", bytes_max, opened)?,
    };
    let (size, md5, git, blob) = (file.size(), file.md5(), file.git_id(), file.blob());
    // By now the name that was asked for may be another project's, or nobody's.
    let project = opened.project_anew(&writer)?;
    let writer = ProjectWriter::new(project, opened.actor.clone())
        .while_as_opened()
        .saying(message)
        .passing_over_rules(args.no_validate);
    let saved = writer.save(&branch, &path, file, condition);
    let repo::Saved {
        snapshot, revision, ..
    } = saved.map_err(refusal)?;
    let undo = format!(
        "undo it with \"siteconf rollback {repo_id} {branch} {snapshot} --path={}\"",
        shell_word(path.as_str())
    );
    let told = if args.json {
        let saved = Saved {
            path: path.to_string(),
            size,
            md5,
            git,
            blob,
            snapshot,
            short_id: output::known_short_id(&revision),
        };
        output::write_json(streams.out, &saved)
    } else {
        streams.tell(format_args!(
            "{path} saved in {repo_id}:{branch}, {size} bytes; {undo}"
        ))
    };
    output::of_change(told, streams.out, Some(&undo))
}

/// Reads a body to its end. `name` says where it comes from.
fn read(from: &mut dyn Read, name: &str, bytes_max: u64, opened: &OpenStore) -> Result<NewFile> {
    let mut upload = opened.projects.upload(None);
    let mut chunks = Chunks::of(from);
    let mut bytes: u64 = 0;
    while let Some(chunk) = chunks.next_chunk().map_err(Error::file("reading", name))? {
        bytes += byte_count(chunk);
        if bytes > bytes_max {
            return Err(Error::Failed(format!(
                "{name} is larger than {bytes_max} bytes (file_bytes_max); nothing was saved"
            )));
        }
        upload.write(chunk)?;
    }
    Ok(upload.finish()?)
}
