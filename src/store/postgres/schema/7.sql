-- An outcome that an earlier call of commit_v2 has left may not be at the standby yet, and who only reads it does not
-- wait for that. Whoever is to be told of it has it written once more, and is told when that is kept.
CREATE FUNCTION siteconf.confirm_v1(p_writer bytea, p_serial bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
    UPDATE siteconf.done SET at = at WHERE writer = p_writer AND serial = p_serial
$$;

-- As prune_v1, but it says whether there may be more: how many rows went, of the kind of which most did. It waits for
-- nobody who removes others, and reads no table from one end to the other.
CREATE FUNCTION siteconf.prune_v2(p_most int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH changes AS (
        DELETE FROM siteconf.change c WHERE c.ctid = ANY (ARRAY(
            SELECT old.ctid FROM siteconf.change old
            WHERE old.version < (SELECT max(last.version) FROM siteconf.change last) - 1000000
            ORDER BY old.version LIMIT p_most FOR UPDATE SKIP LOCKED))
        RETURNING 1
    ), outcomes AS (
        DELETE FROM siteconf.done d WHERE d.ctid = ANY (ARRAY(
            SELECT old.ctid FROM siteconf.done old WHERE old.at < now() - interval '1 hour'
            ORDER BY old.at LIMIT p_most FOR UPDATE SKIP LOCKED))
        RETURNING 1
    )
    SELECT greatest((SELECT count(*) FROM changes), (SELECT count(*) FROM outcomes))
$$;
