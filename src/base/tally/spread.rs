//! How values spread.

use std::time::Duration;

use super::Count;

/// Upper bounds of durations, in nanoseconds: 0.1 ms to 10 s.
pub const DURATIONS_NS: &[u64] = &[
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];
/// Upper bounds of how many batches share a commit.
pub const BATCHES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];

/// How values spread: a count for each range that ends with a bound, one for what is beyond, and the sum.
#[derive(Debug)]
pub struct Spread {
    bounds: &'static [u64],
    counts: Box<[Count]>,
    sum: Count,
}

impl Spread {
    /// Nothing yet, in ranges that end with these bounds.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| Count::new()).collect(),
            sum: Count::new(),
        }
    }

    /// Of durations.
    pub fn of_durations() -> Self {
        Self::new(DURATIONS_NS)
    }

    /// Counts a value.
    pub fn add(&self, value: u64) {
        let range = self.bounds.partition_point(|bound| *bound < value);
        self.counts[range].up();
        self.sum.add(value);
    }

    /// Counts a duration.
    pub fn add_duration(&self, duration: Duration) {
        self.add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The count of each range with its bound, `None` for what is beyond the last.
    pub fn ranges(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts.iter().map(Count::get))
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_in_the_first_range_that_holds_it() {
        let spread = Spread::new(&[1, 2, 4]);
        for value in [0, 1, 2, 3, 4, 5, 100] {
            spread.add(value);
        }
        let ranges: Vec<_> = spread.ranges().collect();
        assert_eq!(
            ranges,
            [(Some(1), 2), (Some(2), 1), (Some(4), 2), (None, 2)]
        );
        assert_eq!(spread.sum(), 115);
        let durations = Spread::of_durations();
        durations.add_duration(Duration::from_micros(100));
        assert_eq!(durations.ranges().next(), Some((Some(100_000), 1)));
    }
}
