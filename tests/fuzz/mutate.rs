//! Inputs that are made of those of a corpus by chance.

use rand::RngExt as _;
use rand::rngs::StdRng;

/// Bytes that mean something to some parser.
const TELLING: &[u8] = b"\0\x01\x7f\x80\xff%/\\.:;,=&+?#@\"'{}[]()<>*~^ \t\r\n0919azAZ-_";
/// What an input grows to at most, in bytes.
const BYTES_MAX: usize = 16 << 10;

/// An input like one of these, with one to eight changes.
pub(crate) fn like_one_of(corpus: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut input = one_of(corpus, random).clone();
    for _ in 0..1 << random.random_range(0..4) {
        let at = random.random_range(0..=input.len());
        let end = (at + (1 << random.random_range(0..6))).min(input.len());
        match random.random_range(0..7) {
            0 if at < input.len() => input[at] ^= 1 << random.random_range(0..8),
            1 if at < input.len() => input[at] = *one_of(TELLING, random),
            2 => input.insert(at, *one_of(TELLING, random)),
            3 => drop(input.drain(at..end)),
            4 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
            5 => {
                let other = one_of(corpus, random);
                let from = random.random_range(0..=other.len());
                let to = random.random_range(from..=other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
            _ => input.truncate(at),
        }
        input.truncate(BYTES_MAX);
    }
    input
}

fn one_of<'a, T>(all: &'a [T], random: &mut StdRng) -> &'a T {
    &all[random.random_range(0..all.len())]
}
