-- After each step: what changes something runs as the owner of the store, and looks up no name where somebody else
-- could have put one. So a role that may read, and call these functions, needs no right to change a table, and
-- nobody writes beside the lock.
DO $$
DECLARE
    changes regprocedure;
BEGIN
    FOR changes IN
        SELECT oid FROM pg_proc WHERE pronamespace = 'siteconf'::regnamespace AND provolatile = 'v'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', changes);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', changes);
    END LOOP;
END
$$;

-- Who may call the rest, as a daemon, may call what the step has made, whoever let them.
DO $$
DECLARE
    daemon text;
BEGIN
    FOR daemon IN
        SELECT DISTINCT a.grantee::regrole::text FROM pg_proc p, aclexplode(p.proacl) a
        WHERE p.pronamespace = 'siteconf'::regnamespace AND p.provolatile = 'v' AND a.grantee NOT IN (0, p.proowner)
    LOOP
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA siteconf TO %s', daemon);
        EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA siteconf TO %s', daemon);
    END LOOP;
END
$$;
