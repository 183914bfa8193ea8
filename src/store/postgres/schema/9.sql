-- As prune_v2, but changes are removed by one at a time: of two, the later takes what follows the rows of the earlier, and
-- may be done first. Then changes are missing that are not the oldest, and a check takes their records for damaged.
CREATE FUNCTION siteconf.prune_v3(p_most int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH mine AS MATERIALIZED (
        SELECT pg_try_advisory_xact_lock(1936290915, 3) AS is_free
    ), changes AS (
        DELETE FROM siteconf.change c WHERE c.ctid = ANY (ARRAY(
            SELECT old.ctid FROM siteconf.change old
            WHERE (SELECT m.is_free FROM mine m)
                AND old.version < (SELECT max(last.version) FROM siteconf.change last) - 1000000
            ORDER BY old.version LIMIT p_most))
        RETURNING 1
    ), outcomes AS (
        DELETE FROM siteconf.done d WHERE d.ctid = ANY (ARRAY(
            SELECT old.ctid FROM siteconf.done old WHERE old.at < now() - interval '1 hour'
            ORDER BY old.at LIMIT p_most FOR UPDATE SKIP LOCKED))
        RETURNING 1
    )
    SELECT greatest((SELECT count(*) FROM changes), (SELECT count(*) FROM outcomes))
$$;

-- As sweep_v1, for a collection that has begun with this epoch. A server that does not know of it has taken the place of
-- the one where it began: what was saved since then has touched nothing.
CREATE FUNCTION siteconf.sweep_v2(p_ids bytea[], p_spared int, p_raised int,
    OUT objects bigint, OUT bytes bigint, OUT places bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_raised > (SELECT g.epoch FROM siteconf.gc g) THEN
        RAISE EXCEPTION 'the epoch % was begun, and is not there', p_raised USING ERRCODE = 'SC001';
    END IF;
    SELECT s.objects, s.bytes, s.places INTO objects, bytes, places FROM siteconf.sweep_v1(p_ids, p_spared) s;
END
$$;
