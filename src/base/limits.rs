//! Every bound of the service in one table, with its unit in its name.

/// Longest path of a file, in bytes.
pub const PATH_BYTES_MAX: usize = 4096;
/// Most segments of a path.
pub const PATH_SEGMENTS_MAX: usize = 64;
/// Longest segment of a path, in bytes: the limit of the file systems a client lays it on.
pub const SEGMENT_BYTES_MAX: usize = 255;
/// Longest branch name, in bytes.
pub const BRANCH_BYTES_MAX: usize = 255;
/// Longest project name, in bytes.
pub const PROJECT_NAME_BYTES_MAX: usize = 100;
/// Longest project type, in bytes.
pub const PROJECT_TYPE_BYTES_MAX: usize = 32;
/// Longest account name, in bytes.
pub const ACCOUNT_NAME_BYTES_MAX: usize = 64;
/// Longest message of a change, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Longest name of a token, in bytes.
pub const TOKEN_NAME_BYTES_MAX: usize = 255;
/// Most projects in a token's allowlist, unless the settings say otherwise.
pub const TOKEN_REPOS_MAX: u64 = 100;
/// Most tokens one account may hold, unless the settings say otherwise.
pub const TOKENS_PER_ACCOUNT_MAX: u64 = 1000;
/// Most projects one account may own, unless the settings say otherwise.
pub const PROJECTS_PER_ACCOUNT_MAX: u64 = 1000;
/// Most branches one project may have, unless the settings say otherwise.
pub const BRANCHES_PER_PROJECT_MAX: u64 = 10_000;
/// Most sessions one account may hold, unless the settings say otherwise; the oldest gives way.
pub const SESSIONS_PER_ACCOUNT_MAX: u64 = 20;
/// Longest `X-Instance-Id`, in bytes.
pub const INSTANCE_ID_BYTES_MAX: usize = 255;
/// Shortest new password, in bytes.
pub const PASSWORD_BYTES_MIN: usize = 12;
/// Guesses that a new password must outlast.
pub const PASSWORD_GUESSES_MIN: u64 = 100_000;
/// Longest password, in bytes.
pub const PASSWORD_BYTES_MAX: usize = 1024;

/// Largest body of one file unless the settings say otherwise, in bytes.
pub const FILE_BYTES_MAX_DEFAULT: u64 = 5 << 30;
/// Blobs above this many bytes are files of their own; below, rows of the database. Inline bytes are
/// written twice (log and checkpoint), a file costs two more syncs; the two cross near here.
pub const INLINE_BYTES_MAX: usize = 64 << 10;
/// Longest JSON body, other than a batch's, unless the settings say otherwise, in bytes.
pub const JSON_BYTES_MAX: u64 = 1 << 20;
/// Longest body of a batch, which is held in memory until it is all there, unless the settings say
/// otherwise, in bytes.
pub const BATCH_BYTES_MAX: u64 = 64 << 20;
/// Most actions of a batch; the settings may say fewer.
pub const BATCH_ACTIONS_MAX: usize = 10_000;
/// Most folders that the paths of a batch name which it saves or moves to: ten for each of its actions. A new one
/// takes some 0.1 ms and 1.6 KB when the batch is saved, while others wait for their saves.
pub const BATCH_FOLDERS_MAX: usize = 100_000;
/// Batches of more bytes than a row of the store holds that are saved at once, of one account one: each takes some
/// tens of MiB meanwhile. Those that are held against rules are among the long requests.
pub const LARGE_BATCHES_AT_ONCE_MAX: u64 = 2;
/// What an opened zip takes in memory for each of its entries, in bytes, beside their contents.
pub const ZIP_ENTRY_BYTES: u64 = 1024;
/// Bytes of a form read until the head of a part has come: those of a request's head, and what the last piece adds.
pub const FORM_HEAD_BYTES_MAX: usize = 128 << 10;
/// Largest file, on either side, of which a text diff is made, in bytes.
pub const TEXT_DIFF_BYTES_MAX: u64 = 1 << 20;
/// Longest time spent on the text diff of one file, in milliseconds; then it is told more coarsely.
pub const TEXT_DIFF_MS_MAX: u64 = 500;
/// States that a list of commits goes past, or a new branch's beginning is looked for in, without a long place.
pub const COMMITS_PASSED_MAX: u64 = 300;
/// Files of the states that it shows, all together, above which it takes such a place: for each one a line is hashed.
pub const COMMITS_FILES_MAX: u64 = 1_000_000;
/// Most files that a comparison of two revisions shows.
pub const COMPARE_FILES_MAX: usize = 1000;
/// Most commits that a comparison of two revisions shows.
pub const COMPARE_COMMITS_MAX: usize = 100;
/// Bytes of text diffs after which a comparison of two revisions shows no more of them.
pub const COMPARE_DIFF_BYTES_MAX: usize = 4 << 20;
/// Longest time a comparison of two revisions spends on text diffs, in milliseconds.
pub const COMPARE_MS_MAX: u64 = 5000;
/// Most files on a page of what differs between two revisions.
pub const DIFF_PAGE_MAX: usize = 1000;
/// Files that differ above which a whole diff is made while it is sent, and not held in memory: a MiB.
pub const DIFF_WHOLE_MAX: usize = 1000;
/// States of either history that a comparison of two revisions follows to where they part.
pub const MERGE_BASE_STATES_MAX: usize = 10_000;
/// Snapshots of a branch, the newest, that are searched for the last change of a file or for a state.
pub const SNAPSHOTS_SEARCHED_MAX: usize = 1000;
/// A search for the last change of a file goes on to a snapshot whose number this divides. Else the answer for a file
/// that did not change in those that are searched would be another one after each save.
pub const LAST_CHANGE_STRIDE: u64 = 1024;
/// Snapshots that a search for a state or a blob through all branches of a project looks at; after these, only heads.
pub const PROJECT_SNAPSHOTS_SEARCHED_MAX: usize = 100_000;
/// Longest search for a commit id or the commits of a path, or walk that computes ids, in seconds; the next goes on.
pub const COMMIT_SEARCH_S_MAX: i64 = 10;
/// Changes from before the asked time that are looked through for one that led to what a younger branch begins with.
pub const BEGINNINGS_SEARCHED_MAX: usize = 1_000;
/// Nodes of trees that a search for a blob by its git id looks at.
pub const BLOB_SEARCH_NODES_MAX: usize = 250_000;
/// Most entries on a page of a list.
pub const PAGE_ENTRIES_MAX: u64 = 100;
/// Entries on a page of a list unless the client asks for another number.
pub const PAGE_ENTRIES_USUAL: u64 = 20;
/// Most entries on a page of a tree of the Admin API.
pub const TREE_PAGE_MAX: usize = 1000;
/// Most of them with the last change of each file.
pub const LAST_CHANGE_PAGE_MAX: usize = 100;
/// Entries of a tree that a search looks at for one page.
pub const TREE_SEARCHED_MAX: usize = 250_000;
/// Longest text that is searched for in the paths of a tree, in bytes.
pub const TREE_SEARCH_BYTES_MAX: usize = 255;
/// Entries of a listing above which it is made while it is sent, and not held in memory: a few MiB.
pub const LISTED_ENTRIES_WHOLE_MAX: u64 = 10_000;
/// Most rules that a project has for its contents.
pub const RULES_MAX: usize = 50;
/// Most patterns of such a rule.
pub const RULE_PATTERNS_MAX: usize = 20;
/// Longest pattern of a rule, in bytes.
pub const RULE_PATTERN_BYTES_MAX: usize = 255;
/// Largest file that a rule can hold against a format, in bytes: it is read into memory, and text in
/// another encoding takes up to three times as much.
pub const CHECKED_BYTES_MAX: u64 = 8 << 20;
/// Largest file that a rule can hold against a schema, in bytes: as values it takes some twenty times as
/// much memory.
pub const SCHEMA_CHECKED_BYTES_MAX: u64 = 1 << 20;
/// Largest schema, in bytes.
pub const SCHEMA_BYTES_MAX: usize = 256 << 10;
/// Most schemas within a schema.
pub const SCHEMA_PARTS_MAX: usize = 10_000;
/// Most of them that one leads to for the same value, one behind the other.
pub const SCHEMA_CHAIN_MAX: usize = 64;
/// Most steps that a schema takes for a value without looking into it.
pub const SCHEMA_PATHS_MAX: f64 = 1e6;
/// How deep a file may be nested that is held against a schema.
pub const SCHEMA_DEPTH_MAX: usize = 100;
/// Most steps that holding a schema against a file may take, as they are told before: a few seconds.
pub const SCHEMA_STEPS_MAX: f64 = 5e7;
/// Most memory for finding what in a file a schema does not allow, in bytes, as it is told before.
pub const SCHEMA_PLACE_BYTES_MAX: f64 = (128 << 20) as f64;
/// Most steps that all checks of a change may take together, as they are told before: some twenty seconds. A byte
/// that is read counts as a step.
pub const CHECKS_STEPS_MAX: f64 = 3e8;
/// What each check counts beside, in steps.
pub const CHECK_STEPS: f64 = 500.0;
/// Longest time for all checks of a change, without reading what they check, in seconds.
pub const CHECKS_S_MAX: i64 = 20;
/// How deep a YAML file may be nested: as deep as its parser lets brackets be, and a level more. In lines it would let
/// nesting grow, at some 150 bytes for each two of the file.
pub const YAML_DEPTH_MAX: usize = 256;
/// How often the parser of a YAML file may look ahead before it tells of what it began with: three times for a number
/// and its comma in a list in brackets, all of which it reads first. It keeps some 45 MB meanwhile.
pub const YAML_PARTS_AHEAD_MAX: usize = 250_000;
/// Longest directive of a YAML file, in bytes: what it stands for is copied wherever it is used.
pub const YAML_DIRECTIVE_BYTES_MAX: usize = 1024;
/// Most regular expressions in a schema, each counted as often as it is there.
pub const SCHEMA_PATTERNS_MAX: usize = 1000;
/// Longest of them, in bytes: each may name a class of some thousand characters, which is read into some KiB.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 8 << 10;
/// Most memory of the programs that are made of them, in bytes; what else is made of them, and is kept for
/// matching, is a few times as much.
pub const SCHEMA_PATTERNS_BYTES_MAX: usize = 8 << 20;
/// Most memory for matching one of them faster, in bytes.
pub const SCHEMA_DFA_BYTES_MAX: usize = 256 << 10;
/// Stack for holding a schema against a file, in bytes: as deep as the file and the chains in the schema.
pub const SCHEMA_STACK_BYTES: usize = 64 << 20;
/// Files that break rules and are told in one refusal; others are counted.
pub const BROKEN_TOLD_MAX: usize = 10;
/// Most files on a page of those that break rules.
pub const BROKEN_PAGE_MAX: usize = 100;
/// Longest time that such a page is searched for, in milliseconds.
pub const BROKEN_SEARCH_MS_MAX: u64 = 2000;
/// Memory for schemas that are kept, in bytes.
pub const SCHEMA_CACHE_BYTES: u64 = 32 << 20;
/// Projects whose rules are kept in memory, ready to be used.
pub const RULES_CACHE_ENTRIES: usize = 256;
/// Longest expression that filters branches, in bytes.
pub const REGEX_BYTES_MAX: usize = 1024;
/// Longest time that the names of a project's branches are held against one, in milliseconds.
pub const BRANCHES_FILTER_MS_MAX: u64 = 1000;
/// Largest program that is made of such an expression, or of one in a schema, in bytes.
pub const REGEX_PROGRAM_BYTES_MAX: usize = 1 << 20;
/// Largest sum of the files of an archive unless the settings say otherwise, in bytes.
pub const ARCHIVE_BYTES_MAX_DEFAULT: u64 = 10 << 30;
/// JSON answers below this many bytes are not compressed: they fit a packet as they are.
pub const COMPRESS_BYTES_MIN: usize = 1024;
/// Most entries on a page of the audit log, and how many a page has unless the client asks for another number.
pub const AUDIT_PAGE_MAX: usize = 100;
/// Records of the audit log that are looked at for one page; a pack that is passed over counts as one.
pub const AUDIT_SEARCHED_MAX: usize = 20_000;
/// Packs of the audit log in a row, older than what is asked for, behind which a page looks no further.
pub const AUDIT_OLD_PACKS_MAX: usize = 16;
/// Records of the audit log that are read, removed or packed together at once.
pub const AUDIT_CHUNK: usize = 1000;
/// Records of the audit log, the newest, that are never packed; with [`AUDIT_CHUNK`] more the oldest are.
pub const AUDIT_LOOSE_MIN: usize = 1000;
/// Longest text of packed records of the audit log before it is deflated, in bytes.
pub const AUDIT_PACK_BYTES_MAX: usize = 4 << 20;
/// Refusals of a kind that the audit log tells of in a minute; of each account that is known a quarter of it, and a
/// tenth of a day's. The next one counts the others.
pub const REFUSALS_AUDITED_MINUTE_MAX: i64 = 20;
/// And in a day: most refusals need no account, and somebody hostile has them without end.
pub const REFUSALS_AUDITED_DAY_MAX: i64 = 1000;
/// Longest text of a record of the audit log that says more than names, such as what a token covers, in bytes.
pub const AUDIT_DETAIL_BYTES_MAX: usize = 256;
/// Most files and folders below the folders that one batch moves to longer paths, which are all checked.
pub const MOVED_ENTRIES_MAX: usize = 1_000_000;
/// Most bytes of nodes that the moves of folders in one batch may make.
pub const MOVED_NODES_BYTES_MAX: usize = 16 << 20;
/// Most files in a branch whose commit id is told with each change: that of a larger one takes longer than the change.
pub const TOLD_COMMIT_FILES_MAX: u64 = 10_000;
/// Most snapshots on a page of the history.
pub const HISTORY_PAGE_MAX: usize = 100;
/// Snapshots of a branch above which its whole history is made while it is sent, and not held in memory.
pub const HISTORY_WHOLE_MAX: u64 = 200;
/// Snapshots that are looked at for one page of the history of a path.
pub const HISTORY_SEARCHED_MAX: u64 = 100_000;
/// Longest time that such a page is searched, in milliseconds.
pub const HISTORY_SEARCH_MS_MAX: u64 = 6;
/// Longest time that the first page is searched for its first change, in milliseconds.
pub const HISTORY_FIRST_MS_MAX: u64 = 40;
/// Most files that are looked at to count what one change of a branch changed. What was added or removed
/// with its folder counts without being looked at.
pub const CHANGES_COUNTED_MAX: u64 = 10_000;
/// Longest time that a page of the history spends on such counts, in milliseconds.
pub const CHANGES_COUNTED_MS_MAX: u64 = 200;

/// Objects of a large change after which they are committed ahead of it.
pub const SPILL_OBJECTS: usize = 1000;
/// Bytes of them after which they are.
pub const SPILL_BYTES: usize = 8 << 20;
/// Files of large blobs among them after which they are: each is open until it is committed.
pub const SPILL_FILES: usize = 64;
/// Entries of one directory after which a directory builder writes its nodes.
pub const BUILDER_ENTRIES_MAX: usize = 1000;
/// Most files and folders that an import reads behind symbolic links to folders, each counted as often as
/// it is reached: links that lead to each other double what there is with each step.
pub const LINKED_ENTRIES_MAX: u64 = 1_000_000;
/// Most files that may have changed in a branch between the preparation of an import and its commit;
/// after more the import is prepared once more.
pub const REBASED_FILES_MAX: usize = 10_000;
/// Most attempts at a change when each commit finds that another has changed a record of it meanwhile;
/// then the caller is asked to come back.
pub const COMMIT_ATTEMPTS_MAX: u32 = 2_000;
/// How long what is deleted can be restored, in days, unless a setting says so.
pub const KEEP_DELETED_DAYS_DEFAULT: u64 = 30;
/// Most records of deleted projects and branches that are removed, or marked, with one commit: who saves waits for it.
pub const FORGOTTEN_RECORDS_PER_COMMIT: usize = 100;
/// Most records of deleted projects and branches that are read at once.
pub const DELETED_READ_AT_ONCE: usize = 1000;
/// Most saves of one branch that share a commit.
pub const SAVES_PER_COMMIT_MAX: usize = 64;
/// Most batches that share a transaction and its sync.
pub const BATCHES_PER_TRANSACTION_MAX: usize = 256;
/// Most batches waiting for the writer; above it the caller is told to come back.
pub const BATCHES_WAITING_MAX: usize = 1024;
/// Most bytes of objects and records that share a call of the database over the network, beyond its first batch.
pub const GROUP_BYTES_MAX: usize = 16 << 20;
/// Frames in the WAL above which it must start again, for which saves wait some 30 ms: 192 MiB, so that
/// this happens to fewer than one save in a hundred, and a start after a kill reads it in 0.2 s.
pub const WAL_FRAMES_MAX: u64 = 49_152;
/// Frames in the WAL from which on somebody must hold it, which is told in the log of the service: 768 MiB.
pub const WAL_FRAMES_HELD: u64 = 4 * WAL_FRAMES_MAX;
/// Frames by which the WAL grows before the helper checkpoints beside the writer: 16 MiB.
pub const WAL_FRAMES_IDLE_MAX: u64 = 4096;
/// Objects whose ids a process holds in memory before they are entered into the index: the more, the
/// fewer pages of it each costs; a start reads their ids.
pub const OBJECTS_UNINDEXED: usize = 65_536;
/// Snapshots that pruning removes with one commit.
pub const SNAPSHOTS_PRUNED_PER_COMMIT: usize = 100;
/// Highest number of an old snapshot that is moved in: keys of records compare as their numbers do up to four
/// times as many, so a branch can go on from there.
pub const MIGRATED_SNAPSHOT_NUMBER_MAX: u64 = 999_999_999;
/// Old snapshots that moving a branch in writes with one commit.
pub const SNAPSHOTS_MIGRATED_PER_COMMIT: usize = 1000;
/// Objects whose mark a collection remembers by their ids, for 8 MiB.
pub const MARKS_REMEMBERED: usize = 1 << 18;
/// Most connections to the database that read at once; a read of what the system has in memory takes microseconds.
pub const READERS_AT_ONCE_MAX: usize = 32;
/// Most requests of the Read API that look something up at once, and most that take longer: as many connections
/// read the database of a folder. More would take memory and be no faster.
pub const READ_THREADS_MAX: u64 = READERS_AT_ONCE_MAX as u64;
/// Most sessions that are looked up at once of those that are shown for the first time.
pub const FIRST_LOOKS_AT_ONCE_MAX: usize = 4;
/// So many sessions are remembered to have counted.
pub const SESSIONS_SEEN_MAX: usize = 10_000;
/// Most reads that go on waiting for a database which answers none: half of those that may look something up, so
/// that who needs nothing of it finds a place.
pub const READS_WAITING_MAX: usize = READERS_AT_ONCE_MAX / 2;
/// Connections to the database that stay open for the next reader; each has a page cache of 2 MiB.
pub const READERS_IDLE_MAX: usize = 16;
/// Room on the disk that is kept for changes that free or protect, in bytes, beside what the database grows by when
/// its log is copied: several hundred of them, and as many more as the log then finds room in its own blocks.
pub const RESERVE_BYTES: u64 = 8 << 20;
/// What of it stays for the copy of the log that such changes have made longer.
pub const RESERVE_TO_COPY_BYTES: u64 = 4 << 20;
/// Writes back from the last whose tombstones are kept, some 40 bytes each. The last one keeps its number
/// from being given again; the others tell a restore what was deleted since an earlier backup, where rows
/// could not be read any more and were taken from that one.
pub const TOMBSTONES_KEPT: u64 = 10_000;

/// Memory for single records, in bytes: some 40,000 clients, each with its token.
pub const RECORD_CACHE_BYTES: u64 = 48 << 20;
/// Memory for folders of records, in bytes.
pub const FOLDER_CACHE_BYTES: u64 = 16 << 20;
/// Small writes that wait to be bundled; more are left for a later request.
pub const BACKGROUND_WRITES_MAX: usize = 16_384;
/// Folders of records whose state is known, entries of some hundred bytes.
pub const FOLDER_STATES_KEPT: usize = 16_384;
/// Most records written by another process that are dropped from memory one by one, and told to those who
/// watch them; of more all are. As many as a folder has [tombstones](TOMBSTONES_KEPT) of.
pub const EXTERNAL_KEYS_MAX: usize = 10_000;
/// Changes of other daemons whose keys are kept, some hundred bytes each; who asks for older ones is told
/// that all may have changed.
pub const EXTERNAL_CHANGES_KEPT: usize = EXTERNAL_KEYS_MAX;
/// Most changes that are read from the database at once.
pub const CHANGES_READ_MAX: usize = 10_000;
/// How far the clock of a daemon's machine may be from the database's until the log is told, in milliseconds.
pub const CLOCK_SKEW_TOLD_MS: u64 = 2_000;
/// The same until the daemon says that it is not ready.
pub const CLOCK_SKEW_MAX_MS: u64 = 30_000;
/// Memory for decoded nodes, in bytes.
pub const NODE_CACHE_BYTES: u64 = 48 << 20;
/// Most nodes that are read at once: a few MiB.
pub const NODES_READ_AHEAD_MAX: usize = 256;
/// Decoded manifests kept in memory, entries of some hundred bytes.
pub const MANIFEST_CACHE_ENTRIES: usize = 4096;
/// Memory for small blobs, in bytes.
pub const BLOB_CACHE_BYTES: u64 = 32 << 20;
/// Memory for the hashes of the pieces of large blobs, in bytes: those of 64 GiB.
pub const OUTBOARD_CACHE_BYTES: u64 = 8 << 20;
/// Memory for pieces of large blobs, in bytes: a file that was just saved is what all clients fetch next.
pub const PIECE_CACHE_BYTES: u64 = 16 << 20;
/// Most pieces of large blobs that are read, verified and made into what is sent at once.
pub const PIECES_READ_AT_ONCE_MAX: usize = 16;
/// Buffers of pieces that are kept for the next one: 4 MiB.
pub const PIECE_BUFFERS_KEPT: usize = 16;
/// One of so many parts of what all who ask share is kept for people who are logged in.
pub const KEPT_FOR_SESSIONS_PART: u64 = 4;
/// All tokens of one account take one of so many parts of it together at most.
pub const TOKENS_OF_ACCOUNT_PART: u64 = 2;
/// Bytes of the parameters of a list, which each link to another page of it repeats: a path of the longest, and more.
pub const LINKED_QUERY_BYTES_MAX: usize = 6 << 10;
/// Bytes of a part of a long list after which no entry is added to it.
pub const LIST_PART_BYTES: usize = 256 << 10;
/// The same of the folders of one folder: for each part all of them are read.
pub const LIST_PART_OF_FOLDERS_BYTES: usize = 1 << 20;
/// Bytes of a list of branches, as it is sent, above which it is made meanwhile and not held: some thousand of them.
pub const BRANCHES_WHOLE_BYTES_MAX: usize = 4 << 20;
/// Memory for rendered answers, in bytes.
pub const RENDERED_BYTES: u64 = 32 << 20;
/// Bytes of a whole answer from which on it is counted while it is in memory: the system takes a shorter one.
pub const ANSWER_BYTES_COUNTED_MIN: u64 = UNSENT_BYTES_MAX as u64;
/// So many bytes of one are counted at most: who has no other always gets it.
pub const ANSWER_BYTES_COUNTED_MAX: u64 = 16 << 20;
/// Most bytes of such answers in memory, those of the rendered ones that are kept among them.
pub const ANSWERS_BYTES_MAX: u64 = RENDERED_BYTES + (96 << 20);
/// Of these, most that were made for one token, or for one account that is logged in: all that are kept may be.
pub const ANSWERS_BYTES_CREDENTIAL_MAX: u64 = RENDERED_BYTES + ANSWER_BYTES_COUNTED_MAX;
/// By what an answer takes, in bytes, the table is laid out: in four parts, each with room for the longest whole list.
pub const RENDERED_USUAL_BYTES: u64 = 256 << 10;
/// Memory for the last changes of files, and as much for which steps of branches touched paths, in bytes.
pub const LAST_CHANGES_BYTES: u64 = 8 << 20;
/// Places in a branch's history that are kept of those where a path was changed, half of them of one search: 240 KiB.
pub const PATH_PLACES_KEPT_MAX: usize = 30_720;
/// Memory for the paths and states of branches' histories, in bytes: some 60 a snapshot.
pub const HISTORY_STEPS_BYTES: u64 = 16 << 20;
/// Counts of the files that changes of branches changed, and as many of lines, in memory, some hundred bytes each.
pub const CHANGE_COUNTS_ENTRIES: usize = 32_768;
/// Memory for states of the hash from which digests go on, in bytes.
pub const DIGEST_STATES_BYTES: u64 = 8 << 20;
/// Ids of commits and blobs that were searched for in vain and are remembered, entries of some hundred bytes.
pub const ABSENT_IDS_KEPT: usize = 4096;
/// Branches of which memory keeps numbers, entries of some ten bytes each: of the oldest snapshot after a pruning, how
/// many snapshots came from an older system, and of those whose commit ids searches have entered in the index.
pub const BRANCH_NUMBERS_KEPT: usize = 16_384;
/// Branch digests and git tree ids kept in memory, entries each.
pub const DIGEST_CACHE_ENTRIES: usize = 65_536;

/// Longest request head, in bytes: request line and headers.
pub const REQUEST_HEAD_BYTES_MAX: usize = 64 << 10;
/// Longest request target, in bytes: a path of 4,096 bytes, each percent-encoded, and a query.
pub const REQUEST_TARGET_BYTES_MAX: usize = 32 << 10;
/// Most header lines of a request.
pub const HEADER_LINES_MAX: usize = 64;
/// Longest wait for a request's head, and for the next request of a connection, where metrics are shown, in seconds.
pub const HEAD_WAIT_S_MAX: u64 = 20;
/// Longest time for the handshake of a TLS connection, unless the settings say otherwise, in seconds.
pub const HANDSHAKE_S_MAX: u64 = 10;
/// Longest wait for a client to take the next bytes of an answer, unless the settings say otherwise, in seconds.
pub const WRITE_WAIT_S_MAX: u64 = 30;
/// Most requests that may hold a thread at once, for a change or for an answer that is not in memory;
/// more wait without one, unless the settings say otherwise. Half of what the runtime has: a short answer
/// that reads the disk takes a thread, too.
pub const BLOCKING_AT_ONCE_MAX: u64 = 256;
/// Most long lists that are made at once, each as a whole in memory: a list of all that one account may have takes some
/// tens of MiB meanwhile.
pub const LONG_LISTS_AT_ONCE_MAX: u64 = 4;
/// How long one more waits for a place, in seconds: it has a thread meanwhile.
pub const LONG_LIST_WAIT_S_MAX: u64 = 5;
/// Bytes of a list, as they are told before it is made, up to which it is none of these.
pub const SHORT_LIST_BYTES_MAX: usize = 512 << 10;
/// Least bytes a second that a client takes of an answer which keeps its place among the long requests until it is
/// sent, where another request finds none.
pub const LONG_ANSWER_BYTES_S_MIN: u64 = 8 << 10;
/// Shards of the semaphores by which requests wait for threads: who asks waits in one of them.
pub const FAIR_SHARDS: usize = 64;
/// Who asks has so many quarters of the threads at most. Not fewer: a company may have one account for all its clients.
pub const FAIR_SHARD_QUARTERS: u64 = 3;
/// Threads that the runtime has for work that blocks.
pub const BLOCKING_THREADS: usize = 512;
/// How long one of them that has nothing to do stays, in milliseconds. A burst starts hundreds, and each that is woken
/// keeps memory of its own; the one that has waited longest is woken next, so that with a longer time all of them
/// would stay.
pub const BLOCKING_THREAD_IDLE_MS: u64 = 50;
/// Longest wait of a request for one of these, unless the settings say otherwise, in seconds.
pub const THREAD_WAIT_S_MAX: u64 = 30;
/// Longest time for a body that comes without end, unless the settings say otherwise, in seconds.
pub const UPLOAD_S_MAX: u64 = 3600;
/// Most requests of a connection before it is closed, unless the settings say otherwise.
pub const REQUESTS_PER_CONNECTION_MAX: u64 = 10_000;
/// Room on the file system of the store below which the service is not ready, unless the settings say
/// otherwise, in bytes: so much above [`DISK_FREE_MIN_DEFAULT`] that somebody can act before saves are
/// refused.
pub const DISK_LOW_BYTES_DEFAULT: u64 = 512 << 20;
/// Room on the file system of the store below which what adds content is refused, unless the settings say
/// otherwise, in bytes.
pub const DISK_FREE_MIN_DEFAULT: u64 = 256 << 20;
/// Most connections at once to the listener of the metrics.
pub const METRICS_CONNECTIONS_MAX: usize = 32;
/// Longest wait for a change, in seconds.
pub const WAIT_S_MAX: u64 = 60;
/// Longest life of a stream of events, in seconds: then the client comes again.
pub const EVENTS_S_MAX: u64 = 600;
/// Longest time in which a stream of events says nothing, and in which whoever lost the right to it keeps it,
/// in seconds. Many proxies close what says nothing for a minute.
pub const EVENTS_QUIET_S_MAX: u64 = 50;
/// Shortest time between two events of a stream, in milliseconds: what happens faster is told together.
pub const EVENTS_PAUSE_MS: u64 = 100;
/// Bytes of an event after which nothing is added to it: what is left is told by the next one, when this one is taken.
pub const EVENT_BYTES_MAX: usize = 64 << 10;
/// Requests that wait leave one of so many parts of the connections to others.
pub const WAITING_LEAVE_CONNECTIONS_PART: u64 = 10;
/// One of so many parts of the requests that may wait is kept for people who are logged in.
pub const WAITING_KEPT_FOR_SESSIONS_PART: u64 = 8;
/// All tokens of one account leave one of so many parts of the requests that may wait to others.
pub const WAITING_LEFT_BY_ACCOUNT_PART: u64 = 4;
/// Requests that wait for the same and are told of a change at once, before others have their turn.
pub const WOKEN_AT_ONCE: usize = 64;
/// Longest id of a proxy that the log shows, in bytes.
pub const PROXY_REQUEST_ID_BYTES_MAX: usize = 128;
/// Most addresses of which the log is told that they tell of clients and are not believed, each once.
pub const UNKNOWN_PROXIES_TOLD_MAX: usize = 16;
/// Most refused connections that are waited for, so that the client sees why.
pub const REFUSED_CONNECTIONS_MAX: usize = 64;
/// Memory that a body takes until so many bytes of it have come; from then on it takes what it announces.
pub const SLOW_BODY_BYTES: u64 = 512;
/// Longest time for a body that is held in memory until it is all there, in seconds: a batch of 64 MiB at 112 KiB a
/// second.
pub const BODY_IN_MEMORY_S_MAX: u64 = 600;
/// One of so many parts of the memory for bodies is kept for accounts that take little of it.
pub const BODIES_KEPT_FOR_LITTLE_PART: u64 = 4;
/// Of that, an account has one of so many parts of what it may have in all: 4 MiB, two large files.
pub const BODIES_LITTLE_OF_ACCOUNT_PART: u64 = 16;
/// Bytes of a refused body that are read and dropped so that the client sees the answer.
pub const REFUSED_BODY_BYTES_MAX: usize = 256 << 10;
/// One of so many parts of the places where logins wait is kept for accounts that have logged in from where they come.
pub const LOGINS_KEPT_FOR_KNOWN_PART: u64 = 4;
/// A /48 of IPv6, in which there are 65,536 clients, may fail so many times as often as one of them.
pub const FAILURES_SITE_FACTOR: u64 = 10;
/// Clients that failed last and are remembered, and those that logged in last.
pub const FAILED_CLIENTS_KEPT: usize = 16_384;
/// Bytes of a large blob read at once.
pub const READ_CHUNK_BYTES: usize = 256 << 10;
/// Most bytes of large files that are read and not taken by their clients yet.
pub const PIECES_BYTES_MAX: u64 = 64 << 20;
/// Of these, most for one token, or for one account that is logged in.
pub const PIECES_BYTES_CREDENTIAL_MAX: u64 = 16 << 20;
/// Bytes of a connection over TCP that the system keeps unsent, about: more stays with the service until the client
/// has taken some. What was sent and is on its way is not counted.
pub const UNSENT_BYTES_MAX: u32 = 64 << 10;
/// Bytes of a large file that are read at once for who has no share of these: the system takes them once it has room.
pub const UNSHARED_PIECE_BYTES: usize = 16 << 10;
/// Bytes of a body on its way in that are hashed and written at once.
pub const BLOCK_BYTES: usize = 1 << 20;
/// Most blocks of one body in memory at once: 8 MiB. Only a body that is hashed on threads comes to
/// more than two.
pub const BLOCKS_PER_UPLOAD_MAX: usize = 8;
/// Bytes of a part in which a large body goes into a bucket, in memory until it has gone. A smaller one goes whole.
pub const UPLOAD_PART_BYTES: usize = 8 << 20;
/// Most parts of one body in memory at once: 16 MiB.
pub const UPLOAD_PARTS_OF_ONE_MAX: usize = 2;
/// Most bytes of the parts of all bodies in memory at once. Whoever begins a part waits for as many as it may have.
pub const UPLOAD_PARTS_BYTES_MAX: usize = 128 << 20;
/// How often bytes in a bucket are asked for that are not what they should be, or not there.
pub const BUCKET_READS_MAX: usize = 4;
/// Longest time for which an answer that has begun waits for a bucket that does not answer, in seconds.
pub const BUCKET_WAIT_S_MAX: u64 = 15;
/// Places in a bucket that are looked up at once when it is swept.
pub const PLACES_SWEPT_AT_ONCE: usize = 1000;
/// Most bodies that are hashed on threads of their own at once; the callers hash any others themselves.
pub const HASH_SLOTS: usize = 8;
/// From so many bytes on, threads of its own cost a body less than the hashing that they take over.
pub const HASH_THREADS_BYTES_MIN: u64 = 512 << 10;
