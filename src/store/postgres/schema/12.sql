-- What a daemon has of the settings that must be the same at all, as JSON: where large files lie, and for how long is
-- kept what each removes by itself. Of a program of an earlier step there is none.
ALTER TABLE siteconf.daemon ADD settings text;

-- As beat_v2, but it removes no rows of others: for that all versions of all rows are read, which stay under an old
-- snapshot. Nobody began later than now; a clock that was ahead has said so.
CREATE FUNCTION siteconf.beat_v3(p_id bytea, p_host text, p_version text, p_refuses text, p_settings text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO siteconf.daemon AS there (id, host, version, refuses, settings)
    VALUES (p_id, p_host, p_version, p_refuses, p_settings)
    ON CONFLICT (id) DO UPDATE SET at = now(), began = least(there.began, now()), refuses = p_refuses
$$;

-- Removes rows of daemons that have ended. Nobody waits for another who does so.
CREATE FUNCTION siteconf.forget_daemons_v1() RETURNS void LANGUAGE sql VOLATILE AS $$
    DELETE FROM siteconf.daemon WHERE id IN (
        SELECT d.id FROM siteconf.daemon d WHERE d.at < now() - interval '1 minute' FOR UPDATE SKIP LOCKED)
$$;
