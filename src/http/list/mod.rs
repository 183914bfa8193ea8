//! Lists: their pages and links, the rendered ones kept in memory, and those too long for it.

pub(in crate::http) mod links;
pub(in crate::http) mod page_token;
pub(in crate::http) mod pagination;
pub(in crate::http) mod search;
pub(in crate::http) mod stream;
