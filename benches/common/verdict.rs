//! A bar of a benchmark, as a line.

/// One bar: what was reached, and whether that holds it.
pub(crate) fn verdict(what: &str, reached: f64, bar: f64, unit: &str) {
    let verdict = if reached <= bar { "held" } else { "MISSED" };
    println!("{what}: bar {bar} {unit}, reached {reached:.2} {unit}: {verdict}");
}
