-- Programs of the steps before serve on beside this one, and would do on what steps 9 and 10 have ended. What they call is
-- left without the harm; programs of today call others, or the same, which do as much as before.

-- Their daemons remove at once what no row names: they are never the one that sweeps the bucket.
CREATE OR REPLACE FUNCTION siteconf.claim_sweep_v1() RETURNS bool LANGUAGE sql VOLATILE AS $$
    SELECT false
$$;

-- The bucket is swept once a day, by who gets true.
CREATE FUNCTION siteconf.claim_sweep_v2() RETURNS bool LANGUAGE sql VOLATILE AS $$
    WITH claimed AS (
        UPDATE siteconf.sweep SET at = now() WHERE at < now() - interval '1 day' RETURNING at
    )
    SELECT EXISTS (SELECT FROM claimed)
$$;

-- Their collections would go on at a server that does not know of them.
CREATE OR REPLACE FUNCTION siteconf.sweep_v1(p_ids bytea[], p_spared int,
    OUT objects bigint, OUT bytes bigint, OUT places bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION 'this version of siteconf collects in this database no more; use a newer one'
        USING ERRCODE = 'feature_not_supported';
END
$$;

-- Removes those of some objects that are of an epoch before this one, for a collection that has begun with the other one.
-- Who is about to touch one of them needs it: then it is left. Places go to the trash. A server that does not know of the
-- epoch has taken the place of the one where it began: what was saved since then has touched nothing.
CREATE OR REPLACE FUNCTION siteconf.sweep_v2(p_ids bytea[], p_spared int, p_raised int,
    OUT objects bigint, OUT bytes bigint, OUT places bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_raised > (SELECT g.epoch FROM siteconf.gc g) THEN
        RAISE EXCEPTION 'the epoch % was begun, and is not there', p_raised USING ERRCODE = 'SC001';
    END IF;
    WITH found AS (
        SELECT o.id FROM siteconf.object o WHERE o.id = ANY (p_ids) AND o.epoch < p_spared
        ORDER BY o.id FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM siteconf.object o USING found f WHERE o.id = f.id RETURNING o.size, o.place
    ), trashed AS (
        INSERT INTO siteconf.trash (place) SELECT g.place FROM gone g WHERE g.place IS NOT NULL
        ON CONFLICT (place) DO UPDATE SET since = now()
    )
    SELECT count(*), coalesce(sum(g.size), 0)::bigint, count(g.place) INTO objects, bytes, places FROM gone g;
END
$$;

-- Their daemons would remove old changes beside others, and so out of order.
CREATE OR REPLACE FUNCTION siteconf.prune_v1(p_most int) RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT siteconf.prune_v3(p_most)
$$;
CREATE OR REPLACE FUNCTION siteconf.prune_v2(p_most int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT siteconf.prune_v3(p_most)
$$;
