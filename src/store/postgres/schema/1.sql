-- What the engine over PostgreSQL keeps. Keys and values are bytes, not text or json: a store takes any
-- text for a key and any bytes for a value, the order of bytes is the order of keys, and no setting of the
-- database (encoding, collation) plays a part. To read them: convert_from(key, 'UTF8').

CREATE SCHEMA siteconf;

CREATE TABLE siteconf.format (
    one      bool PRIMARY KEY DEFAULT true CHECK (one),
    format   int  NOT NULL,
    -- Other than that of every other store, so that a daemon does not go on with another database.
    store_id uuid NOT NULL DEFAULT gen_random_uuid()
);

CREATE TABLE siteconf.object (
    id     bytea    PRIMARY KEY CHECK (length(id) = 32),
    kind   smallint NOT NULL,
    size   bigint   NOT NULL,
    sha256 bytea,
    bytes  bytea,
    -- Of a large blob, in place of its bytes: where they lie in the bucket, as in 2026-11-23/<uuid>, and the
    -- hashes of its pieces.
    place    text COLLATE "C",
    outboard bytea,
    CHECK ((bytes IS NULL) <> (place IS NULL))
) WITH (toast_tuple_target = 8160); -- objects of 2 to 8 KB stay in one row
-- Nothing compresses twice, and hashes not at all.
ALTER TABLE siteconf.object ALTER bytes SET STORAGE EXTERNAL, ALTER outboard SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX ON siteconf.object (place) WHERE place IS NOT NULL;

-- When the bucket was last rid of what no row names.
CREATE TABLE siteconf.sweep (
    one bool PRIMARY KEY DEFAULT true CHECK (one),
    at  timestamptz NOT NULL
);
INSERT INTO siteconf.sweep (at) VALUES (now());

CREATE TABLE siteconf.record (
    key     bytea  PRIMARY KEY,
    version bigint NOT NULL,
    value   bytea  NOT NULL
) WITH (fillfactor = 80); -- no index on the version: updates stay on their page

-- Append-only: the order of the writes, and which records they wrote or deleted. The last version is
-- that of its last row. A row that every commit updates would grow while somebody holds an old snapshot.
CREATE TABLE siteconf.change (
    version bigint PRIMARY KEY,
    key     bytea  NOT NULL
);
INSERT INTO siteconf.change (version, key) VALUES (0, '');

-- Append-only: the outcomes of groups, for those whose answer was lost. Of each batch 0 and the version,
-- 1 and the key of the record that was another, 2 and the id of the object that was missing, or 3 and the
-- id of the large blob whose place is too old.
CREATE TABLE siteconf.done (
    writer   bytea,
    serial   bigint,
    at       timestamptz NOT NULL DEFAULT now(),
    kinds    smallint[]  NOT NULL,
    versions bigint[]    NOT NULL,
    details  bytea[]     NOT NULL,
    PRIMARY KEY (writer, serial)
);
CREATE INDEX ON siteconf.done (at);

-- The first expectation of each batch that does not hold. No version stands for no record.
CREATE FUNCTION siteconf.conflicts_v1(e_batch int[], e_key bytea[], e_version bigint[])
RETURNS TABLE (batch int, key bytea) LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (e.batch) e.batch, e.key
    FROM unnest(e_batch, e_key, e_version) WITH ORDINALITY e (batch, key, version, n)
    LEFT JOIN siteconf.record r ON r.key = e.key
    WHERE r.version IS DISTINCT FROM e.version
    ORDER BY e.batch, e.n
$$;

-- Commits a group of batches, numbered from 1. No two of them write the same record, and none expects
-- what another writes. Its statements must stay apart: each sees what was committed before it began, and
-- the ones behind the lock must see all that was committed before the lock was free. That is why versions
-- rise by one, without gaps, in the order in which they become visible: who has read all up to one of them
-- never misses what comes after.
--
-- "again" says that this serial may have been sent before; "seen" is the last version that the caller
-- knows. "before" is the last version before the group, none if it is the outcome of an earlier call.
--
-- A place older than from yesterday is refused. What no row names is removed once it is older than from the
-- day before yesterday, so a whole day lies between the last commit that may name a place and its removal.
CREATE FUNCTION siteconf.commit_v1(
    p_writer bytea, p_serial bigint, p_again bool, p_seen bigint, p_batches int,
    o_batch int[], o_id bytea[], o_kind smallint[], o_size bigint[], o_sha256 bytea[], o_bytes bytea[],
    o_place text[], o_outboard bytea[],
    r_batch int[], r_id bytea[],
    e_batch int[], e_key bytea[], e_version bigint[],
    w_batch int[], w_key bytea[], w_value bytea[], w_appends bool[],
    OUT before bigint, OUT kinds smallint[], OUT versions bigint[], OUT details bytea[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    put     bytea[];
    oldest  text := to_char((now() - interval '1 day') AT TIME ZONE 'UTC', 'YYYY-MM-DD');
    failed  record;
    earlier record;
    writes  bool := cardinality(w_batch) > 0;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'commit_v1 needs the isolation level read committed';
    END IF;
    kinds := array_fill(0::smallint, ARRAY[p_batches]);
    versions := array_fill(0::bigint, ARRAY[p_batches]);
    details := array_fill(''::bytea, ARRAY[p_batches]);

    -- Where nothing can be done, it is said without the lock and without writing. Not for what may have
    -- been sent before: the earlier call may not have begun, and could find that everything holds again.
    IF NOT p_again AND cardinality(e_batch) > 0 THEN
        FOR failed IN SELECT * FROM siteconf.conflicts_v1(e_batch, e_key, e_version) LOOP
            kinds[failed.batch] := 1;
            details[failed.batch] := failed.key;
        END LOOP;
        IF 0 <> ALL (kinds) THEN
            RETURN;
        END IF;
        kinds := array_fill(0::smallint, ARRAY[p_batches]);
    END IF;

    -- Before the lock, which is held for a shorter time then. In the order of the ids, so that two groups
    -- never wait for each other.
    IF cardinality(o_id) > 0 THEN
        WITH new AS (
            INSERT INTO siteconf.object AS there (id, kind, size, sha256, bytes, place, outboard)
            SELECT o.id, o.kind, o.size, o.sha256, o.bytes, o.place, o.outboard
            FROM unnest(o_id, o_kind, o_size, o_sha256, o_bytes, o_place, o_outboard)
                o (id, kind, size, sha256, bytes, place, outboard)
            WHERE o.place IS NULL OR o.place COLLATE "C" >= oldest
            ORDER BY o.id
            ON CONFLICT (id) DO NOTHING
            RETURNING there.id
        )
        SELECT array_agg(new.id) INTO put FROM new;
    END IF;

    IF writes OR cardinality(e_batch) > 0 THEN
        -- The lock of all who write, to the end of the transaction.
        PERFORM pg_advisory_xact_lock(1936290915, 1);
    END IF;

    SELECT max(c.version) INTO before FROM siteconf.change c;
    IF before < p_seen THEN
        RAISE EXCEPTION 'version % was seen, and the last is %', p_seen, before USING ERRCODE = 'SC001';
    END IF;
    IF writes THEN
        -- Even if it was not sent before: the later call may have overtaken this one.
        SELECT d.kinds, d.versions, d.details INTO earlier
        FROM siteconf.done d WHERE d.writer = p_writer AND d.serial = p_serial;
        IF FOUND THEN
            -- What was put now is of the batches that were refused then.
            DELETE FROM siteconf.object o WHERE o.id = ANY (put);
            before := NULL;
            kinds := earlier.kinds;
            versions := earlier.versions;
            details := earlier.details;
            RETURN;
        END IF;
    END IF;

    -- What another batch of the group has put is not there yet.
    FOR failed IN
        SELECT DISTINCT ON (r.batch) r.batch, r.id
        FROM unnest(r_batch, r_id) WITH ORDINALITY r (batch, id, n)
        WHERE r.id = ANY (put) OR NOT EXISTS (SELECT FROM siteconf.object o WHERE o.id = r.id)
        ORDER BY r.batch, r.n
    LOOP
        kinds[failed.batch] := 2;
        details[failed.batch] := failed.id;
    END LOOP;
    FOR failed IN SELECT * FROM siteconf.conflicts_v1(e_batch, e_key, e_version) LOOP
        kinds[failed.batch] := 1;
        details[failed.batch] := failed.key;
    END LOOP;

    FOR failed IN
        SELECT o.batch, o.id FROM unnest(o_batch, o_id, o_place) o (batch, id, place)
        WHERE o.place COLLATE "C" < oldest
    LOOP
        kinds[failed.batch] := 3;
        details[failed.batch] := failed.id;
    END LOOP;

    WITH chosen AS (
        SELECT w.*, lag(w.value IS NOT NULL) OVER (PARTITION BY w.key, w.appends ORDER BY w.n) AS there
        FROM unnest(w_batch, w_key, w_value, w_appends) WITH ORDINALITY w (batch, key, value, appends, n)
        WHERE kinds[w.batch] = 0
    ), counted AS (
        -- Deleting what is not there is no write.
        SELECT c.*, c.value IS NOT NULL
            OR coalesce(c.there, EXISTS (SELECT FROM siteconf.record r WHERE r.key = c.key)) AS counts
        FROM chosen c
    ), numbered AS (
        SELECT c.*, before + sum(c.counts::int) OVER (ORDER BY c.n) AS version FROM counted c
    ), named AS MATERIALIZED (
        SELECT n.batch, n.n, n.version, n.value, n.counts,
            CASE WHEN n.appends THEN n.key || lpad(to_hex(n.version), 16, '0')::bytea ELSE n.key END AS key
        FROM numbered n
    ), last AS MATERIALIZED (
        SELECT DISTINCT ON (n.key) n.key, n.version, n.value FROM named n ORDER BY n.key, n.n DESC
    ), deleted AS (
        DELETE FROM siteconf.record r USING last l WHERE r.key = l.key AND l.value IS NULL
    ), written AS (
        INSERT INTO siteconf.record (key, version, value)
        SELECT l.key, l.version, l.value FROM last l WHERE l.value IS NOT NULL
        ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value
    ), told AS (
        INSERT INTO siteconf.change (version, key)
        SELECT n.version, n.key FROM named n WHERE n.counts ORDER BY n.version
    ), sums AS (
        SELECT n.batch, count(*) FILTER (WHERE n.counts) AS written FROM named n GROUP BY n.batch
    ), ends AS (
        SELECT b, before + sum(coalesce(s.written, 0)) OVER (ORDER BY b) AS version
        FROM generate_series(1, p_batches) b LEFT JOIN sums s ON s.batch = b
    )
    SELECT array_agg(e.version ORDER BY e.b) INTO versions FROM ends e;

    IF 0 <> ANY (kinds) THEN
        DELETE FROM siteconf.object o WHERE o.id IN (
            SELECT unnest(put)
            EXCEPT SELECT a.id FROM unnest(o_batch, o_id) a (batch, id) WHERE kinds[a.batch] = 0);
    END IF;
    IF writes THEN
        INSERT INTO siteconf.done (writer, serial, kinds, versions, details)
        VALUES (p_writer, p_serial, kinds, versions, details);
    END IF;
END
$$;

-- Removes what nobody needs any more, at most so many rows of a kind: the changes before the last
-- million, and outcomes older than an hour.
CREATE FUNCTION siteconf.prune_v1(p_most int) RETURNS void LANGUAGE sql VOLATILE AS $$
    DELETE FROM siteconf.change WHERE version IN (
        SELECT version FROM siteconf.change
        WHERE version < (SELECT max(version) FROM siteconf.change) - 1000000
        ORDER BY version LIMIT p_most);
    DELETE FROM siteconf.done WHERE (writer, serial) IN (
        SELECT writer, serial FROM siteconf.done
        WHERE at < now() - interval '1 hour' ORDER BY at LIMIT p_most);
$$;
