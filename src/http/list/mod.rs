//! Lists: their pages and links, what is searched in them, those of branches, and those too long for memory.

pub(in crate::http) mod branches;
pub(in crate::http) mod links;
pub(in crate::http) mod page_token;
pub(in crate::http) mod pagination;
pub(in crate::http) mod search;
pub(in crate::http) mod stream;
