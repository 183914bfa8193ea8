//! GitLab's objects as this service fills them (contract section 5), used by both APIs.

pub(in crate::http) mod branch;
pub(in crate::http) mod commit;
pub(in crate::http) mod entry;
pub(in crate::http) mod patches;
