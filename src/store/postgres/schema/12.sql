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

-- Removes rows of daemons that have ended, as those are, too, that were last written by a clock that was ahead. Nobody
-- waits for another who does so.
CREATE FUNCTION siteconf.forget_daemons_v1() RETURNS void LANGUAGE sql VOLATILE AS $$
    DELETE FROM siteconf.daemon WHERE id IN (
        SELECT d.id FROM siteconf.daemon d
        WHERE d.at < now() - interval '1 minute' OR d.at > now() + interval '1 minute' FOR UPDATE SKIP LOCKED)
$$;

-- As before, but a time to come, which a clock has left that was ahead, keeps no bucket from being swept, and no place
-- in the trash: it counts from now on.
CREATE OR REPLACE FUNCTION siteconf.claim_sweep_v2() RETURNS bool LANGUAGE sql VOLATILE AS $$
    WITH claimed AS (
        UPDATE siteconf.sweep SET at = now()
        WHERE at < now() - interval '1 day' OR at > now() + interval '1 hour' RETURNING at
    ), doubted AS (
        UPDATE siteconf.trash SET since = now()
        WHERE since > now() + interval '1 hour' AND EXISTS (SELECT FROM claimed)
    )
    SELECT EXISTS (SELECT FROM claimed)
$$;

-- As before, but a pin stands for ten minutes from now on at most, which is what it is renewed for: one that was last
-- renewed by a clock that was ahead spares nothing for longer.
CREATE OR REPLACE FUNCTION siteconf.raise_v1(OUT raised int, OUT spared int)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1936290915, 1);
    DELETE FROM siteconf.pin p WHERE p.until < now();
    UPDATE siteconf.pin p SET until = now() + interval '10 minutes' WHERE p.until > now() + interval '10 minutes';
    UPDATE siteconf.gc g SET epoch = g.epoch + 1 RETURNING g.epoch INTO raised;
    SELECT least(raised, min(p.epoch)) INTO spared FROM siteconf.pin p;
END
$$;
