-- Puts places that no row names into the trash, and gives how many are new there. A database that was restored does not
-- know what was saved since its backup: until what is in the trash goes, a later backup still finds its files.
CREATE FUNCTION siteconf.trash_v1(p_places text[]) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH added AS (
        INSERT INTO siteconf.trash (place)
        SELECT p FROM unnest(p_places) p
        WHERE p <> ALL (ARRAY(SELECT o.place FROM siteconf.object o WHERE o.place = ANY (p_places)))
        ON CONFLICT (place) DO NOTHING
        RETURNING 1
    )
    SELECT count(*) FROM added
$$;
