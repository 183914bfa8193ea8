//! `Range`: one part of a file (RFC 9110 section 14).

/// What part of a body a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Part {
    /// All of it: nothing was asked, or what was asked is malformed or several parts.
    Whole,
    /// From this offset, this many bytes (at least one).
    Slice {
        /// The first byte.
        from: u64,
        /// How many.
        length: u64,
    },
    /// What was asked begins behind the end.
    Unsatisfiable,
}

/// Reads a `Range` for a body of this many bytes.
pub(in crate::http) fn part(range: &str, size: u64) -> Part {
    let Some((unit, spec)) = range.split_once('=') else {
        return Part::Whole;
    };
    let Some((first, last)) = spec.trim().split_once('-') else {
        return Part::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") || spec.contains(',') {
        return Part::Whole;
    }
    let (Ok(first), Ok(last)) = (number(first), number(last)) else {
        return Part::Whole;
    };
    match (first, last) {
        (None, None) => Part::Whole,
        (None, Some(suffix)) => slice(size.saturating_sub(suffix), size),
        (Some(first), Some(last)) if last < first => Part::Whole,
        (Some(first), last) => slice(
            first,
            last.map_or(size, |last| last.saturating_add(1).min(size)),
        ),
    }
}

fn slice(from: u64, end: u64) -> Part {
    if from < end {
        Part::Slice {
            from,
            length: end - from,
        }
    } else {
        Part::Unsatisfiable
    }
}

/// A number of any length; one that no body can reach stands for the largest.
fn number(digits: &str) -> Result<Option<u64>, ()> {
    if digits.is_empty() {
        return Ok(None);
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(());
    }
    Ok(Some(digits.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ten_bytes() {
        let slice = |from, length| Part::Slice { from, length };
        for (range, expected) in [
            ("bytes=0-0", slice(0, 1)),
            ("bytes=2-5", slice(2, 4)),
            ("bytes=5-", slice(5, 5)),
            ("bytes=-3", slice(7, 3)),
            ("bytes=-99", slice(0, 10)),
            ("bytes=0-99", slice(0, 10)),
            ("Bytes= 1-2 ", slice(1, 2)),
            ("bytes=0-99999999999999999999999", slice(0, 10)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=99999999999999999999999-", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=9-1", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("bytes", Part::Whole),
            ("lines=0-1", Part::Whole),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Part::Unsatisfiable);
        assert_eq!(part("bytes=-5", 0), Part::Unsatisfiable);
    }
}
