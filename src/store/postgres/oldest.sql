SELECT kept::text FROM (
    SELECT backend_xmin AS kept FROM pg_stat_activity
    WHERE datname = current_database() OR backend_type = 'walsender'
    UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL SELECT xmin FROM pg_replication_slots
) all_of_them WHERE kept IS NOT NULL ORDER BY age(kept) DESC LIMIT 1
