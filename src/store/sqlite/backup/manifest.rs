//! The manifest of a backup: what it holds, and the sum of every file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::part::Part;
use crate::base::clock::Timestamp;
use crate::store::Version;
use crate::store::sqlite::data_folder::{Format, Restore};

/// What `FORMAT` of a backup holds, and its manifest's first line.
pub(super) const FORMAT: &str = "siteconf-backup 1\n";
/// The name of the format, with any version.
pub(super) const FORMAT_NAME: &str = "siteconf-backup ";
/// Most bytes of a manifest in a stream, which may come from anywhere and is held in memory to be read: some 7 million
/// large files. What lies in a folder has no such bound.
const STREAM_MANIFEST_BYTES_MAX: u64 = 1 << 30;

/// A file's length and BLAKE3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileSum {
    pub(super) bytes: u64,
    pub(super) sum: blake3::Hash,
}

/// A whole backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// The format of the store.
    pub(super) store: Format,
    /// When the store was in this state.
    pub(super) at: Timestamp,
    /// The last write that it holds.
    pub(super) version: Version,
    /// How many things were damaged and left out.
    pub(super) damaged: u64,
    /// The restores that the store goes back to.
    pub(super) restores: Vec<Restore>,
    pub(super) files: BTreeMap<Part, FileSum>,
}

impl Manifest {
    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = FORMAT.to_owned();
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("a string takes all");
        };
        line(format_args!("store {}", self.store.to_text().trim_end()));
        line(format_args!("at {}", self.at));
        line(format_args!("version {}", self.version));
        line(format_args!("damaged {}", self.damaged));
        for restore in &self.restores {
            line(format_args!("restored {}", restore.to_text()));
        }
        for (part, file) in &self.files {
            line(format_args!("{} {} {part}", file.sum.to_hex(), file.bytes));
        }
        let sum = blake3::hash(text.as_bytes()).to_hex();
        writeln!(text, "{sum}").expect("a string takes all");
        text
    }

    /// Reads what [`Manifest::to_text`] wrote.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        require_format(text)?;
        let damaged = || "the manifest is damaged".to_owned();
        let text = std::str::from_utf8(text).map_err(|_| damaged())?;
        let body = text.strip_suffix('\n').ok_or_else(damaged)?;
        let cut = body.rfind('\n').ok_or_else(damaged)? + 1;
        let (summed, sum) = body.split_at(cut);
        if *blake3::hash(summed.as_bytes()).to_hex() != *sum {
            return Err(damaged());
        }
        let mut lines = summed.lines().skip(1);
        let store = lines.next().and_then(|line| line.strip_prefix("store "));
        let store = store.and_then(|text| Format::parse(&format!("{text}\n")));
        let store = store.ok_or_else(damaged)?;
        if store.is_newer() {
            return Err(format!(
                "the backup is of a store of format {store}, and this version knows none after {}; use the \
                 version that wrote it or a later one",
                Format::CURRENT
            ));
        }
        Self::of_lines(store, lines).ok_or_else(|| {
            "the manifest names what no backup of this format has; use the version of siteconf that \
             wrote it"
                .to_owned()
        })
    }

    fn of_lines<'t>(store: Format, lines: impl Iterator<Item = &'t str>) -> Option<Self> {
        let mut lines = lines.peekable();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let at = Timestamp::parse(field("at")?)?;
        let version = field("version")?.parse().ok()?;
        let damaged = field("damaged")?.parse().ok()?;
        let mut restores = Vec::new();
        while let Some(restore) = lines.peek().and_then(|line| line.strip_prefix("restored ")) {
            restores.push(restore.parse().ok()?);
            lines.next();
        }
        let mut files = BTreeMap::new();
        for line in lines {
            let (sum, rest) = line.split_once(' ')?;
            let (bytes, path) = rest.split_once(' ')?;
            let file = FileSum {
                bytes: bytes.parse().ok()?,
                sum: blake3::Hash::from_hex(sum).ok()?,
            };
            files.insert(Part::parse(path)?, file);
        }
        Some(Self {
            store,
            at,
            version,
            damaged,
            restores,
            files,
        })
    }
}

/// Refuses a manifest of so many bytes in a stream, for whoever writes it as for whoever reads it.
///
/// # Errors
/// A sentence that says what to do.
pub(super) fn require_streamable(bytes: u64) -> Result<(), String> {
    if bytes <= STREAM_MANIFEST_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "the list of its files has {bytes} bytes or more, and in a backup that is a file or a stream it may have \
         {STREAM_MANIFEST_BYTES_MAX} (some 7 million large files); make the backup into a folder, \
         which has no such bound"
    ))
}

/// The bytes of a file's line in a manifest.
pub(super) fn line_bytes(part: &Part, bytes: u64) -> u64 {
    let behind_sum = format!(" {bytes} {part}\n");
    (2 * blake3::OUT_LEN + behind_sum.len()) as u64
}

/// Refuses what does not begin as this format does.
///
/// # Errors
/// A sentence that says so.
pub(super) fn require_format(text: &[u8]) -> Result<(), String> {
    if text.starts_with(FORMAT.as_bytes()) {
        return Ok(());
    }
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    Err(if first.starts_with(FORMAT_NAME) {
        format!(
            "the backup has format \"{first}\", this version reads \"{}\"; use the version that wrote it",
            FORMAT.trim_end()
        )
    } else {
        "this is no backup of siteconf".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::ObjectId;

    fn example() -> Manifest {
        let file = |bytes: &[u8]| FileSum {
            bytes: bytes.len() as u64,
            sum: blake3::hash(bytes),
        };
        Manifest {
            store: Format::CURRENT,
            at: Timestamp::parse("2026-11-21T22:30:00Z").unwrap(),
            version: 5,
            damaged: 0,
            restores: vec![Restore::of(3), Restore::of(4)],
            files: BTreeMap::from([
                (Part::Format, file(FORMAT.as_bytes())),
                (Part::secret("server-key", b"0"), file(b"0")),
            ]),
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written_and_no_other_is() {
        let text = example().to_text();
        let read = Manifest::parse(text.as_bytes()).unwrap();
        assert_eq!(read.to_text(), text);
        for end in 0..text.len() {
            Manifest::parse(&text.as_bytes()[..end]).unwrap_err();
        }
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] ^= 1;
            Manifest::parse(&other).unwrap_err();
        }
        let newer = text.replace("siteconf-backup 1", "siteconf-backup 2");
        assert_eq!(
            Manifest::parse(newer.as_bytes()).unwrap_err(),
            "the backup has format \"siteconf-backup 2\", this version reads \"siteconf-backup 1\"; use \
             the version that wrote it"
        );
    }

    #[test]
    fn a_manifest_that_no_stream_may_have_is_known_by_the_files_in_it() {
        let mut manifest = example();
        let before = manifest.to_text().len() as u64;
        let mut lines = 0;
        for (id, bytes) in [(7, 65_537), (8, 10 << 30)] {
            let part = Part::Blob(ObjectId::from_bytes([id; 32]));
            lines += line_bytes(&part, bytes);
            let sum = blake3::hash(b"");
            manifest.files.insert(part, FileSum { bytes, sum });
        }
        assert_eq!(manifest.to_text().len() as u64, before + lines);
        require_streamable(STREAM_MANIFEST_BYTES_MAX).unwrap();
        let refused = require_streamable(STREAM_MANIFEST_BYTES_MAX + 1).unwrap_err();
        assert!(
            refused.contains("make the backup into a folder"),
            "{refused}"
        );
    }
}
