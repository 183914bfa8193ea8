//! Bodies of every length on their way in: the digests are those of the plain hashes, and what fails or
//! is given up leaves nothing.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use md5::Digest as _;
use siteconf::base::id::BlobId;
use siteconf::base::limits::{BLOCK_BYTES, BLOCKS_PER_UPLOAD_MAX, HASH_SLOTS, INLINE_BYTES_MAX};
use siteconf::repo::{BatchAction, Condition, Error, NewFile, Upload};
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Result, Staging, Store, StoreError, Version};

use crate::fixture::{Scene, branch, path};
use crate::forwarded::forward_reads;

/// Bytes of which no two pages are the same.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

/// How a body is brought.
type Bring = fn(&mut Upload, &[u8]) -> siteconf::repo::Result<()>;

const WAYS: [Bring; 3] = [
    |upload, bytes| upload.write(bytes),
    |upload, bytes| {
        bytes
            .chunks(99_991)
            .try_for_each(|piece| upload.write(piece))
    },
    in_blocks,
];

fn in_blocks(upload: &mut Upload, mut bytes: &[u8]) -> siteconf::repo::Result<()> {
    while !bytes.is_empty() {
        let mut block = upload.block();
        bytes = block.fill(bytes);
        upload.write_block(block)?;
    }
    let empty = upload.block();
    upload.write_block(empty)
}

/// Saves a body and asserts that it is known by the right digests and comes back as it was.
#[track_caller]
fn assert_taken(scene: &Scene, file: NewFile, bytes: &[u8]) {
    let saved = scene
        .project
        .save(&branch("main"), &path("body"), file, Condition::None);
    let saved = saved.unwrap();
    let found = scene.head().file(&path("body")).unwrap();
    let mut git = sha1::Sha1::new();
    git.update(format!("blob {}\0", bytes.len()));
    git.update(bytes);
    let expected = (
        bytes.len() as u64,
        hex::encode(md5::Md5::digest(bytes)),
        hex::encode(git.finalize()),
        blake3::hash(bytes).to_hex().to_string(),
        hex::encode(sha2::Sha256::digest(bytes)),
    );
    let content = found.content().unwrap();
    let told = (
        found.size(),
        saved.md5.to_string(),
        found.git_id().to_string(),
        found.blob().to_string(),
        content.sha256.to_string(),
    );
    assert_eq!(told, expected);
    let mut read = vec![0; bytes.len()];
    match content.body {
        siteconf::repo::Body::Inline(inline) => read.copy_from_slice(&inline),
        siteconf::repo::Body::Large(large) => large.read_exact_at(&mut read, 0).unwrap(),
    }
    assert!(read == bytes, "{} bytes came back changed", bytes.len());
}

/// A scene on files, beside the build: there the disk may take blocks without a copy.
fn scene_on(root: &Path) -> Scene {
    Scene::on(SqliteStore::open_locked(root).unwrap())
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn a_body_of_any_length_has_the_digests_of_the_plain_hashes() {
    let root = folder();
    let scenes = [
        scene_on(root.path()),
        Scene::on(siteconf::store::memory::MemoryStore::default()),
    ];
    let around = |length: usize| [length - 1, length, length + 1];
    let mut lengths = vec![0, 1];
    lengths.extend(around(4096));
    lengths.extend(around(INLINE_BYTES_MAX));
    lengths.extend(around(BLOCK_BYTES));
    lengths.extend(around(3 * BLOCK_BYTES));
    lengths.push(2 * BLOCK_BYTES + 4096);
    lengths.push((BLOCKS_PER_UPLOAD_MAX + 3) * BLOCK_BYTES + 5);
    let bytes = noise(lengths.iter().copied().max().unwrap());
    for length in lengths {
        let bytes = &bytes[..length];
        for announced in [Some(length as u64), None] {
            for (scene, bring) in scenes.iter().flat_map(|s| WAYS.map(|way| (s, way))) {
                let mut upload = scene.projects.upload(announced);
                bring(&mut upload, bytes).unwrap();
                assert_taken(scene, upload.finish().unwrap(), bytes);
            }
        }
    }
}

#[test]
fn blocks_and_pieces_may_come_in_turns() {
    let root = folder();
    let scene = scene_on(root.path());
    let bytes = noise(3 * BLOCK_BYTES);
    for first in [0, 1, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, BLOCK_BYTES] {
        for second in [0, 10, INLINE_BYTES_MAX + 1, BLOCK_BYTES] {
            let mut upload = scene.projects.upload(None);
            let (one, rest) = bytes.split_at(first);
            let (two, three) = rest.split_at(second);
            upload.write(one).unwrap();
            in_blocks(&mut upload, two).unwrap();
            upload.write(&three[..5]).unwrap();
            in_blocks(&mut upload, &three[5..]).unwrap();
            assert_taken(&scene, upload.finish().unwrap(), &bytes);
        }
    }
}

#[test]
fn more_bodies_at_once_than_have_threads_are_all_taken() {
    let root = folder();
    let scene = scene_on(root.path());
    let bytes = noise(2 * BLOCK_BYTES + 7);
    let mut uploads: Vec<_> = (0..HASH_SLOTS + 2)
        .map(|_| scene.projects.upload(Some(bytes.len() as u64)))
        .collect();
    for piece in bytes.chunks(BLOCK_BYTES) {
        for upload in &mut uploads {
            upload.write(piece).unwrap();
        }
    }
    for upload in uploads {
        assert_taken(&scene, upload.finish().unwrap(), &bytes);
    }
}

#[test]
fn a_body_given_up_or_of_another_length_leaves_nothing() {
    let root = folder();
    let scene = scene_on(root.path());
    let incoming = || {
        std::fs::read_dir(root.path().join("incoming"))
            .unwrap()
            .count()
    };
    let bytes = noise(3 * BLOCK_BYTES);
    for announced in [Some(10 * BLOCK_BYTES as u64), None] {
        let mut upload = scene.projects.upload(announced);
        upload.write(&bytes).unwrap();
        assert_eq!(incoming(), 1);
        drop(upload);
        assert_eq!(incoming(), 0);
    }
    let mut long = scene.projects.upload(Some(2 * BLOCK_BYTES as u64));
    let refused = in_blocks(&mut long, &bytes);
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    drop(long);
    let mut short = scene.projects.upload(Some(4 * BLOCK_BYTES as u64));
    short.write(&bytes).unwrap();
    assert!(matches!(short.finish(), Err(Error::Invalid { .. })));
    assert_eq!(incoming(), 0);
    assert!(scene.files().is_empty());
}

/// The files of large blobs below a folder.
fn files_below(root: &Path, name: &str) -> usize {
    let all = walkdir::WalkDir::new(root.join(name)).into_iter();
    all.filter(|entry| entry.as_ref().unwrap().file_type().is_file())
        .count()
}

#[test]
fn what_is_refused_leaves_nothing_of_its_large_bodies_and_takes_nothing_of_others() {
    let root = folder();
    let scene = scene_on(root.path());
    let left = || {
        (
            files_below(root.path(), "blobs"),
            files_below(root.path(), "incoming"),
        )
    };
    let large = |seed: u8| {
        let mut bytes = noise(200_000);
        bytes[0] = seed;
        scene.projects.new_file(bytes.into()).unwrap()
    };
    let main = branch("main");
    let batch = |actions| {
        scene
            .project
            .batch(&main, actions, &Condition::None)
            .map(drop)
    };
    let failing = || BatchAction::Delete(path("absent"), Condition::None);
    for _ in 0..3 {
        let actions = vec![
            BatchAction::Create(path("a"), large(1)),
            BatchAction::Create(path("b"), large(2)),
            failing(),
        ];
        batch(actions).unwrap_err();
        let unmet = Condition::IfMatch(vec!["other".to_owned()]);
        let save = scene.project.save(&main, &path("a"), large(1), unmet);
        save.unwrap_err();
        assert_eq!(left(), (0, 0));
    }
    batch(vec![BatchAction::Create(path("a"), large(1))]).unwrap();
    assert_eq!(left(), (1, 0));
    batch(vec![BatchAction::Create(path("b"), large(1)), failing()]).unwrap_err();
    assert_eq!(left(), (1, 0));
    let content = scene.head().file(&path("a")).unwrap().content().unwrap();
    let siteconf::repo::Body::Large(body) = content.body else {
        panic!("it is small");
    };
    let mut read = vec![0; 200_000];
    body.read_exact_at(&mut read, 0).unwrap();
    assert_eq!((read[0], &read[1..]), (1, &noise(200_000)[1..]));
}

#[test]
fn a_failing_disk_is_told_to_who_brings_the_body() {
    let steps = [
        Step::Write(0),
        Step::Write(2),
        Step::Reread,
        Step::Sync,
        Step::Publish,
    ];
    for fails_at in steps {
        let store = Arc::new(Failing {
            store: siteconf::store::memory::MemoryStore::default(),
            fails_at,
        });
        let scene = Scene::over(store);
        let bytes = noise(4 * BLOCK_BYTES);
        let mut upload = scene.projects.upload(None);
        let written = in_blocks(&mut upload, &bytes);
        let outcome = match fails_at {
            Step::Write(_) => written,
            Step::Reread | Step::Sync => written.and_then(|()| upload.finish().map(drop)),
            Step::Publish => {
                let file = upload.finish().unwrap();
                let (main, at) = (branch("main"), path("body"));
                let saved = scene.project.save(&main, &at, file, Condition::None);
                saved.map(drop)
            }
        };
        let told = outcome.unwrap_err();
        assert!(
            matches!(&told, Error::Store(e) if matches!(**e, StoreError::Io { action: "failing", .. })),
            "{fails_at:?}: {told:?}"
        );
    }
}

/// What a [`Failing`] store's staged bodies cannot do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The write of this number, from 0.
    Write(usize),
    Reread,
    Sync,
    Publish,
}

/// A store whose staged bodies fail at a step.
#[derive(Debug)]
struct Failing<S> {
    store: S,
    fails_at: Step,
}

#[derive(Debug)]
struct FailingStaging {
    staging: Box<dyn Staging>,
    fails_at: Step,
    writes: usize,
}

impl FailingStaging {
    fn at(&self, step: Step) -> Result<()> {
        if step == self.fails_at {
            return Err(StoreError::io(
                "failing",
                std::io::Error::other("on purpose"),
            ));
        }
        Ok(())
    }
}

impl Staging for FailingStaging {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.at(Step::Write(self.writes))?;
        self.writes += 1;
        self.staging.write(bytes)
    }
    fn reread(&mut self) -> Result<Box<dyn Read + '_>> {
        self.at(Step::Reread)?;
        self.staging.reread()
    }
    fn sync(&mut self) -> Result<()> {
        self.at(Step::Sync)?;
        self.staging.sync()
    }
    fn committed(&mut self) {
        self.staging.committed();
    }
    fn publish(&mut self, id: BlobId) -> Result<()> {
        self.at(Step::Publish)?;
        self.staging.publish(id)
    }
}

impl<S: Store> Store for Failing<S> {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        Ok(Box::new(FailingStaging {
            staging: self.store.stage()?,
            fails_at: self.fails_at,
            writes: 0,
        }))
    }
}
