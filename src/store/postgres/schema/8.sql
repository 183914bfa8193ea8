-- Which process wrote a change, as the number that its connection names: by it a daemon tells the changes that it knows
-- from others that took their places after these were lost. Of a program of an earlier step there is none.
ALTER TABLE siteconf.change ADD writer bigint;
ALTER TABLE siteconf.change
    ALTER writer SET DEFAULT nullif(current_setting('siteconf.writer', true), '')::bigint;

-- What a daemon refuses, and why, for `siteconf status`. The row has room on its page, also on a full disk.
ALTER TABLE siteconf.daemon ADD refuses text;

CREATE FUNCTION siteconf.beat_v2(p_id bytea, p_host text, p_version text, p_refuses text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO siteconf.daemon AS there (id, host, version, refuses) VALUES (p_id, p_host, p_version, p_refuses)
    ON CONFLICT (id) DO UPDATE SET at = now(), refuses = p_refuses;
    -- Those that have ended. Nobody waits for another who does so.
    DELETE FROM siteconf.daemon WHERE id IN (
        SELECT d.id FROM siteconf.daemon d WHERE d.at < now() - interval '1 minute' FOR UPDATE SKIP LOCKED);
$$;
