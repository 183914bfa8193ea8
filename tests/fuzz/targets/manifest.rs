//! Manifests: only what an encoder writes is taken.

use siteconf::object::manifest::Manifest;

pub(crate) fn hold(input: &[u8]) {
    match Manifest::decode(input) {
        Ok(manifest) => assert_eq!(manifest.encode(), input, "one manifest, two encodings"),
        Err(refused) => assert!(refused.offset <= input.len()),
    }
}
