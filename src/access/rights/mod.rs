//! What a grant opens: permissions, the virtual paths they hold for, and the roles that give them.
//!
//! Everything here is pure: who an account is and where grants are kept is not known.

pub(super) mod grant;
pub(super) mod permission;
pub(super) mod project_rights;
pub(super) mod role;
pub(super) mod service_rights;
pub(super) mod virtual_path;
