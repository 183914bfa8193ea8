//! Whose a project is: an account's.

use std::sync::Arc;

use super::keys;
use crate::base::clock::Clock;
use crate::repo::Projects;
use crate::store::Store;

/// Opens the projects of a store, each of which belongs to one of its accounts: none comes to who has none.
pub fn projects(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Projects {
    Projects::new(store, clock).with_owners(keys::account)
}
