//! The table, and the file of raw samples.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

/// One measured thing.
#[derive(Clone)]
pub(crate) struct Row {
    /// What was measured, with its unit.
    pub(crate) what: &'static str,
    /// gpulet's samples.
    pub(crate) gpulet: Vec<f64>,
    /// Samples of the bare calls in the same run; empty where there is nothing to compare with.
    pub(crate) bare: Vec<f64>,
    /// Samples of the stock kubelet in the same run; empty where it was not asked for.
    pub(crate) stock: Vec<f64>,
    /// The bound.
    pub(crate) target: Target,
}

/// A bound on gpulet's median.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// On itself.
    Itself(f64),
    /// As a multiple of the bare calls' median.
    TimesBare(f64),
    /// As a multiple of the stock kubelet's median.
    TimesStock(f64),
}

impl Row {
    /// A row without samples.
    pub(crate) fn new(what: &'static str, target: Target) -> Row {
        Row {
            what,
            gpulet: Vec::new(),
            bare: Vec::new(),
            stock: Vec::new(),
            target,
        }
    }

    fn line(&self) -> String {
        let own = median(&self.gpulet);
        let [bare, stock] = [&self.bare, &self.stock].map(|samples| median(samples));
        let (bound, of, figure) = match self.target {
            Target::Itself(bound) => (bound, "", own),
            Target::TimesBare(bound) => (bound, " x bare", own.zip(bare).map(|(a, b)| a / b)),
            Target::TimesStock(bound) => (bound, " x stock", own.zip(stock).map(|(a, b)| a / b)),
        };
        let verdict = figure.map_or("not measured", |figure| {
            if figure <= bound { "met" } else { "MISSED" }
        });
        let ratio = |other: Option<f64>| cell(own.zip(other).map(|(own, other)| own / other), 2);
        format!(
            "{:<50}{:>10}{:>10}{:>10}{:>8}{:>9}  {:<16}{verdict}",
            self.what,
            cell(own, 3),
            cell(bare, 3),
            cell(stock, 3),
            ratio(bare),
            ratio(stock),
            format!("{bound}{of}"),
        )
    }
}

/// Writes the samples to `file`, a line of JSON for each row, and prints a line for each row.
pub(crate) fn print(rows: &[Row], file: &Path) -> Result<()> {
    let mut raw = String::new();
    for row in rows {
        let line = json!({
            "row": row.what, "gpulet": row.gpulet, "bare": row.bare, "stock": row.stock,
        });
        writeln!(raw, "{line}")?;
    }
    fs::create_dir_all(file.parent().context("a file in a folder")?)?;
    fs::write(file, raw).with_context(|| format!("writing {}", file.display()))?;
    println!(
        "\n{:<50}{:>10}{:>10}{:>10}{:>8}{:>9}  target",
        "median", "gpulet", "bare", "stock", "x bare", "x stock"
    );
    for row in rows {
        println!("{}", row.line());
    }
    println!("samples: {}", file.display());
    Ok(())
}

fn cell(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.digits$}"))
}

/// The middle one, or the mean of the middle two; nothing of nothing.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(*lower, *upper))
}
