-- Records are found by their last version. While somebody holds an old snapshot (a dump, a session that was left
-- within a transaction) no version of a row that is written again and again can be removed, and whoever looks it
-- up by its key alone meets all of them. From the end of its versions the first is the one that counts, unless the
-- record was deleted.

-- A key has one version at most, for two alone write records: commit_v2, under the lock of all who write, and a copy
-- into a store that nobody has open.
ALTER TABLE siteconf.record DROP CONSTRAINT record_pkey, ADD PRIMARY KEY (key, version);
-- No version takes the place of another on its page any more, so the room of the old ones is given back sooner.
ALTER TABLE siteconf.record RESET (fillfactor);
ALTER TABLE siteconf.record SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The version of a record; no row where there is none.
CREATE FUNCTION siteconf.last_v1(p_key bytea) RETURNS TABLE (version bigint) LANGUAGE sql STABLE AS $$
    SELECT r.version FROM siteconf.record r WHERE r.key = p_key ORDER BY r.version DESC LIMIT 1
$$;

-- The first expectation of each batch that does not hold. No version stands for no record.
CREATE FUNCTION siteconf.conflicts_v2(e_batch int[], e_key bytea[], e_version bigint[])
RETURNS TABLE (batch int, key bytea) LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (e.batch) e.batch, e.key
    FROM unnest(e_batch, e_key, e_version) WITH ORDINALITY e (batch, key, version, n)
    LEFT JOIN siteconf.last_v1(e.key) r ON true
    WHERE r.version IS DISTINCT FROM e.version
    ORDER BY e.batch, e.n
$$;

-- A call of commit_v2 that waits for this step goes on as it began, and would write by the index that is gone. It looks
-- here before: then its caller sends the group again, as where a collection has begun meanwhile.
CREATE OR REPLACE FUNCTION siteconf.conflicts_v1(e_batch int[], e_key bytea[], e_version bigint[])
RETURNS TABLE (batch int, key bytea) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RAISE EXCEPTION 'the schema was brought on meanwhile' USING ERRCODE = 'SC002';
END
$$;

-- As before, by the last version of each record.
CREATE OR REPLACE FUNCTION siteconf.commit_v2(
    p_writer bytea, p_serial bigint, p_again bool, p_seen bigint, p_batches int,
    o_batch int[], o_id bytea[], o_kind smallint[], o_size bigint[], o_sha256 bytea[], o_bytes bytea[],
    o_place text[], o_outboard bytea[],
    r_batch int[], r_id bytea[],
    n_batch int[], n_pin bytea[],
    e_batch int[], e_key bytea[], e_version bigint[],
    w_batch int[], w_key bytea[], w_value bytea[], w_appends bool[],
    OUT before bigint, OUT kinds smallint[], OUT versions bigint[], OUT details bytea[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    mine    int;
    put     bytea[];
    oldest  text := to_char((now() - interval '1 day') AT TIME ZONE 'UTC', 'YYYY-MM-DD');
    failed  record;
    earlier record;
    writes  bool := cardinality(w_batch) > 0;
    locks   bool := cardinality(w_batch) > 0 OR cardinality(e_batch) > 0;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'commit_v2 needs the isolation level read committed';
    END IF;
    kinds := array_fill(0::smallint, ARRAY[p_batches]);
    versions := array_fill(0::bigint, ARRAY[p_batches]);
    details := array_fill(''::bytea, ARRAY[p_batches]);

    -- Where nothing can be done, it is said without the lock and without writing. Not for what may have
    -- been sent before: the earlier call may not have begun, and could find that everything holds again.
    IF NOT p_again AND cardinality(e_batch) > 0 THEN
        FOR failed IN SELECT * FROM siteconf.conflicts_v2(e_batch, e_key, e_version) LOOP
            kinds[failed.batch] := 1;
            details[failed.batch] := failed.key;
        END LOOP;
        IF 0 <> ALL (kinds) THEN
            RETURN;
        END IF;
        kinds := array_fill(0::smallint, ARRAY[p_batches]);
    END IF;

    -- Before the lock, which is held for a shorter time then. In the order of the ids, so that two groups
    -- never wait for each other. What is there is kept from every collection that has not begun yet; of the
    -- epoch already, it is so, and nobody need hold it.
    SELECT g.epoch INTO mine FROM siteconf.gc g;
    IF cardinality(o_id) + cardinality(r_id) > 0 THEN
        UPDATE siteconf.object o SET epoch = mine
        FROM (SELECT x.id FROM siteconf.object x WHERE x.id = ANY (o_id || r_id) AND x.epoch < mine
              ORDER BY x.id FOR NO KEY UPDATE) old
        WHERE o.id = old.id;
    END IF;
    IF cardinality(o_id) > 0 THEN
        WITH new AS (
            INSERT INTO siteconf.object AS there (id, kind, size, sha256, bytes, place, outboard, epoch)
            SELECT DISTINCT ON (o.id) o.id, o.kind, o.size, o.sha256, o.bytes, o.place, o.outboard, mine
            FROM unnest(o_id, o_kind, o_size, o_sha256, o_bytes, o_place, o_outboard)
                o (id, kind, size, sha256, bytes, place, outboard)
            WHERE (o.place IS NULL OR o.place COLLATE "C" >= oldest)
                AND NOT EXISTS (SELECT FROM siteconf.object x WHERE x.id = o.id AND x.epoch >= mine)
            ORDER BY o.id
            -- It has come meanwhile.
            ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch WHERE there.epoch < excluded.epoch
            -- A row that was there has been locked.
            RETURNING there.id, there.xmax = 0 AS is_new
        )
        SELECT array_agg(new.id) FILTER (WHERE new.is_new) INTO put FROM new;
    END IF;

    IF locks THEN
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

    -- Under the lock nobody raises the epoch. One that was raised since has touched nothing for us: what is
    -- there may be removed before we are seen.
    IF locks AND mine <> (SELECT g.epoch FROM siteconf.gc g) THEN
        RAISE EXCEPTION 'a collection has begun meanwhile' USING ERRCODE = 'SC002';
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
    FOR failed IN SELECT * FROM siteconf.conflicts_v2(e_batch, e_key, e_version) LOOP
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

    FOR failed IN
        SELECT n.batch, n.pin FROM unnest(n_batch, n_pin) n (batch, pin)
        WHERE NOT EXISTS (SELECT FROM siteconf.pin p WHERE p.id = n.pin)
    LOOP
        kinds[failed.batch] := 4;
        details[failed.batch] := failed.pin;
    END LOOP;

    WITH chosen AS (
        SELECT w.*, lag(w.value IS NOT NULL) OVER (PARTITION BY w.key, w.appends ORDER BY w.n) AS there
        FROM unnest(w_batch, w_key, w_value, w_appends) WITH ORDINALITY w (batch, key, value, appends, n)
        WHERE kinds[w.batch] = 0
    ), counted AS (
        -- Deleting what is not there is no write.
        SELECT c.*, c.value IS NOT NULL
            OR coalesce(c.there, EXISTS (SELECT FROM siteconf.last_v1(c.key))) AS counts
        FROM chosen c
    ), numbered AS (
        SELECT c.*, before + sum(c.counts::int) OVER (ORDER BY c.n) AS version FROM counted c
    ), named AS MATERIALIZED (
        SELECT n.batch, n.n, n.version, n.value, n.counts,
            CASE WHEN n.appends THEN n.key || lpad(to_hex(n.version), 16, '0')::bytea ELSE n.key END AS key
        FROM numbered n
    ), last AS MATERIALIZED (
        SELECT DISTINCT ON (n.key) n.key, n.version, n.value FROM named n ORDER BY n.key, n.n DESC
    ), old AS MATERIALIZED (
        SELECT l.key, r.version FROM last l, siteconf.last_v1(l.key) r
    ), replaced AS (
        DELETE FROM siteconf.record r USING old o WHERE r.key = o.key AND r.version = o.version
    ), written AS (
        INSERT INTO siteconf.record (key, version, value)
        SELECT l.key, l.version, l.value FROM last l WHERE l.value IS NOT NULL
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
