-- What daemons changed by statements of their own, as functions, and their signs of life.

-- The bucket is swept once a day, by who gets true.
CREATE FUNCTION siteconf.claim_sweep_v1() RETURNS bool LANGUAGE sql VOLATILE AS $$
    WITH claimed AS (
        UPDATE siteconf.sweep SET at = now() WHERE at < now() - interval '1 day' RETURNING at
    )
    SELECT EXISTS (SELECT FROM claimed)
$$;

-- The daemons that are there. One row each, updated once a second: no index on what changes, and room on the
-- page, so that a new version of a row takes the place of an old one without a vacuum.
CREATE TABLE siteconf.daemon (
    id      bytea       PRIMARY KEY,
    host    text        NOT NULL,
    version text        NOT NULL,
    began   timestamptz NOT NULL DEFAULT now(),
    at      timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 20);

CREATE FUNCTION siteconf.beat_v1(p_id bytea, p_host text, p_version text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO siteconf.daemon AS there (id, host, version) VALUES (p_id, p_host, p_version)
    ON CONFLICT (id) DO UPDATE SET at = now();
    -- Those that have ended. Nobody waits for another who does so.
    DELETE FROM siteconf.daemon WHERE id IN (
        SELECT d.id FROM siteconf.daemon d WHERE d.at < now() - interval '1 minute' FOR UPDATE SKIP LOCKED);
$$;
