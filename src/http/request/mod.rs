//! What a request says, and which of it is refused before anybody is asked who sent it.

pub(in crate::http) mod base_url;
pub(in crate::http) mod body;
pub(in crate::http) mod client;
pub(in crate::http) mod conditions;
pub(in crate::http) mod context;
pub(in crate::http) mod cookie;
pub(in crate::http) mod cross_site;
pub(in crate::http) mod head_rules;
pub(in crate::http) mod id;
pub(in crate::http) mod json_body;
pub(in crate::http) mod params;
pub(in crate::http) mod path;
pub(in crate::http) mod query;
pub(in crate::http) mod range;
pub(in crate::http) mod upload;
