//! The table.

/// One measured thing.
pub(crate) struct Row {
    /// What was measured, with its unit.
    pub(crate) what: &'static str,
    /// gpulet's samples.
    pub(crate) gpulet: Vec<f64>,
    /// Samples of the bare calls in the same run; empty where there is nothing to compare with.
    pub(crate) bare: Vec<f64>,
    /// The bound on the ratio of the medians, or on gpulet's median where there are no bare samples.
    pub(crate) target: f64,
}

/// Raw samples first, then a line for each row.
pub(crate) fn print(rows: &[Row]) {
    for row in rows {
        for (who, samples) in [("gpulet", &row.gpulet), ("bare", &row.bare)] {
            if !samples.is_empty() {
                let text: Vec<String> = samples
                    .iter()
                    .map(|sample| format!("{sample:.3}"))
                    .collect();
                println!("raw  {}, {who}: {}", row.what, text.join(" "));
            }
        }
    }
    println!(
        "\n{:<52}{:>9}{:>9}{:>8}{:>9}",
        "median", "gpulet", "bare", "ratio", "target"
    );
    for row in rows {
        let own = median(&row.gpulet);
        let (bare, ratio, figure) = if row.bare.is_empty() {
            ("-".to_owned(), "-".to_owned(), own)
        } else {
            let bare = median(&row.bare);
            (
                format!("{bare:.2}"),
                format!("{:.2}", own / bare),
                own / bare,
            )
        };
        let verdict = if figure <= row.target {
            "met"
        } else {
            "MISSED"
        };
        println!(
            "{:<52}{own:>9.3}{bare:>9}{ratio:>8}{:>9.2} {verdict}",
            row.what, row.target
        );
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    if sorted.len() % 2 == 1 {
        at(middle)
    } else {
        (at(middle.wrapping_sub(1)) + at(middle)) / 2.0
    }
}
