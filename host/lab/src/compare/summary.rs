//! What many comparisons say together.

use super::{Layout, PeerComparison};
use warpladder::timing::{Quartiles, geometric_mean};

/// How many of the worst problems are named.
const WORST: usize = 5;

/// The ratios of a kernel over all its problems, in a set of layouts.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// Name of the kernel.
    pub kernel: String,
    /// What it was compared with: each peer once, in the order in which they came.
    pub peers: Vec<String>,
    /// The layouts: all that occur, or one of several.
    pub layouts: Vec<Layout>,
    /// Number of problems.
    pub problems: usize,
    /// Geometric mean of the ratios.
    pub mean: f64,
    /// The least ratio.
    pub least: f64,
    /// Lower quartile of the ratios.
    pub low: f64,
    /// Their median.
    pub median: f64,
    /// Upper quartile.
    pub high: f64,
    /// Share of the problems on which the kernel is faster than the peer, from 0 to 1.
    pub ahead: f64,
    /// The five problems with the least ratios, the least first.
    pub worst: Vec<Worst>,
}

/// A problem on which a kernel does badly.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Worst {
    /// Rows of a product's output, or of a transpose's input.
    pub m: u32,
    /// Columns of the same.
    pub n: u32,
    /// The dimension that a product sums over; null elsewhere.
    pub k: Option<u32>,
    /// How the operands are stored.
    pub layout: Layout,
    /// The peer.
    pub peer: String,
    /// How many times as fast as the peer.
    pub ratio: f64,
}

/// Summaries of all kernels in the order in which they came: each over all its problems and, where
/// these have several layouts, over those of each layout.
pub fn summaries(records: &[PeerComparison]) -> Vec<Summary> {
    let mut all = Vec::new();
    for kernel in distinct(records.iter().map(|record| &record.kernel)) {
        let of_kernel = records.iter().filter(|record| record.kernel == *kernel);
        let of_kernel: Vec<&PeerComparison> = of_kernel.collect();
        let layouts = distinct(of_kernel.iter().map(|record| record.layout));
        all.extend(summary(&of_kernel));
        if let [_, _, ..] = layouts[..] {
            for layout in layouts {
                let of_layout = of_kernel.iter().filter(|record| record.layout == layout);
                all.extend(summary(&of_layout.copied().collect::<Vec<_>>()));
            }
        }
    }
    all
}

/// Of records of one kernel; `None` where there are none.
fn summary(records: &[&PeerComparison]) -> Option<Summary> {
    let ratios: Vec<f64> = records.iter().map(|record| record.ratio).collect();
    let quartiles = Quartiles::of(&ratios)?;
    let ahead = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    let mut worst = records.to_vec();
    worst.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    Some(Summary {
        kernel: records.first()?.kernel.clone(),
        peers: distinct(records.iter().map(|record| record.peer.clone())),
        layouts: distinct(records.iter().map(|record| record.layout)),
        problems: records.len(),
        mean: geometric_mean(&ratios)?,
        least: worst.first()?.ratio,
        low: quartiles.low,
        median: quartiles.median,
        high: quartiles.high,
        ahead: ahead as f64 / records.len() as f64,
        worst: worst.into_iter().take(WORST).map(Worst::of).collect(),
    })
}

impl Worst {
    fn of(record: &PeerComparison) -> Self {
        Worst {
            m: record.m,
            n: record.n,
            k: record.k,
            layout: record.layout,
            peer: record.peer.clone(),
            ratio: record.ratio,
        }
    }
}

/// Each value once, in the order in which they came.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kernel: &str, layout: &str, m: u32, ratio: f64) -> PeerComparison {
        // As files had it before there were rounds, peers to choose from and methods of checks.
        let old = serde_json::json!({
            "kernel": kernel, "peer": "cuBLAS 13.1.0", "element": "f32", "m": m, "n": 8, "k": 9,
            "layout": layout, "device": "H200", "samples": 20, "launches": 1, "sets": 1,
            "rest_ms": 0, "median_ms": 1.0, "peer_ms": ratio, "gflops": 1.0, "peer_gflops": 1.0,
            "gbs": 1.0, "peer_gbs": 1.0, "ratio": ratio, "ratio_low": ratio, "ratio_high": ratio,
            "ok": true, "error": 0.0, "peer_error": 0.0, "tolerance": 1.0, "complaint": null,
        });
        serde_json::from_value(old).unwrap()
    }

    #[test]
    fn ratios_are_summarised_as_by_hand() {
        let ratios = [2.0, 0.5, 1.0, 4.0, 0.25, 8.0, 1.0];
        let records = (1..).zip(ratios);
        let records: Vec<_> = records
            .map(|(m, ratio)| record("sgemm", "nn", m, ratio))
            .collect();
        let all = summaries(&records);
        let [one] = &all[..] else {
            panic!("{all:?}");
        };
        // Powers of two: 1 - 1 + 0 + 2 - 2 + 3 + 0 = 3, of seven.
        assert!((one.mean - (3.0_f64 / 7.0).exp2()).abs() < 1e-12);
        assert_eq!((one.problems, one.least), (7, 0.25));
        // Sorted: 0.25, 0.5, 1, 1, 2, 4, 8.
        assert_eq!((one.low, one.median, one.high), (0.75, 1.0, 3.0));
        assert_eq!(one.ahead, 3.0 / 7.0);
        let worst: Vec<_> = one
            .worst
            .iter()
            .map(|worst| (worst.m, worst.ratio))
            .collect();
        assert_eq!(worst, [(5, 0.25), (2, 0.5), (3, 1.0), (7, 1.0), (1, 2.0)]);
        assert_eq!(one.peers, ["cuBLAS 13.1.0"]);
        assert_eq!(summaries(&[]), []);
    }

    #[test]
    fn kernels_and_layouts_have_summaries_of_their_own() {
        let records = [
            record("sgemm", "nn", 1, 2.0),
            record("sgemm", "tn", 1, 0.5),
            record("dgemm", "nn", 1, 1.0),
        ];
        let found = summaries(&records);
        let found: Vec<_> = found
            .iter()
            .map(|one| (&*one.kernel, &one.layouts[..], one.problems, one.mean))
            .collect();
        use Layout::{Nn, Tn};
        assert_eq!(
            found,
            [
                ("sgemm", &[Nn, Tn][..], 2, 1.0),
                ("sgemm", &[Nn], 1, 2.0),
                ("sgemm", &[Tn], 1, 0.5),
                ("dgemm", &[Nn], 1, 1.0),
            ]
        );
    }

    #[test]
    fn older_records_were_timed_once_and_new_ones_come_back_as_they_were() {
        let old = record("sgemm", "nn", 1, 1.0);
        assert_eq!(
            (old.rounds, old.first_ratio, old.heuristics),
            (1, None, None)
        );
        let mut new = old.clone();
        (new.rounds, new.first_ratio) = (4, Some(0.9));
        new.heuristics = Some(crate::compare::Heuristics {
            tried: 20,
            best: 3,
            workspace_bytes: 1 << 20,
            first_ms: None,
            best_ms: 0.5,
        });
        let text = serde_json::to_string(&new).unwrap();
        let back: PeerComparison = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        assert_eq!((back.rounds, back.heuristics), (4, new.heuristics));
    }
}
