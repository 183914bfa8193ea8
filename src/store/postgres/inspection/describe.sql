SELECT line FROM (
    SELECT format(E'column %s.%s\t%s%s', t.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' not null' ELSE '' END) AS line
    FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
    WHERE t.relnamespace = 'siteconf'::regnamespace AND t.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format(E'index %s\t%s', n.relname, pg_get_indexdef(i.indexrelid))
    FROM pg_class t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class n ON n.oid = i.indexrelid
    WHERE t.relnamespace = 'siteconf'::regnamespace AND t.relkind = 'r' AND i.indisvalid AND i.indisready
    UNION ALL
    -- How it is called and with whose rights it runs is as good as what it does.
    SELECT format(E'function %s\t%s; %s%s; %s; source %s', p.proname, pg_get_function_identity_arguments(p.oid),
        p.provolatile, CASE WHEN p.prosecdef THEN ', security definer' ELSE '' END, p.proconfig,
        left(encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'), 16))
    FROM pg_proc p WHERE p.pronamespace = 'siteconf'::regnamespace
) described ORDER BY line COLLATE "C"
