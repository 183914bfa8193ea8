//! The files of the page, as the build script bundled them into the binary.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::base::may_block;
use crate::http::request::conditions::ETag;

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The document, in which this stands for the address of the assets.
const ASSETS_PLACE: &str = "{assets}";
const DOCUMENT: &str = "index.html";
const LICENCES: &str = "licences.txt";

/// What is shown where the build left the page out.
const NOTICE: &str = include_str!("notice.html");

static EMBEDDED: LazyLock<Arc<Page>> = LazyLock::new(|| {
    let files = FILES.iter();
    Arc::new(Page::of(files.map(|(name, bytes)| {
        ((*name).to_owned(), Bytes::from_static(bytes))
    })))
});

/// The page: one document, and what it loads.
#[derive(Debug)]
pub(super) struct Page {
    /// 16 hexadecimal digits of all names and bytes, in the address of each asset.
    pub(super) hash: String,
    pub(super) document: File,
    pub(super) licences: File,
    /// By name.
    pub(super) assets: BTreeMap<String, File>,
}

/// A file that is sent whole.
#[derive(Debug)]
pub(super) struct File {
    pub(super) content_type: &'static str,
    plain: Form,
    compressed: OnceLock<Form>,
}

/// A file as it is sent, with its tag.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) bytes: Bytes,
    pub(super) tag: ETag,
}

impl Form {
    fn new(bytes: Bytes) -> Self {
        let tag = ETag::of_parts(&[&bytes]);
        Self { bytes, tag }
    }
}

impl Page {
    /// The page that is served.
    pub(super) fn served() -> Arc<Self> {
        // Who works on the page has it bundled into a folder on each change, and has a debug build serve that.
        #[cfg(debug_assertions)]
        if let Some(folder) = std::env::var_os("SITECONF_PAGE_DIR") {
            return may_block(|| Arc::new(Self::of(files_in(folder.as_ref()))));
        }
        Arc::clone(&EMBEDDED)
    }

    fn of(files: impl Iterator<Item = (String, Bytes)>) -> Self {
        let mut files: BTreeMap<String, Bytes> = files.collect();
        let mut hasher = blake3::Hasher::new();
        for (name, bytes) in &files {
            for part in [name.as_bytes(), bytes] {
                hasher.update(&part.len().to_le_bytes());
                hasher.update(part);
            }
        }
        let hash = hex::encode(&hasher.finalize().as_bytes()[..8]);
        let document = files.remove(DOCUMENT).map_or_else(
            || Cow::Borrowed(NOTICE),
            |bytes| {
                let text = String::from_utf8_lossy(&bytes);
                let assets = format!("/site-builder/-/{hash}");
                Cow::Owned(text.replace(ASSETS_PLACE, &assets))
            },
        );
        let licences = files.remove(LICENCES).unwrap_or_default();
        Self {
            hash,
            document: File::new(DOCUMENT, document.into_owned().into()),
            licences: File::new(LICENCES, licences),
            assets: files
                .into_iter()
                .map(|(name, bytes)| {
                    let file = File::new(&name, bytes);
                    (name, file)
                })
                .collect(),
        }
    }
}

impl File {
    fn new(name: &str, bytes: Bytes) -> Self {
        let (_, extension) = name.rsplit_once('.').unwrap_or_default();
        Self {
            content_type: match extension {
                "html" => "text/html; charset=utf-8",
                "js" => "text/javascript; charset=utf-8",
                "css" => "text/css; charset=utf-8",
                "svg" => "image/svg+xml",
                _ => "text/plain; charset=utf-8",
            },
            plain: Form::new(bytes),
            compressed: OnceLock::new(),
        }
    }

    /// As it is.
    pub(super) fn plain(&self) -> &Form {
        &self.plain
    }

    /// Compressed as well as gzip can, which is done for the first who asks.
    pub(super) fn compressed(&self) -> &Form {
        self.compressed.get_or_init(|| {
            may_block(|| {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
                let written = encoder.write_all(&self.plain.bytes);
                let bytes = written.and_then(|()| encoder.finish());
                Form::new(bytes.expect("a vector takes everything").into())
            })
        })
    }
}

/// The files of a folder; what cannot be read is not there.
#[cfg(debug_assertions)]
fn files_in(folder: &std::path::Path) -> impl Iterator<Item = (String, Bytes)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name, std::fs::read(entry.path()).ok()?.into()))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn page(script: &'static str) -> Page {
        let files = [
            ("app.js", script),
            ("index.html", "<script src=\"{assets}/app.js\"></script>"),
            ("licences.txt", "MIT"),
        ];
        Page::of(
            files
                .map(|(name, text)| (name.to_owned(), text.into()))
                .into_iter(),
        )
    }

    #[test]
    fn the_document_names_assets_by_the_hash_of_all() {
        let (one, other) = (page("1"), page("2"));
        assert_eq!(one.hash.len(), 16);
        assert_ne!(one.hash, other.hash);
        assert_eq!(one.hash, page("1").hash);
        assert_eq!(
            one.document.plain().bytes,
            format!(
                "<script src=\"/site-builder/-/{}/app.js\"></script>",
                one.hash
            )
        );
        assert_eq!(one.assets.keys().collect::<Vec<_>>(), ["app.js"]);
        assert_eq!(
            one.assets["app.js"].content_type,
            "text/javascript; charset=utf-8"
        );
        assert_eq!(one.licences.plain().bytes, "MIT");
    }

    #[test]
    fn what_is_compressed_is_the_same() {
        let page = page("let x = 1;");
        let compressed = page.assets["app.js"].compressed();
        let mut plain = String::new();
        flate2::read::GzDecoder::new(&compressed.bytes[..])
            .read_to_string(&mut plain)
            .unwrap();
        assert_eq!(plain, "let x = 1;");
    }

    #[test]
    fn without_the_page_a_notice_is_shown() {
        let page = Page::of(std::iter::empty());
        assert_eq!(page.document.plain().bytes, NOTICE);
        assert!(page.assets.is_empty());
    }
}
