//! Files on their way in: several at once, each held against the id that git gives its bytes. They lie
//! under that id until the next state takes them, so that an interrupted pull goes on where it was.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use ureq::Body;
use ureq::http::{Response, StatusCode};

use super::address::Targets;
use super::client::{Client, RequestOptions, header, incoming};
use crate::base::digest::{GitHasher, StreamHasher, byte_count};
use crate::base::id::GitId;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::cli::output::visible;
use crate::cli::pull::fault::{Fault, Pulled};
use crate::repo::Chunks;

/// Longest file that is held in memory, in bytes. A longer one is written as it comes, and gone on with
/// when it breaks off.
const IN_MEMORY_BYTES_MAX: u64 = 1 << 20;

/// How long the files of a fetch come over as many connections as it has, before it takes one more. After a save all
/// who watch the branch fetch at once, most of them a few small files: these come over the connection that is there.
const ONE_MORE_AFTER: Duration = Duration::from_millis(50);

/// What is fetched, and from where.
pub(in crate::cli::pull) struct Fetch<'a> {
    pub(in crate::cli::pull) client: &'a Client,
    pub(in crate::cli::pull) targets: &'a Targets,
    pub(in crate::cli::pull) revision: &'a str,
    /// Where the files go, each under its id.
    pub(in crate::cli::pull) folder: PathBuf,
    /// Each content once, by one of its paths.
    pub(in crate::cli::pull) wanted: BTreeMap<GitId, &'a str>,
    /// Most bytes of all of them.
    pub(in crate::cli::pull) bytes_max: u64,
    /// Bytes for which there is room.
    pub(in crate::cli::pull) room: u64,
    /// How many are fetched at once, each over a connection, once it takes long.
    pub(in crate::cli::pull) parallel: u16,
}

/// What is counted of all files together.
#[derive(Debug)]
struct Bytes {
    /// Those on the disk, what an earlier pull left among them.
    there: AtomicU64,
    /// Those that came.
    came: AtomicU64,
}

impl Fetch<'_> {
    /// Fetches what is not there yet; `step` hears of each file how many have come. Gives the bytes that
    /// came.
    pub(in crate::cli::pull) fn run(mut self, mut step: impl FnMut(usize)) -> Pulled<u64> {
        let held = self.look()?;
        self.room = self.room.saturating_add(held);
        let wanted: Vec<_> = self.wanted.iter().map(|(id, path)| (*id, *path)).collect();
        let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let bytes = Bytes {
            there: AtomicU64::new(held),
            came: AtomicU64::new(0),
        };
        let threads = usize::from(self.parallel).min(wanted.len());
        let (fetch, list) = (&self, &wanted);
        let work = |sender: SyncSender<Pulled<()>>| {
            while !ended.load(Ordering::Relaxed)
                && let Some((id, path)) = list.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let done = fetch.file(*id, path, &bytes);
                ended.fetch_or(done.is_err(), Ordering::Relaxed);
                if sender.send(done).is_err() {
                    return;
                }
            }
        };
        let mut begun = 0;
        let fetched: Pulled<()> = thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(list.len().min(1024));
            let mut sender = (threads > 0).then_some(sender);
            let mut one_more_at = Instant::now();
            let mut count = 0;
            loop {
                let now = Instant::now();
                if next.load(Ordering::Relaxed) >= list.len() {
                    sender = None;
                } else if let Some(more) = sender.take_if(|_| one_more_at <= now) {
                    begun += 1;
                    one_more_at = now + ONE_MORE_AFTER;
                    sender = (begun < threads).then(|| more.clone());
                    scope.spawn(|| work(more));
                }
                match receiver.recv_timeout(ONE_MORE_AFTER) {
                    Ok(done) => {
                        // What one fault brings about in others says less.
                        done?;
                        count += 1;
                        step(count);
                        if count == list.len() {
                            return Ok(());
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
            }
        });
        if begun > 1 {
            self.client.close_connections();
        }
        fetched?;
        Ok(bytes.came.into_inner())
    }

    /// Takes what an earlier pull left off the list, where it is whole, and removes what nobody wants. Gives
    /// the bytes of what stays.
    fn look(&mut self) -> Pulled<u64> {
        let failed = |error| Fault::of_file("preparing", &self.folder)(error);
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut held: u64 = 0;
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().unwrap_or_default();
            let part_of = name.strip_suffix(".part");
            let id = part_of.unwrap_or(&name).parse();
            let id: Option<GitId> = id.ok().filter(|id| self.wanted.contains_key(id));
            let is_whole = |id| {
                let whole = File::open(entry.path()).and_then(|file| Ok(git_id(file)? == id));
                whole.unwrap_or(false)
            };
            let bytes = length(&entry.path());
            match id {
                Some(id) if is_whole(id) => {
                    fs::rename(entry.path(), self.folder.join(id.to_string())).map_err(failed)?;
                    self.wanted.remove(&id);
                    held = held.saturating_add(bytes);
                }
                Some(_) if part_of.is_some() => held = held.saturating_add(bytes),
                _ => fs::remove_file(entry.path()).map_err(failed)?,
            }
        }
        Ok(held)
    }

    /// Fetches a file. As long as each attempt brings some of it, it is gone on with.
    fn file(&self, id: GitId, path: &str, bytes: &Bytes) -> Pulled<()> {
        let part = self.folder.join(format!("{id}.part"));
        loop {
            let before = length(&part);
            let attempt = || self.attempt(id, path, &part, bytes);
            match self.client.repeated(attempt) {
                Err(Fault::Passing { after: None, .. }) if length(&part) > before => {}
                done => return done,
            }
        }
    }

    fn attempt(&self, id: GitId, path: &str, part: &Path, bytes: &Bytes) -> Pulled<()> {
        let options = RequestOptions {
            from: length(part),
            is_file: true,
            ..RequestOptions::default()
        };
        let response = self
            .client
            .get_once(&self.targets.file(self.revision, path), options)
            .map_err(|fault| Self::named(fault, path))?;
        let Some(from) = begins_at(&response, options.from) else {
            // What was begun is longer than the file, or the server cannot go on with it.
            let _removed = drop_part(part, bytes);
            return Err(Fault::passing(format!(
                "the server does not go on with \"{}\" at the place that it was asked for",
                visible(path)
            )));
        };
        if from == 0 && options.from > 0 {
            drop_part(part, bytes).map_err(Fault::of_file("removing", part))?;
        }
        // What is told to be too long is not begun.
        let told = response.body().content_length().unwrap_or(0);
        self.check_room(bytes.there.load(Ordering::Relaxed).saturating_add(told))?;
        let mut body = incoming(response);
        if from == 0 {
            let mut start = Vec::new();
            self.read(&mut body, IN_MEMORY_BYTES_MAX + 1, &mut start)?;
            let target = self.folder.join(id.to_string());
            if byte_count(&start) <= IN_MEMORY_BYTES_MAX {
                let mut hasher = GitHasher::new(byte_count(&start));
                hasher.update(&start);
                check(hasher.finish(), id, path)?;
                self.count(byte_count(&start), bytes)?;
                return fs::write(&target, &start).map_err(Fault::of_file("writing", &target));
            }
            self.count(byte_count(&start), bytes)?;
            fs::write(part, &start).map_err(Fault::of_file("writing", part))?;
        }
        let mut file = OpenOptions::new()
            .append(true)
            .open(part)
            .map_err(Fault::of_file("writing", part))?;
        let mut chunk = Vec::with_capacity(READ_CHUNK_BYTES);
        loop {
            chunk.clear();
            let read = self.read(&mut body, READ_CHUNK_BYTES as u64, &mut chunk);
            self.count(byte_count(&chunk), bytes)?;
            file.write_all(&chunk)
                .map_err(Fault::of_file("writing", part))?;
            read?;
            if chunk.is_empty() {
                break;
            }
        }
        let found = File::open(part).and_then(git_id);
        let found = found.map_err(Fault::of_file("reading", part))?;
        if found != id {
            drop_part(part, bytes).map_err(Fault::of_file("removing", part))?;
        }
        check(found, id, path)?;
        let target = self.folder.join(id.to_string());
        fs::rename(part, &target).map_err(Fault::of_file("writing", &target))
    }

    /// A fault with the file, where the server does not have that.
    fn named(fault: Fault, path: &str) -> Fault {
        match fault {
            Fault::Moved(what) => Fault::Moved(format!(
                "\"{}\" is in the tree and does not come: {what}",
                visible(path)
            )),
            other => other,
        }
    }

    /// Reads so many bytes at most. What came before a break is in the buffer, too.
    fn read(&self, body: &mut impl Read, most: u64, into: &mut Vec<u8>) -> Pulled<()> {
        let read = body.take(most).read_to_end(into);
        read.map(drop).map_err(|e| self.client.failed(e.into()))
    }

    fn count(&self, more: u64, bytes: &Bytes) -> Pulled<()> {
        bytes.came.fetch_add(more, Ordering::Relaxed);
        let before = bytes.there.fetch_add(more, Ordering::Relaxed);
        self.check_room(before.saturating_add(more))
    }

    fn check_room(&self, bytes: u64) -> Pulled<()> {
        if bytes > self.bytes_max {
            return Err(Fault::lasting(format!(
                "the branch has more than {} bytes (--bytes-max)",
                self.bytes_max
            )));
        }
        if bytes > self.room {
            return Err(Fault::Full {
                what: format!(
                    "what is new in the branch has more than the {} bytes that it may take of the disk; the \
                     folder stays as it is until there is room",
                    self.room
                ),
                needed: Some(bytes),
            });
        }
        Ok(())
    }
}

/// Removes what has come of a file, which counts no longer.
fn drop_part(part: &Path, bytes: &Bytes) -> io::Result<()> {
    let held = length(part);
    fs::remove_file(part)?;
    bytes.there.fetch_sub(held, Ordering::Relaxed);
    Ok(())
}

/// Where the bytes of an answer begin in the file: where they were asked for, or with the first one.
/// `None` for any other answer.
fn begins_at(response: &Response<Body>, asked: u64) -> Option<u64> {
    match response.status() {
        StatusCode::OK => return Some(0),
        StatusCode::PARTIAL_CONTENT => {}
        _ => return None,
    }
    let range = header(response.headers(), "content-range")?;
    let from = range.strip_prefix("bytes ")?.split('-').next()?;
    let from = from.parse().ok()?;
    (from == asked || from == 0).then_some(from)
}

fn check(found: GitId, id: GitId, path: &str) -> Pulled<()> {
    if found == id {
        return Ok(());
    }
    Err(Fault::passing(format!(
        "the server sends other bytes for \"{}\" than its tree says: {found} in the place of {id}",
        visible(path)
    )))
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// The id that git gives the bytes of a file.
pub(in crate::cli::pull) fn git_id(mut file: File) -> io::Result<GitId> {
    let size = file.metadata()?.len();
    file.rewind()?;
    let mut hasher = GitHasher::new(size);
    let mut chunks = Chunks::of(file);
    while let Some(chunk) = chunks.next_chunk()? {
        hasher.update(chunk);
    }
    Ok(hasher.finish())
}
