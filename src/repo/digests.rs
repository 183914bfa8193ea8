//! Branch digests: computed once per manifest however many readers wait, and ahead of them after a
//! save.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;

use super::Result;
use crate::base::cache::{ByteCache, CacheUse, byte_cache, get_or_make};
use crate::base::id::{COMMIT_DIGITS, ManifestId, Sha256};
use crate::base::limits::{DIGEST_CACHE_ENTRIES, DIGEST_STATES_BYTES};
use crate::base::threads::joined::Joined;
use crate::manifest::Nodes;
use crate::manifest::digest::Digested;
use crate::object::key;
use crate::object::record::{CommitRecord, DigestRecord};
use crate::store::background_writes::BackgroundWrites;
use crate::store::{self, Batch, Expect, Store, StoreError};

/// Most heads that wait to be digested in the background; a reader computes what was left out.
const WAITING_MAX: usize = 256;
/// The background computes after no save has come for this long.
const QUIET: Duration = Duration::from_millis(5);
/// Longest wait for such a pause. Readers do not wait for the background.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(1);
/// Branches whose states are kept, where they are large: in two parts, each with room for the states of one of some
/// millions of files.
const BRANCHES_USUAL: u64 = 64;

/// The digest of a state (specification section 9), and the ids that are cut from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchDigest {
    hex: [u8; 64],
}

impl BranchDigest {
    pub(super) fn new(sha256: Sha256) -> Self {
        let mut hex = [0; 64];
        hex::encode_to_slice(sha256.as_bytes(), &mut hex).expect("64 digits for 32 bytes");
        Self { hex }
    }

    /// The whole digest, 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.hex).expect("hexadecimal digits")
    }

    /// `commit.id`: the first 40 digits.
    pub fn commit_id(&self) -> &str {
        &self.as_str()[..COMMIT_DIGITS]
    }

    /// `commit.short_id`: the first 8 digits.
    pub fn short_id(&self) -> &str {
        &self.as_str()[..8]
    }
}

impl fmt::Display for BranchDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The digests that were computed, and the thread that computes more.
#[derive(Debug)]
pub(super) struct Digests {
    computed: Arc<Computed>,
    background_writes: Arc<BackgroundWrites>,
    background: Background,
}

impl Digests {
    pub(super) fn new(nodes: Arc<Nodes>, background_writes: Arc<BackgroundWrites>) -> Self {
        let computed = Arc::new(Computed {
            nodes,
            known: Cache::new(DIGEST_CACHE_ENTRIES),
            last: digested_cache(),
        });
        let background = Background::start(Arc::clone(&computed));
        Self {
            computed,
            background_writes,
            background,
        }
    }

    /// What is kept in memory, and how often it was what was wanted.
    pub(super) fn cache_uses(&self) -> [CacheUse; 2] {
        [
            CacheUse::counted("digests", &self.computed.known),
            CacheUse::weighed("digest_states", &self.computed.last),
        ]
    }

    /// The digest of a state, for a client. Its commit id enters the index soon after, so that whoever
    /// knows an id can use it for as long as the state exists; till then this process finds it on its way there, and
    /// another one that serves the store searches for it. With
    /// `is_new`, for a state that a change has just made, the store is not asked for a digest: it seldom has one,
    /// and over a network that would be two round trips before the save is answered.
    pub(super) fn publish_id(
        &self,
        project: u64,
        branch: u64,
        manifest: ManifestId,
        is_new: bool,
    ) -> Result<BranchDigest> {
        let sha256 = self.computed.digest(branch, manifest, is_new)?;
        self.publish(project, branch, manifest, sha256, is_new)
    }

    /// The same of a state whose digest memory has; `None` of another.
    pub(super) fn publish_known_id(
        &self,
        project: u64,
        branch: u64,
        manifest: ManifestId,
    ) -> Result<Option<BranchDigest>> {
        self.known(manifest)
            .map(|sha256| self.publish(project, branch, manifest, sha256, false))
            .transpose()
    }

    /// Has a state's commit id entered in the index soon.
    fn publish(
        &self,
        project: u64,
        branch: u64,
        manifest: ManifestId,
        sha256: Sha256,
        is_new: bool,
    ) -> Result<BranchDigest> {
        let commit_key = key::commit(project, sha256, branch);
        // Each time: it may have been pruned, also by another process, and have come again.
        if is_new || !self.computed.is_entered(&commit_key, manifest)? {
            // What is refused, as by a full disk, is put again by the next who asks.
            let mut batch = Batch::default();
            enter(&mut batch, commit_key.clone(), manifest, sha256);
            self.background_writes.put(commit_key, batch);
        }
        Ok(BranchDigest::new(sha256))
    }

    /// The digest of a state if memory has it.
    pub(super) fn known(&self, manifest: ManifestId) -> Option<Sha256> {
        self.computed.known.get(&manifest)
    }

    /// The digest of a state for a comparison within the service.
    pub(super) fn compute(&self, branch: u64, manifest: ManifestId) -> Result<Sha256> {
        Ok(self.computed.digest(branch, manifest, false)?)
    }

    /// Enters the commit ids of many states in the index, with one commit, and gives their digests: of all states, or
    /// of those before which it `goes_on`.
    pub(super) fn publish_ids(
        &self,
        project: u64,
        states: &[(u64, ManifestId)],
        goes_on: impl Fn() -> bool,
    ) -> Result<Published> {
        let store = self.computed.store();
        let mut batch = Batch::upkeep();
        let mut digests = Vec::with_capacity(states.len());
        for &(branch, manifest) in states.iter().take_while(|_| goes_on()) {
            let sha256 = self.computed.digest(branch, manifest, false)?;
            digests.push(BranchDigest::new(sha256));
            let commit_key = key::commit(project, sha256, branch);
            if !self.computed.is_entered(&commit_key, manifest)? {
                enter(&mut batch, commit_key, manifest, sha256);
            }
        }
        let entered = if batch.writes.is_empty() {
            Entered::Before
        } else if let Err(error) = store.commit(batch) {
            // The digests are right whether or not they can be kept: a full disk stops no reader.
            tracing::debug!(%error, "digests could not be kept");
            Entered::Refused
        } else {
            Entered::Now
        };
        Ok(Published { digests, entered })
    }

    /// The digest if the store keeps it: what only this process has computed, or has told a moment ago, others that
    /// serve the store do not know.
    pub(super) fn kept(&self, manifest: ManifestId) -> Result<Option<BranchDigest>> {
        Ok(self.computed.kept(manifest)?.map(BranchDigest::new))
    }

    /// Has the digest of a branch's new head computed in the background, unless a newer head comes first.
    pub(super) fn schedule(&self, branch: u64, manifest: ManifestId) {
        if let Some(heads) = &self.background.heads {
            // When the queue is full, a reader will compute this one.
            let _full = heads.try_send((branch, manifest));
        }
    }
}

/// What came of the entry of commit ids in the index.
#[derive(Debug)]
pub struct Published {
    /// The digests of the states, in their order.
    pub digests: Vec<BranchDigest>,
    /// Whether their commit ids are in the index.
    pub(super) entered: Entered,
}

impl Published {
    /// True if their commit ids are in the index; false where the store refused to note some.
    pub fn are_entered(&self) -> bool {
        self.entered != Entered::Refused
    }
}

/// Whether states are in the index by their commit ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// All were before.
    Before,
    /// All are, some of them since now.
    Now,
    /// The store did not take those that were not.
    Refused,
}

/// Adds a state's digest, and its entry in the index of commit ids, to a batch.
fn enter(batch: &mut Batch, commit_key: String, manifest: ManifestId, sha256: Sha256) {
    let digest = DigestRecord { sha256 };
    batch.write(key::digest(manifest), Expect::Anything, &digest);
    batch.write(commit_key, Expect::Anything, &CommitRecord { manifest });
}

/// Digests by manifest.
#[derive(Debug)]
struct Computed {
    nodes: Arc<Nodes>,
    known: Cache<ManifestId, Sha256>,
    /// By branch, the last that was computed: the next is computed from where it differs.
    last: ByteCache<u64, Arc<Digested>>,
}

/// Keeps what was digested, by branch.
fn digested_cache() -> ByteCache<u64, Arc<Digested>> {
    byte_cache(DIGEST_STATES_BYTES, BRANCHES_USUAL, |_, digested| {
        64 + digested.memory()
    })
}

impl Computed {
    fn store(&self) -> &Arc<dyn Store> {
        self.nodes.objects().store()
    }

    /// The digest of a state, which the store does not keep if it is new.
    fn digest(&self, branch: u64, id: ManifestId, is_new: bool) -> store::Result<Sha256> {
        get_or_make(&self.known, &id, || {
            let kept = if is_new { None } else { self.kept(id)? };
            kept.map_or_else(|| self.compute(branch, id), Ok)
        })
    }

    fn compute(&self, branch: u64, id: ManifestId) -> store::Result<Sha256> {
        let root = self.nodes.manifest(id)?.root;
        let last = self.last.get(&branch);
        let nodes = self.nodes.as_ref();
        let digested = match Digested::new(nodes, root, last.as_deref()) {
            // The state before is only a shorter way. It may have been pruned and collected, or be damaged.
            Err(error) if last.is_some() && error.is_damage() => Digested::new(nodes, root, None)?,
            digested => digested?,
        };
        let sha256 = digested.sha256;
        self.last.insert(branch, Arc::new(digested));
        Ok(sha256)
    }

    /// True if the store keeps a state's digest, and its commit id in the index, undamaged.
    fn is_entered(&self, commit_key: &str, manifest: ManifestId) -> store::Result<bool> {
        for key in [commit_key, &key::digest(manifest)] {
            match self.store().record(key) {
                Ok(Some(_)) => {}
                Ok(None) | Err(StoreError::DamagedRecord { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The digest that the store keeps. One that is damaged is as one that is not there: it is computed.
    fn kept(&self, id: ManifestId) -> store::Result<Option<Sha256>> {
        let record = self.store().sound_value::<DigestRecord>(&key::digest(id))?;
        Ok(record.map(|record| record.value.sha256))
    }
}

/// The thread that computes before readers ask.
#[derive(Debug)]
struct Background {
    /// `None` where there is no thread. Before it, which ends without them.
    heads: Option<SyncSender<(u64, ManifestId)>>,
    _thread: Option<Joined>,
}

impl Background {
    fn start(computed: Arc<Computed>) -> Self {
        let (heads, queued) = sync_channel(WAITING_MAX);
        let work = move || compute_ahead(&computed, &queued);
        let thread = Joined::spawn("digests", work).inspect_err(
            |error| tracing::warn!(%error, "digests are computed only when asked for"),
        );
        let thread = thread.ok();
        Self {
            heads: thread.is_some().then_some(heads),
            _thread: thread,
        }
    }
}

fn compute_ahead(computed: &Computed, queued: &Receiver<(u64, ManifestId)>) {
    while let Ok(first) = queued.recv() {
        // Of several heads of a branch only the last is computed, and not while saves follow one
        // another: they need the cores.
        let mut heads: HashMap<u64, ManifestId> = HashMap::from([first]);
        let begun = Instant::now();
        while begun.elapsed() < QUIET_WAIT_MAX
            && let Ok((branch, manifest)) = queued.recv_timeout(QUIET)
        {
            heads.insert(branch, manifest);
        }
        for (branch, manifest) in heads {
            if let Err(error) = computed.digest(branch, manifest, false) {
                tracing::warn!(%error, "a digest could not be computed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::digest::BodyDigests;
    use crate::base::file_path::FilePath;
    use crate::manifest::{Draft, Editor};
    use crate::object::node::FileEntry;
    use crate::store::memory::MemoryStore;
    use crate::store::objects::Objects;

    fn computed() -> Computed {
        let store = Arc::new(MemoryStore::default()) as Arc<dyn Store>;
        Computed {
            nodes: Arc::new(Nodes::new(Arc::new(Objects::new(store)))),
            known: Cache::new(1),
            last: digested_cache(),
        }
    }

    /// Keeps a state of one file.
    fn state(computed: &Computed, path: &str) -> ManifestId {
        state_of(computed, [path.to_owned()])
    }

    /// Keeps a state of these files.
    fn state_of(computed: &Computed, paths: impl IntoIterator<Item = String>) -> ManifestId {
        let mut draft = Draft::new(&computed.nodes);
        let mut editor = Editor::empty();
        for path in paths {
            let digests = BodyDigests::of(path.as_bytes());
            let file = FileEntry {
                executable: false,
                size: digests.size,
                md5: digests.md5,
                git: digests.git,
                blob: digests.blob,
            };
            let path = FilePath::parse(&path).unwrap();
            editor.put_file(&draft, &path, file).unwrap();
        }
        let (id, _) = editor.finish(&mut draft).unwrap();
        let objects = draft.take_objects();
        let batch = Batch {
            objects,
            ..Batch::default()
        };
        computed.store().commit(batch).unwrap();
        id
    }

    #[test]
    fn what_one_has_computed_is_kept_for_all_once_somebody_was_told_it() {
        let computed = computed();
        let id = state(&computed, "a.xml");
        let nodes = Arc::clone(&computed.nodes);
        let store = Arc::clone(computed.store());
        let daemon = || {
            let writes = Arc::new(BackgroundWrites::start(Arc::clone(&store)));
            Digests::new(Arc::clone(&nodes), writes)
        };
        let [one, other] = [daemon(), daemon()];
        one.compute(1, id).unwrap();
        let kept = || [&one, &other].map(|daemon| daemon.kept(id).unwrap());
        assert_eq!(kept(), [None, None]);
        let told = one.publish_ids(1, &[(1, id)], || true).unwrap().digests;
        assert_eq!(kept(), [Some(told[0]), Some(told[0])]);
    }

    #[test]
    fn the_states_of_a_branch_of_millions_of_files_are_kept() {
        let computed = computed();
        // One whose lines are long has as many for a thousandth of the files.
        let folder = format!("{}/", "x".repeat(250)).repeat(15);
        let paths = (0..3000).map(|number| format!("{folder}{number:04}.xml"));
        let id = state_of(&computed, paths);
        computed.compute(1, id).unwrap();
        let kept = computed.last.get(&1).unwrap();
        assert!(kept.memory() > 1 << 20, "{}", kept.memory());
    }

    #[test]
    fn a_state_is_digested_although_the_one_before_is_gone() {
        let (there, other) = (computed(), computed());
        let known = state(&other, "gone.xml");
        other.compute(1, known).unwrap();
        there.last.insert(1, other.last.get(&1).unwrap());
        let id = state(&there, "there.xml");
        let alone = computed();
        let expected = alone.compute(2, state(&alone, "there.xml")).unwrap();
        assert_eq!(there.compute(1, id).unwrap(), expected);
    }
}
