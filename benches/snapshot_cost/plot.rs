//! The plots of the report, as SVG.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;

use crate::common::writers::Round;

const SIZE: (u32, u32) = (720, 400);
const FONT: (&str, u32) = ("sans-serif", 14);
/// Told apart by those who do not see red and green as different, too.
const COLORS: [RGBColor; 4] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(90, 90, 90),
];

/// A line of a plot: its name and its points, files and milliseconds.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// What the operations cost, over the number of files; both axes logarithmic.
pub(crate) fn costs(place: &Path, lines: &[Line]) {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let files = range(points().map(|(files, _)| *files));
    let times = range(points().map(|(_, time)| *time));
    let area = SVGBackend::new(place, SIZE).into_drawing_area();
    area.fill(&WHITE).unwrap();
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .margin_right(36)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(files.log_scale(), times.log_scale())
        .unwrap();
    chart
        .configure_mesh()
        .x_desc("files in the branch")
        .y_desc("milliseconds")
        .x_label_formatter(&|files| grouped(*files))
        .y_label_formatter(&|time| format!("{time}"))
        .label_style(FONT)
        .light_line_style(WHITE)
        .draw()
        .unwrap();
    for (line, color) in lines.iter().zip(COLORS) {
        chart
            .draw_series(LineSeries::new(line.points.clone(), color.stroke_width(2)).point_size(3))
            .unwrap()
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE.mix(0.9))
        .label_font(FONT)
        .draw()
        .unwrap();
    area.present().unwrap();
}

/// How many of the saves took how long, by the number of writers.
pub(crate) fn latencies(place: &Path, rounds: &[(u64, Round)]) {
    let all = rounds.iter().flat_map(|(_, round)| &round.latencies);
    let times = range(all.map(ms));
    let histograms: Vec<_> = rounds
        .iter()
        .map(|(writers, round)| (*writers, histogram(round, &times)))
        .collect();
    let shares = histograms.iter().flat_map(|(_, bars)| bars);
    let most = shares.map(|(_, share)| *share).fold(0.0, f64::max);
    let area = SVGBackend::new(place, SIZE).into_drawing_area();
    area.fill(&WHITE).unwrap();
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .margin_right(36)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(times.log_scale(), 0.0..most * 1.1)
        .unwrap();
    chart
        .configure_mesh()
        .x_desc("milliseconds of a save")
        .y_desc("% of the saves")
        .x_label_formatter(&|time| format!("{time}"))
        .y_label_formatter(&|share| format!("{share:.0}"))
        .label_style(FONT)
        .light_line_style(WHITE)
        .draw()
        .unwrap();
    for ((writers, bars), color) in histograms.into_iter().zip(COLORS) {
        let name = match writers {
            1 => "1 writer".to_owned(),
            _ => format!("{writers} writers"),
        };
        chart
            .draw_series(LineSeries::new(bars, color.stroke_width(2)))
            .unwrap()
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.9))
        .label_font(FONT)
        .draw()
        .unwrap();
    area.present().unwrap();
}

/// The outline of the bars of a histogram with columns that grow by a tenth, in percent.
fn histogram(round: &Round, times: &Range<f64>) -> Vec<(f64, f64)> {
    const GROWTH: f64 = 1.1;
    let column = |time: f64| (time / times.start).log(GROWTH).max(0.0) as usize;
    let mut counts = vec![0_u64; column(times.end) + 1];
    for latency in &round.latencies {
        counts[column(ms(latency))] += 1;
    }
    let share = |count: u64| count as f64 * 100.0 / round.latencies.len() as f64;
    let start = |column: usize| times.start * GROWTH.powf(column as f64);
    counts
        .into_iter()
        .enumerate()
        .flat_map(|(column, count)| {
            [
                (start(column), share(count)),
                (start(column + 1).min(times.end), share(count)),
            ]
        })
        .collect()
}

fn ms(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// From the power of ten below the least to the one above the greatest, and a little more: plotters
/// leaves out the label of an end that rounding puts outside.
fn range(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let least = values.clone().fold(f64::MAX, f64::min);
    let most = values.fold(f64::MIN_POSITIVE, f64::max);
    0.999 * 10_f64.powf(least.log10().floor())..1.001 * 10_f64.powf(most.log10().ceil())
}

/// A whole number with commas between its thousands.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
