SELECT line FROM (
    SELECT format('column %s.%s %s%s', t.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' not null' ELSE '' END) AS line
    FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
    WHERE t.relnamespace = 'siteconf'::regnamespace AND t.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('index %s', pg_get_indexdef(i.indexrelid))
    FROM pg_class t JOIN pg_index i ON i.indrelid = t.oid
    WHERE t.relnamespace = 'siteconf'::regnamespace AND t.relkind = 'r' AND i.indisvalid AND i.indisready
    UNION ALL
    SELECT format('function %s of the source %s', p.proname,
        left(encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'), 16))
    FROM pg_proc p WHERE p.pronamespace = 'siteconf'::regnamespace
) described ORDER BY line COLLATE "C"
