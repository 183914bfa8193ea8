//! Room on the disk: what stays free of it, what a copy of the log needs, and what is kept for changes that free or
//! protect.

pub(super) mod free;
pub(super) mod reserve;
pub(super) mod to_copy;
