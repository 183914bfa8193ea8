//! The examples of `objects-layout.md`, read from the document and held against the code: encodings,
//! ids, boundaries, records, and what lies in a folder.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
    use rusqlite::Connection;

    use siteconf::base::clock::Timestamp;
    use siteconf::base::digest::{BodyDigests, manifest_id, node_id, object_id};
    use siteconf::base::file_path::FilePath;
    use siteconf::base::id::{BlobId, Kind, ManifestId, NodeId};
    use siteconf::base::outboard::PieceHasher;
    use siteconf::base::secret::ServerKey;
    use siteconf::manifest::digest::lines;
    use siteconf::manifest::{Draft, Editor, NodeSource, Nodes, walk};
    use siteconf::object::audit::AuditRecord;
    use siteconf::object::audit_pack::AuditPack;
    use siteconf::object::manifest::Manifest;
    use siteconf::object::node::{FileEntry, Node, Value};
    use siteconf::object::record::{
        BranchRecord, ClockRecord, CommitRecord, DeletedRecord, DigestRecord, ProjectRecord,
        SkippedRecord, SnapshotRecord,
    };
    use siteconf::store::objects::Objects;
    use siteconf::store::sqlite::SqliteStore;
    use siteconf::store::{Batch, Expect, NewBody, NewObject, Store};

    /// The fenced blocks of the document by what stands behind their fences: `hex leaf`, `json`, ….
    fn blocks() -> BTreeMap<String, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("objects-layout.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mut blocks = BTreeMap::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(name) = line.strip_prefix("```") else {
                continue;
            };
            let body: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            let twice = blocks.insert(name.to_owned(), body.join("\n"));
            assert_eq!(twice, None, "two blocks \"{name}\"");
        }
        blocks
    }

    fn block(name: &str) -> String {
        let mut blocks = blocks();
        blocks
            .remove(name)
            .unwrap_or_else(|| panic!("no block \"{name}\""))
    }

    /// The bytes of a block of hexadecimal digits: on each line what stands before two spaces.
    fn bytes(name: &str) -> Vec<u8> {
        let digits: String = block(&format!("hex {name}"))
            .lines()
            .filter_map(|line| line.split("  ").next())
            .flat_map(|line| line.chars().filter(|c| *c != ' '))
            .collect();
        hex::decode(&digits).unwrap_or_else(|e| panic!("{name}: {e}: {digits}"))
    }

    fn id(name: &str) -> String {
        block(&format!("id {name}"))
    }

    fn node_in(name: &str) -> Node {
        Node::decode(&bytes(name)).unwrap()
    }

    /// A store in a folder, and a tree in it of the files of the document's example.
    struct Scene {
        root: tempfile::TempDir,
        store: Arc<SqliteStore>,
        nodes: Nodes,
        id: ManifestId,
        manifest: Manifest,
    }

    fn scene(files: &[(String, Vec<u8>, bool)]) -> Scene {
        let root = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open_locked(root.path()).unwrap());
        let nodes = Nodes::new(Arc::new(Objects::new(Arc::clone(&store) as Arc<dyn Store>)));
        let mut draft = Draft::new(&nodes);
        let mut editor = Editor::empty();
        let mut batch = Batch::default();
        for (path, content, executable) in files {
            let path = FilePath::parse(path).unwrap();
            let digests = BodyDigests::of(content);
            let entry = FileEntry {
                executable: *executable,
                size: digests.size,
                md5: digests.md5,
                git: digests.git,
                blob: digests.blob,
            };
            editor.put_file(&draft, &path, entry).unwrap();
            batch.objects.push(NewObject {
                id: digests.blob.into(),
                kind: Kind::Blob,
                size: digests.size,
                sha256: Some(digests.sha256),
                body: NewBody::Inline(content.clone().into()),
            });
        }
        let (id, manifest) = editor.finish(&mut draft).unwrap();
        batch.objects.extend(draft.take_objects());
        store.commit(batch).unwrap();
        drop(draft);
        Scene {
            root,
            store,
            nodes,
            id,
            manifest,
        }
    }

    fn example() -> Scene {
        scene(&[
            ("app.xml".to_owned(), b"<app/>\n".to_vec(), false),
            ("bin/run".to_owned(), b"#!/bin/sh\n".to_vec(), true),
            ("empty".to_owned(), Vec::new(), false),
        ])
    }

    /// Asserts that the document's bytes are the node's, and its id the node's id.
    fn assert_node(nodes: &Nodes, id_found: NodeId, name: &str) {
        let node = nodes.node(id_found).unwrap();
        assert_eq!(
            hex::encode(node.encode()),
            hex::encode(bytes(name)),
            "{name}"
        );
        assert_eq!(*node, node_in(name), "{name}");
        assert_eq!(node_id(&bytes(name)), id_found);
        assert_eq!(id(name), id_found.to_string(), "{name}");
    }

    #[test]
    fn a_blob_is_named_by_the_hash_of_its_bytes() {
        let content = bytes("blob");
        assert_eq!(content, b"<app/>\n");
        let digests = BodyDigests::of(&content);
        assert_eq!(id("blob"), digests.blob.to_string());
        assert_eq!(id("blob"), blake3::hash(&content).to_string());
        assert_eq!(id("blob-md5"), digests.md5.to_string());
        assert_eq!(id("blob-git"), digests.git.to_string());
        assert_eq!(id("blob-sha256"), digests.sha256.to_string());
    }

    #[test]
    fn the_examples_of_nodes_and_manifest_are_those_of_the_code() {
        let scene = example();
        assert_node(&scene.nodes, scene.manifest.root, "root");
        let root = scene.nodes.node(scene.manifest.root).unwrap();
        let Value::Directory(bin) = root.items[1].value else {
            panic!("no directory");
        };
        assert_node(&scene.nodes, bin.root, "bin");

        assert_eq!(
            hex::encode(scene.manifest.encode()),
            hex::encode(bytes("manifest"))
        );
        assert_eq!(Manifest::decode(&bytes("manifest")), Ok(scene.manifest));
        assert_eq!(manifest_id(&bytes("manifest")), scene.id);
        assert_eq!(id("manifest"), scene.id.to_string());

        let mut text = String::new();
        let push = |piece: &[u8]| text.push_str(std::str::from_utf8(piece).unwrap());
        lines(&scene.nodes, scene.manifest.root, push).unwrap();
        assert_eq!(text.trim_end(), block("digest-text"));
        let digest = siteconf::base::digest::sha256(text.as_bytes());
        assert_eq!(id("digest"), digest.to_string());
    }

    #[test]
    fn an_empty_branch_has_the_node_without_items() {
        let scene = scene(&[]);
        assert_node(&scene.nodes, scene.manifest.root, "empty");
        assert_eq!(
            hex::encode(scene.manifest.encode()),
            hex::encode(bytes("empty-manifest"))
        );
        assert_eq!(id("empty-manifest"), scene.id.to_string());
    }

    /// `000.xml`, `001.xml`, …, all empty.
    fn numbered(count: usize) -> Scene {
        let files: Vec<_> = (0..count)
            .map(|number| (format!("{number:03}.xml"), Vec::new(), false))
            .collect();
        scene(&files)
    }

    #[test]
    fn a_large_directory_has_the_inner_node_of_the_document() {
        let scene = numbered(100);
        assert_node(&scene.nodes, scene.manifest.root, "inner");
        let mut names = Vec::new();
        let _whole = walk::directory(&scene.nodes, scene.manifest.root, &mut |key, _| {
            names.push(key.name.to_string());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(names.len(), 100);
    }

    /// The rows of the document's table of draws: level, name, 64 bits, and the sizes from which on a node ends there.
    #[test]
    fn the_draws_of_the_document_are_those_of_the_rule() {
        let table = block("draws");
        let mut rows = 0;
        for line in table.lines() {
            let [level, name, draw, ends] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let level: u8 = level.parse().unwrap();
            let hash = blake3::hash(&[&[level], name.as_bytes()].concat());
            let bits = u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap());
            assert_eq!(draw, format!("{bits:016x}"), "{line}");
            let from = match bits {
                bits if bits.trailing_zeros() >= 7 => "1024",
                bits if bits.trailing_zeros() >= 3 => "4096",
                _ => "16384",
            };
            assert_eq!(ends, from, "{line}");
            rows += 1;
        }
        assert!(rows >= 3);

        // The leaves of the example end where the table says, and nowhere else.
        let scene = numbered(100);
        let inner = scene.nodes.node(scene.manifest.root).unwrap();
        let listed = |name: &str| {
            table
                .lines()
                .any(|line| line.starts_with(&format!("0 {name} ")))
        };
        for item in &inner.items {
            assert!(listed(&item.key.name), "{}", item.key.name);
        }
    }

    #[test]
    fn the_high_water_mark_is_the_line_of_the_document() {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_locked(root.path()).unwrap();
        let mut batch = Batch::default();
        for key in ["a", "b", "c", "d", "e"] {
            batch.write(key.to_owned(), Expect::Absent, &1);
        }
        assert_eq!(store.commit(batch).unwrap(), 5);
        drop(store);
        let mark = std::fs::read_to_string(root.path().join("high-water")).unwrap();
        assert_eq!(mark, block("high-water") + "\n");
    }

    #[test]
    fn the_checksum_of_a_record_is_that_of_the_document() {
        let record = bytes("record");
        let hash = blake3::hash(&record);
        assert_eq!(
            hex::encode(bytes("record-checksum")),
            hex::encode(&hash.as_bytes()[..8])
        );
        let own = siteconf::base::digest::record_checksum("counter/project", 258, b"3");
        assert_eq!(own, bytes("record-checksum")[..]);

        let scene = example();
        let mut batch = Batch::default();
        batch.write("counter/project".to_owned(), Expect::Absent, &3);
        let version = scene.store.commit(batch).unwrap();
        let db = Connection::open(scene.root.path().join("store.db")).unwrap();
        let kept: [u8; 8] = db
            .query_one("SELECT checksum FROM record", [], |row| row.get(0))
            .unwrap();
        assert_eq!(
            kept,
            siteconf::base::digest::record_checksum("counter/project", version, b"3")
        );
    }

    #[test]
    fn contexts_part_the_kinds() {
        let content = bytes("manifest");
        let ids = Kind::ALL.map(|kind| object_id(kind, &content).to_string());
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
        assert_eq!(ids[2], id("manifest"));
        let contexts = block("contexts");
        let mut contexts = contexts.lines();
        let node = blake3::derive_key(contexts.next().unwrap(), &content);
        assert_eq!(hex::encode(node), ids[1]);
        let manifest = blake3::derive_key(contexts.next().unwrap(), &content);
        assert_eq!(hex::encode(manifest), ids[2]);
    }

    #[test]
    fn every_cut_of_an_example_is_refused() {
        for name in ["root", "bin", "inner", "empty"] {
            let whole = bytes(name);
            for length in 0..whole.len() {
                assert!(Node::decode(&whole[..length]).is_err(), "{name} {length}");
            }
        }
        let manifest = bytes("manifest");
        assert!((0..57).all(|length| Manifest::decode(&manifest[..length]).is_err()));
    }

    #[test]
    fn the_examples_of_records_are_read_and_written_as_they_stand() {
        macro_rules! reads_and_writes {
            ($($kind:ty: $name:literal),+ $(,)?) => {
                $(
                    let text = block(concat!("json ", $name));
                    let value: $kind = serde_json::from_str(&text).unwrap();
                    assert_eq!(serde_json::to_string(&value).unwrap(), text, $name);
                )+
            };
        }
        reads_and_writes!(
            ProjectRecord: "project",
            ProjectRecord: "project-with-rule",
            ProjectRecord: "project-moved",
            ProjectRecord: "project-with-rules-for-contents",
            BranchRecord: "branch",
            BranchRecord: "new-branch",
            BranchRecord: "branch-without-last",
            BranchRecord: "branch-moved",
            DeletedRecord<ProjectRecord>: "deleted-project",
            DeletedRecord<BranchRecord>: "deleted-branch",
            SnapshotRecord: "snapshot",
            ClockRecord: "clock",
            SkippedRecord: "clock-skipped",
            AuditRecord: "audit",
            AuditRecord: "audit-role",
            AuditPack: "audit-pack",
            DigestRecord: "digest",
            CommitRecord: "commit",
        );
    }

    #[test]
    fn a_server_key_is_known_again_by_its_proof() {
        let key = blake3::derive_key(block("key-context").trim_end(), &[0; 32]);
        let proof = hex::encode(&blake3::keyed_hash(&key, b"").as_bytes()[..16]);
        let record = format!("{{\"proof\":\"{proof}\"}}");
        assert_eq!(block("json server-key"), record);
        let key = ServerKey::parse(&"0".repeat(64)).unwrap();
        assert_eq!(key.proof(), proof);
    }

    #[test]
    fn a_new_folder_holds_what_the_document_says() {
        let scene = example();
        let format = std::fs::read(scene.root.path().join("FORMAT")).unwrap();
        assert_eq!(format, bytes("format"));
        let large = vec![b'x'; 70_000];
        let blob = BlobId::from_bytes(*blake3::hash(&large).as_bytes());
        let mut staging = scene.store.stage().unwrap();
        staging.write(&large).unwrap();
        staging.publish(blob).unwrap();
        let path: PathBuf = scene.root.path().join(block("blob-path").trim());
        assert_eq!(std::fs::read(path).unwrap(), large);
    }

    #[test]
    fn the_notes_of_the_last_backup_and_collection_are_the_lines_of_the_document() {
        let scene = example();
        let folder = scene.store.data_folder();
        let at = Timestamp::parse("2026-11-21T22:30:00Z").unwrap();
        folder.note_backup(at).unwrap();
        folder.note_collection(at, 4096, 512).unwrap();
        for name in ["last-backup", "last-collection"] {
            let note = std::fs::read_to_string(scene.root.path().join(name)).unwrap();
            assert_eq!(note, block(name) + "\n");
        }
    }

    #[test]
    fn an_outboard_leads_from_its_pieces_to_the_id() {
        let large = vec![b'x'; 700_000];
        let mut hasher = PieceHasher::default();
        hasher.update(&large);
        let (blob, outboard) = hasher.finish();
        assert_eq!(blob.to_string(), id("outboard-blob"));
        assert_eq!(outboard.encode(), bytes("outboard"));

        // As the document says it, without the code.
        let values: Vec<_> = (0..)
            .zip(large.chunks(262_144))
            .map(|(place, piece)| {
                let mut hasher = blake3::Hasher::new();
                hasher.set_input_offset(place * 262_144);
                hasher.update(piece).finalize_non_root()
            })
            .collect();
        assert_eq!(values.concat(), bytes("outboard"));
        let left = merge_subtrees_non_root(&values[0], &values[1], Mode::Hash);
        let root = merge_subtrees_root(&left, &values[2], Mode::Hash);
        assert_eq!(root.to_string(), id("outboard-blob"));

        let scene = example();
        let mut staging = scene.store.stage().unwrap();
        staging.write(&large).unwrap();
        staging.publish(blob).unwrap();
        let mut batch = Batch::default();
        batch.objects.push(NewObject {
            id: blob.into(),
            kind: Kind::Blob,
            size: 700_000,
            sha256: Some(BodyDigests::of(&large).sha256),
            body: NewBody::Published(outboard.encode().into()),
        });
        scene.store.commit(batch).unwrap();
        let db = Connection::open(scene.root.path().join("store.db")).unwrap();
        let row: Vec<u8> = db
            .query_one(
                "SELECT pieces FROM outboard JOIN object USING (seq) WHERE id = ?1",
                [blob.as_bytes()],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(row, bytes("outboard"));
    }

    #[test]
    fn the_database_is_made_by_the_statements_of_the_document() {
        let scene = example();
        let made = Connection::open(scene.root.path().join("store.db")).unwrap();
        let written = Connection::open_in_memory().unwrap();
        written.execute_batch(&block("sql")).unwrap();
        assert_eq!(schema(&made), schema(&written));
    }

    /// Tables, their columns with types, and their indexes.
    fn schema(db: &Connection) -> Vec<(String, String, String, bool, bool)> {
        let mut columns = db
            .prepare(
                "SELECT tables.name, columns.name, columns.type, columns.\"notnull\", columns.pk
                 FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
                 WHERE tables.type = 'table' AND tables.strict ORDER BY 1, columns.cid",
            )
            .unwrap();
        let rows = columns.query_map([], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        });
        let rows: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
        assert!(rows.len() > 8);
        rows
    }

    #[test]
    fn a_row_is_as_the_document_says() {
        let scene = example();
        let digests = BodyDigests::of(&bytes("blob"));
        let mut batch = Batch::default();
        batch.write("counter/project".to_owned(), Expect::Absent, &1);
        batch.write("project/00000001".to_owned(), Expect::Absent, &"x");
        scene.store.commit(batch).unwrap();
        let mut batch = Batch::default();
        batch.delete("project/00000001".to_owned(), Expect::Anything);
        scene.store.commit(batch).unwrap();

        let db = Connection::open(scene.root.path().join("store.db")).unwrap();
        let row = db.query_one(
            "SELECT kind, size, hex(sha256), hex(bytes) FROM object WHERE id = ?1",
            [digests.blob.as_bytes()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        );
        let expected: (u8, u64, String, String) = (
            1,
            7,
            hex::encode_upper(digests.sha256.as_bytes()),
            hex::encode_upper(bytes("blob")),
        );
        assert_eq!(row.unwrap(), expected);
        let record = db.query_one("SELECT version, key, value FROM record", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        });
        let expected: (u64, String, Vec<u8>) = (1, "counter/project".to_owned(), b"1".to_vec());
        assert_eq!(record.unwrap(), expected);
        let tombstone = db.query_one("SELECT version, key FROM tombstone", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        assert_eq!(tombstone.unwrap(), (3_u64, "project/00000001".to_owned()));
    }
}
