DO $$
DECLARE
    owner name;
    other text;
BEGIN
    SELECT pg_get_userbyid(n.nspowner) INTO owner FROM pg_namespace n WHERE n.nspname = 'siteconf';
    FOR other IN
        SELECT format('TABLE %s', c.oid::regclass) FROM pg_class c
        WHERE c.relnamespace = 'siteconf'::regnamespace AND c.relkind = 'r' AND pg_get_userbyid(c.relowner) <> owner
        UNION ALL SELECT format('FUNCTION %s', p.oid::regprocedure) FROM pg_proc p
        WHERE p.pronamespace = 'siteconf'::regnamespace AND pg_get_userbyid(p.proowner) <> owner
    LOOP
        EXECUTE format('ALTER %s OWNER TO %I', other, owner);
    END LOOP;
    EXECUTE format('SET ROLE %I', owner);
END
$$;
