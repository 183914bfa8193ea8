//! Old records of the audit log packed together: they are read as before, at any moment, and go when
//! their time is over.

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;
use siteconf::base::clock::Timestamp;
use siteconf::base::id::ObjectId;
use siteconf::base::limits::{AUDIT_CHUNK, AUDIT_LOOSE_MIN, AUDIT_OLD_PACKS_MAX};
use siteconf::object::audit::{Action, AuditRecord};
use siteconf::object::audit_pack::AuditPack;
use siteconf::repo::Projects;
use siteconf::repo::audit::Filter;
use siteconf::store::memory::MemoryStore;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{
    Batch, Expect, Record, Result, Scan, Staging, Store, StoredObject, Version, Writes,
};

use crate::fixture::Scene;
use crate::on_every_engine;

on_every_engine!(
    what_is_packed_is_read_as_before,
    what_is_packed_goes_when_its_time_is_over,
);

/// An entry by its place, and the number that the test gave it.
type Told = (Version, Option<u64>);

/// Appends records of these numbers, each dated so many seconds after the beginning of time.
fn append(projects: &Projects, numbers: RangeInclusive<u64>, at_s: impl Fn(u64) -> u64) {
    let mut batch = Batch::default();
    for number in numbers {
        let at = Timestamp::from_ms(0).plus_s(at_s(number));
        let record = AuditRecord {
            count: Some(number),
            ..AuditRecord::new(at, &"eve".into(), Action::Login)
        };
        batch.append_to("audit/", &record);
    }
    projects.store().commit(batch).unwrap();
}

/// The log from its beginning, or from behind a place.
fn up(projects: &Projects, mut place: Option<Version>) -> Vec<Told> {
    let mut told = Vec::new();
    loop {
        let chunk = projects.audit_after(place, None).unwrap();
        told.extend(chunk.entries.iter().map(|it| (it.id, it.record.count)));
        place = chunk.place;
        if chunk.is_last {
            return told;
        }
    }
}

/// What is wanted of the log, by pages from its end, or from before a place.
fn down(projects: &Projects, filter: &Filter, mut before: Option<Version>) -> Vec<Told> {
    let mut told = Vec::new();
    loop {
        let page = projects.audit_page(filter, before, 700).unwrap();
        told.extend(page.entries.iter().map(|it| (it.id, it.record.count)));
        before = page.next;
        if before.is_none() {
            return told;
        }
    }
}

fn reversed(mut told: Vec<Told>) -> Vec<Told> {
    told.reverse();
    told
}

fn pack_all(projects: &Projects) -> usize {
    let mut packed = 0;
    while projects.pack_audit().unwrap() {
        packed += 1;
    }
    packed
}

fn forget_all(projects: &Projects, before_s: u64) -> usize {
    let before = Timestamp::from_ms(0).plus_s(before_s);
    let (mut removed, mut place) = (0, None);
    loop {
        let (some, next) = projects.forget_audit(before, place).unwrap();
        removed += some;
        place = next;
        if place.is_none() {
            return removed;
        }
    }
}

/// How many records there are under a prefix.
fn count(projects: &Projects, prefix: &str) -> usize {
    projects.store().scan(Scan::prefix(prefix)).unwrap().len()
}

fn what_is_packed_is_read_as_before(scene: &Scene) {
    let projects = &scene.projects;
    append(projects, 1..=1700, |number| number);
    scene.save("a", "1");
    append(projects, 1701..=4500, |number| number);
    let log = up(projects, None);
    let whole = log.len();
    assert_eq!(whole, 4503);
    assert_eq!(pack_all(projects), 3);
    assert_eq!(count(projects, "audit/"), whole - 3 * AUDIT_CHUNK);
    assert_eq!(count(projects, "audit-pack/"), 3);
    assert!(!projects.pack_audit().unwrap());

    assert_eq!(up(projects, None), log);
    // The end is a place from which to go on.
    let end = projects
        .audit_after(Some(log[whole - 5].0), None)
        .unwrap()
        .place;
    assert_eq!(end, Some(log[whole - 1].0));
    let all = Filter::default();
    assert_eq!(down(projects, &all, None), reversed(log.clone()));
    // From each end of a pack, beside it, and from within.
    for index in [0, 1, 500, 998, 999, 1000, 1001, 2999, 3000, 3001, 4502] {
        let place = Some(log[index].0);
        assert_eq!(up(projects, place), log[index + 1..], "{index}");
        let before = reversed(log[..index].to_vec());
        assert_eq!(down(projects, &all, place), before, "{index}");
    }
    let since = Timestamp::from_ms(0).plus_s(4000);
    // Also what lies before more than a thousand that are older: the save, and what made the scene.
    let late = Filter {
        since: Some(since),
        ..Filter::default()
    };
    let young = |it: &&Told| it.1.is_none_or(|number| number >= 4000);
    let wanted: Vec<_> = log.iter().filter(young).copied().collect();
    assert_eq!(wanted.len(), 504);
    assert_eq!(down(projects, &late, None), reversed(wanted));
    // A pack that is older as a whole is passed over.
    let place = Some(log[2500].0);
    assert_eq!(
        projects.audit_after(place, None).unwrap().entries.len(),
        499
    );
    let passed = projects.audit_after(place, Some(since)).unwrap();
    assert_eq!((passed.entries.len(), passed.is_last), (0, false));
    assert_eq!(passed.place, Some(log[2999].0));
}

fn what_is_packed_goes_when_its_time_is_over(scene: &Scene) {
    let projects = &scene.projects;
    // The first of the second pack was dated by a clock that was wrong. So were the two of the scene.
    let wrong = 999;
    append(projects, 1..=4500, |number| {
        if number == wrong { 1 << 37 } else { number }
    });
    let log = up(projects, None);
    pack_all(projects);
    assert_eq!(forget_all(projects, 1), 0);
    assert_eq!(up(projects, None), log);

    let stays = |from: u64| -> Vec<Told> {
        let young = |number: u64| number >= from || number == wrong;
        let it = log.iter().filter(|(_, number)| number.is_none_or(young));
        it.copied().collect()
    };
    for (before, removed, packs) in [
        (1, 0, 3),
        // Within the second pack, whose first stays: it has the key of before.
        (1501, 1499, 3),
        (1501, 0, 3),
        // Within the third.
        (2500, 999, 3),
        // All three, but for what the clock dated wrong; and some that are loose.
        (4001, 1501, 2),
    ] {
        assert_eq!(forget_all(projects, before), removed, "{before}");
        assert_eq!(up(projects, None), stays(before), "{before}");
        assert_eq!(count(projects, "audit-pack/"), packs, "{before}");
    }
    // What is young is packed by and by, as before.
    append(projects, 4501..=7000, |number| number);
    let log = up(projects, None);
    assert_eq!(pack_all(projects), 2);
    assert_eq!(up(projects, None), log);
    assert_eq!(forget_all(projects, (1 << 37) + 1), log.len());
    assert_eq!(count(projects, "audit"), 0);
}

/// A clock that was ahead has dated the first of all.
#[test]
fn who_asks_since_when_reads_no_further_than_some_older_packs() {
    let scene = Scene::on(MemoryStore::default());
    let projects = &scene.projects;
    let since = Timestamp::from_ms(0).plus_s(1 << 30);
    let late = Filter {
        since: Some(since),
        ..Filter::default()
    };
    let old = u64::try_from(AUDIT_OLD_PACKS_MAX * AUDIT_CHUNK).unwrap();
    let loose = u64::try_from(AUDIT_LOOSE_MIN).unwrap();
    // With the two of the scene a pack of entries from later.
    let first = u64::try_from(AUDIT_CHUNK).unwrap() - 2;
    append(projects, 1..=first, |_| 1 << 30);
    append(projects, first + 1..=first + old - loose, |_| 1);
    append(projects, 1..=loose, |_| 1 << 30);
    pack_all(projects);
    let younger = AUDIT_CHUNK + AUDIT_LOOSE_MIN;
    assert_eq!(down(projects, &late, None).len(), younger, "a pack less");
    append(projects, 1..=loose, |_| 1);
    append(projects, 1..=loose, |_| 1 << 30);
    pack_all(projects);
    let between = down(projects, &late, None).len();
    assert_eq!(between, younger + AUDIT_LOOSE_MIN, "others lie between");
    // One of them may be read together with what is loose.
    append(projects, 1..=old + loose, |_| 1);
    append(projects, 1..=loose, |_| 1 << 30);
    pack_all(projects);
    assert_eq!(down(projects, &late, None).len(), AUDIT_LOOSE_MIN);
    let all = usize::try_from(2 * old + 5 * loose).unwrap();
    assert_eq!(up(projects, None).len(), all);
}

/// When another process packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Right after what is loose was read.
    LooseWasRead,
    /// Right after no pack was found.
    NoPackWasFound,
    /// Right before a commit.
    Commit,
}

/// A store in which another process packs the log at a chosen moment, each time.
#[derive(Debug)]
struct Racing {
    store: Arc<MemoryStore>,
    other: OnceLock<Projects>,
    moment: Moment,
}

impl Racing {
    fn pack_at(&self, moment: Moment) {
        if let Some(other) = self.other.get().filter(|_| moment == self.moment) {
            other.pack_audit().unwrap();
        }
    }
}

impl Store for Racing {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        self.store.object(id)
    }
    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        self.store.ids_with_prefix(prefix, limit)
    }
    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.store.record(key)
    }
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let is_of_packs = scan.prefix.starts_with("audit-pack");
        let found = self.store.scan(scan)?;
        if !is_of_packs {
            self.pack_at(Moment::LooseWasRead);
        } else if found.is_empty() {
            self.pack_at(Moment::NoPackWasFound);
        }
        Ok(found)
    }
    fn last_version(&self) -> Result<Version> {
        self.store.last_version()
    }
    fn external_writes(&self) -> Result<u64> {
        self.store.external_writes()
    }
    fn external_writes_seen(&self, waits: bool) -> Result<u64> {
        self.store.external_writes_seen(waits)
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        self.pack_at(Moment::Commit);
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
    fn writes(&self) -> Writes {
        Writes::Taken
    }
}

/// A log of more than 6,000 records, where another packs at this moment from now on.
fn racing(moment: Moment) -> (Scene, Projects) {
    let store = Arc::new(MemoryStore::default());
    let racing = Arc::new(Racing {
        store: Arc::clone(&store),
        other: OnceLock::new(),
        moment,
    });
    let scene = Scene::over(Arc::clone(&racing) as Arc<dyn Store>);
    append(&scene.projects, 1..=6000, |number| number);
    let other = Projects::new(store, Arc::clone(scene.projects.clock()));
    racing.other.set(other.clone()).unwrap();
    (scene, other)
}

#[test]
fn nothing_is_passed_over_or_told_twice_while_another_packs() {
    for moment in [Moment::LooseWasRead, Moment::NoPackWasFound] {
        for descending in [false, true] {
            let (scene, other) = racing(moment);
            let log = up(&other, None);
            let read = if descending {
                reversed(down(&scene.projects, &Filter::default(), None))
            } else {
                up(&scene.projects, None)
            };
            assert!(
                read == log,
                "{moment:?}, {descending}: {} entries",
                read.len()
            );
            assert!(count(&other, "audit-pack/") > 0);
        }
    }
}

#[test]
fn of_two_who_pack_one_changes_nothing() {
    let (scene, other) = racing(Moment::Commit);
    let log = up(&other, None);
    assert!(!scene.projects.pack_audit().unwrap());
    assert_eq!(count(&other, "audit-pack/"), 1);
    assert_eq!(count(&other, "audit/"), log.len() - AUDIT_CHUNK);
    assert_eq!(up(&other, None), log);
}

#[test]
fn a_pack_is_as_the_document_says() {
    let document = include_str!("../../objects-layout.md");
    let value = |name: &str| {
        let begin = format!("```json {name}\n");
        let block = document.split_once(begin.as_str()).unwrap().1;
        block.split_once("\n```").unwrap().0.as_bytes()
    };
    let pack: AuditPack = serde_json::from_slice(value("audit-pack")).unwrap();
    let records = [(27, value("audit")), (30, value("audit-role"))];
    let unpacked = pack.records().unwrap();
    let unpacked: Vec<_> = unpacked
        .iter()
        .map(|(id, value)| (*id, &value[..]))
        .collect();
    assert_eq!(unpacked, records);
    let (again, ids) = AuditPack::new(records.into_iter()).unwrap();
    assert_eq!(ids, [27, 30]);
    assert_eq!((again.last, again.times()), (pack.last, pack.times()));
}

/// A record that was damaged when its neighbours were packed, and that a restore has brought back.
#[test]
fn what_is_loose_among_packs_hides_nothing() {
    let root = tempfile::tempdir().unwrap();
    let scene = Scene::on(SqliteStore::open_locked(root.path()).unwrap());
    let projects = &scene.projects;
    append(projects, 1..=5500, |number| number);
    let log = up(projects, None);
    let db = Connection::open(root.path().join("store.db")).unwrap();
    let flip = |key: &str| {
        let flipped = "UPDATE record SET checksum = zeroblob(8) WHERE key = ?1";
        let sound: Vec<u8> = db
            .query_one("SELECT checksum FROM record WHERE key = ?1", [key], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(db.execute(flipped, [key]).unwrap(), 1);
        sound
    };
    // The very first, one within, and the one that would be the last of the first pack.
    let damaged = [0, 3, 999].map(|index| format!("audit/{:016x}", log[index].0));
    let sound = damaged.clone().map(|key| flip(&key));
    assert_eq!(pack_all(projects), 4);
    for (key, sound) in damaged.iter().zip(sound) {
        let mended = "UPDATE record SET checksum = ?2 WHERE key = ?1";
        assert_eq!(db.execute(mended, (key, sound)).unwrap(), 1);
    }
    append(projects, 5501..=8000, |number| number);
    let read = |log: &[Told]| {
        assert!(up(projects, None) == log);
        let all = Filter::default();
        assert!(down(projects, &all, None) == reversed(log.to_vec()));
        for index in [0, 2, 3, 4, 500, 999, 1003, 1500] {
            let place = Some(log[index].0);
            assert!(up(projects, place) == log[index + 1..], "{index}");
            let before = reversed(log[..index].to_vec());
            assert!(down(projects, &all, place) == before, "{index}");
        }
    };
    let log = up(projects, None);
    assert_eq!(log.len(), 8002);
    read(&log);
    // Later packs do not overlap with those.
    assert_eq!(pack_all(projects), 2);
    read(&log);
    assert_eq!(forget_all(projects, 1501), 1500);
    let young = |told: &&Told| told.1.is_none_or(|number| number > 1500);
    read(&log.iter().filter(young).copied().collect::<Vec<_>>());
}

#[test]
fn a_damaged_pack_is_left_out_and_the_rest_is_read() {
    let root = tempfile::tempdir().unwrap();
    let scene = Scene::on(SqliteStore::open_locked(root.path()).unwrap());
    let projects = &scene.projects;
    append(projects, 1..=5500, |number| number);
    let log = up(projects, None);
    assert_eq!(pack_all(projects), 4);
    let packs = projects.store().scan(Scan::prefix("audit-pack/")).unwrap();
    // One whose checksum is another's, and one that is not what it says.
    let db = Connection::open(root.path().join("store.db")).unwrap();
    let flipped = "UPDATE record SET checksum = x'00' WHERE key = ?1";
    assert_eq!(db.execute(flipped, [&packs[1].key]).unwrap(), 1);
    let mut pack: serde_json::Value = serde_json::from_slice(&packs[2].value).unwrap();
    pack["lines"] = "AAAA".into();
    let mut batch = Batch::default();
    batch.write(packs[2].key.clone(), Expect::Anything, &pack);
    projects.store().commit(batch).unwrap();

    let rest = [&log[..AUDIT_CHUNK], &log[3 * AUDIT_CHUNK..]].concat();
    assert_eq!(up(projects, None), rest);
    assert_eq!(down(projects, &Filter::default(), None), reversed(rest));
    let middle = Some(log[1500].0);
    assert_eq!(up(projects, middle), log[3 * AUDIT_CHUNK..]);
    // The one that says how old it is goes, too.
    assert!(forget_all(projects, 5000) > 2 * AUDIT_CHUNK);
    assert!(up(projects, None).len() <= AUDIT_LOOSE_MIN);
}
