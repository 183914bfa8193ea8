//! Stores over another, of which a test changes a part.

/// The methods of [`siteconf::store::Store`] that a store over `self.store` passes on as they are: all
/// that must be there but `commit` and `stage`.
macro_rules! forward_reads {
    () => {
        crate::forwarded::forward_all_but_records!();

        fn record(
            &self,
            key: &str,
        ) -> siteconf::store::Result<Option<std::sync::Arc<siteconf::store::Record>>> {
            self.store.record(key)
        }
        fn scan(
            &self,
            scan: siteconf::store::Scan<'_>,
        ) -> siteconf::store::Result<Vec<std::sync::Arc<siteconf::store::Record>>> {
            self.store.scan(scan)
        }
        fn external_writes(&self) -> siteconf::store::Result<u64> {
            self.store.external_writes()
        }
        fn external_writes_seen(&self, waits: bool) -> siteconf::store::Result<u64> {
            self.store.external_writes_seen(waits)
        }
    };
}
pub(crate) use forward_reads;

/// Those of them that tell nothing of records.
macro_rules! forward_all_but_records {
    () => {
        fn object(
            &self,
            id: siteconf::base::id::ObjectId,
        ) -> siteconf::store::Result<Option<siteconf::store::StoredObject>> {
            self.store.object(id)
        }
        fn ids_with_prefix(
            &self,
            prefix: &[u8],
            limit: usize,
        ) -> siteconf::store::Result<Vec<siteconf::base::id::ObjectId>> {
            self.store.ids_with_prefix(prefix, limit)
        }
        fn last_version(&self) -> siteconf::store::Result<siteconf::store::Version> {
            self.store.last_version()
        }
        fn writes(&self) -> siteconf::store::Writes {
            self.store.writes()
        }
    };
}
pub(crate) use forward_all_but_records;
