//! Zip (APPNOTE 6.3), written in one pass: sizes and checksums follow the bytes, and once more stand in
//! the directory at the end.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::Writer;
use crate::repo::FileView;

const LOCAL_HEADER: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;

/// Sizes and checksum come after the bytes.
const FLAG_DESCRIPTOR: u16 = 1 << 3;
/// Names are UTF-8.
const FLAG_UTF_8: u16 = 1 << 11;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// 1980-01-01, 00:00.
const DATE: u16 = (1 << 5) | 1;
/// Extra field for what does not fit 32 bits.
const EXTRA_64: u16 = 1;
/// Made on Unix (3), so that modes count, by version 4.5.
const MADE_BY: u16 = u16::from_be_bytes([3, 45]);
/// From this size on a file's sizes are told in 64 bits: deflated it may be a little larger.
const LARGE_FROM: u64 = 0xf000_0000;
/// Stands where a number does not fit.
const ELSEWHERE: u32 = u32::MAX;

/// A zip under way.
#[derive(Debug, Default)]
pub(super) struct Zip {
    /// Bytes written so far.
    written: u64,
    current: Option<Current>,
    /// Of each entry, in their order.
    done: Vec<Done>,
    /// What was repeated of them: how many, and where the next one begins.
    repeated: usize,
    next_at: u64,
    directory_at: Option<u64>,
}

#[derive(Debug)]
struct Current {
    deflate: Option<DeflateEncoder<Vec<u8>>>,
    crc: Crc,
    size: u64,
    compressed: u64,
    large: bool,
}

#[derive(Clone, Copy, Debug)]
struct Done {
    compressed: u64,
    crc: u32,
}

impl Writer for Zip {
    fn begin(&mut self, path: &str, file: Option<&FileView>, out: &mut Vec<u8>) {
        let before = out.len();
        let size = file.map_or(0, FileView::size);
        let large = size >= LARGE_FROM;
        u32_to(out, LOCAL_HEADER);
        Fixed::of(file).write(out);
        // Checksum and sizes follow the bytes.
        u32_to(out, 0);
        let unknown = if large { ELSEWHERE } else { 0 };
        u32_to(out, unknown);
        u32_to(out, unknown);
        u16_to(out, short(path.len()));
        u16_to(out, if large { 20 } else { 0 });
        out.extend_from_slice(path.as_bytes());
        if large {
            u16_to(out, EXTRA_64);
            u16_to(out, 16);
            u64_to(out, 0);
            u64_to(out, 0);
        }
        self.current = Some(Current {
            deflate: (size > 0).then(|| DeflateEncoder::new(Vec::new(), Compression::default())),
            crc: Crc::new(),
            size,
            compressed: 0,
            large,
        });
        self.count(before, out);
    }

    fn data(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let before = out.len();
        if let Some(current) = &mut self.current {
            current.crc.update(bytes);
            if let Some(encoder) = &mut current.deflate {
                encoder.write_all(bytes).expect("a vector takes everything");
                current.take(out);
            }
        }
        self.count(before, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let before = out.len();
        let Some(mut current) = self.current.take() else {
            return;
        };
        if let Some(encoder) = &mut current.deflate {
            encoder.try_finish().expect("a vector takes everything");
            current.take(out);
            u32_to(out, DESCRIPTOR);
            u32_to(out, current.crc.sum());
            if current.large {
                u64_to(out, current.compressed);
                u64_to(out, current.size);
            } else {
                u32_to(out, clamped(current.compressed));
                u32_to(out, clamped(current.size));
            }
        }
        self.done.push(Done {
            compressed: current.compressed,
            crc: current.crc.sum(),
        });
        self.count(before, out);
    }

    fn wants_entries_again(&self) -> bool {
        true
    }

    fn again(&mut self, path: &str, file: Option<&FileView>, out: &mut Vec<u8>) {
        let before = out.len();
        self.directory_at.get_or_insert(self.written);
        let Some(Done { compressed, crc }) = self.done.get(self.repeated).copied() else {
            return;
        };
        self.repeated += 1;
        let entry = Fixed::of(file);
        let size = file.map_or(0, FileView::size);
        let offset = self.next_at;
        let extra = extra_64(size, compressed, offset);
        u32_to(out, CENTRAL_HEADER);
        u16_to(out, MADE_BY);
        entry.write(out);
        u32_to(out, crc);
        u32_to(
            out,
            if size >= LARGE_FROM {
                ELSEWHERE
            } else {
                clamped(compressed)
            },
        );
        u32_to(
            out,
            if size >= LARGE_FROM {
                ELSEWHERE
            } else {
                clamped(size)
            },
        );
        u16_to(out, short(path.len()));
        u16_to(out, short(extra.len()));
        // No comment, first disk, no internal attributes.
        out.extend_from_slice(&[0; 6]);
        u32_to(out, entry.attributes);
        u32_to(out, clamped(offset));
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(&extra);
        self.next_at += 30 + path.len() as u64 + compressed + entry.overhead();
        self.count(before, out);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let at = self.directory_at.unwrap_or(self.written);
        let (entries, bytes) = (self.done.len() as u64, self.written - at);
        if entries >= u64::from(u16::MAX) || at + bytes >= u64::from(ELSEWHERE) {
            u32_to(out, END_64);
            u64_to(out, 44);
            u16_to(out, MADE_BY);
            u16_to(out, 45);
            out.extend_from_slice(&[0; 8]);
            for number in [entries, entries, bytes, at] {
                u64_to(out, number);
            }
            u32_to(out, END_64_LOCATOR);
            u32_to(out, 0);
            u64_to(out, self.written);
            u32_to(out, 1);
        }
        u32_to(out, END);
        u32_to(out, 0);
        let count = u16::try_from(entries).unwrap_or(u16::MAX);
        u16_to(out, count);
        u16_to(out, count);
        u32_to(out, clamped(bytes));
        u32_to(out, clamped(at));
        u16_to(out, 0);
    }
}

impl Zip {
    fn count(&mut self, before: usize, out: &[u8]) {
        self.written += (out.len() - before) as u64;
    }
}

impl Current {
    /// Moves what was compressed so far.
    fn take(&mut self, out: &mut Vec<u8>) {
        if let Some(encoder) = &mut self.deflate {
            self.compressed += encoder.get_ref().len() as u64;
            out.append(encoder.get_mut());
        }
    }
}

/// What is the same in both headers of an entry.
struct Fixed {
    version: u16,
    flags: u16,
    method: u16,
    attributes: u32,
}

impl Fixed {
    fn of(file: Option<&FileView>) -> Self {
        let (mode, bits) = match file {
            None => (0o40755, 0x10),
            Some(file) if file.is_executable() => (0o100_755, 0),
            Some(_) => (0o100_644, 0),
        };
        let size = file.map_or(0, FileView::size);
        Self {
            version: if size >= LARGE_FROM { 45 } else { 20 },
            flags: FLAG_UTF_8 | if size > 0 { FLAG_DESCRIPTOR } else { 0 },
            method: if size > 0 { DEFLATED } else { STORED },
            attributes: (mode << 16) | bits,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        u16_to(out, self.version);
        u16_to(out, self.flags);
        u16_to(out, self.method);
        u16_to(out, 0);
        u16_to(out, DATE);
    }

    /// Bytes of the local header and what follows the file that depend on its size.
    fn overhead(&self) -> u64 {
        match (self.flags & FLAG_DESCRIPTOR != 0, self.version) {
            (false, _) => 0,
            (true, 45) => 20 + 24,
            (true, _) => 16,
        }
    }
}

/// The numbers of an entry that do not fit 32 bits.
fn extra_64(size: u64, compressed: u64, offset: u64) -> Vec<u8> {
    let mut numbers = Vec::new();
    if size >= LARGE_FROM {
        numbers.extend([size, compressed]);
    }
    if offset >= u64::from(ELSEWHERE) {
        numbers.push(offset);
    }
    let mut extra = Vec::new();
    if !numbers.is_empty() {
        u16_to(&mut extra, EXTRA_64);
        u16_to(&mut extra, short(8 * numbers.len()));
        for number in numbers {
            u64_to(&mut extra, number);
        }
    }
    extra
}

fn u16_to(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn u32_to(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn u64_to(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Paths have at most 4,096 bytes and a folder's name before them, extra fields 28.
fn short(length: usize) -> u16 {
    u16::try_from(length).expect("names and extra fields are short")
}

fn clamped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(ELSEWHERE)
}
