//! Roofline: the time that arithmetic needs against the time that data needs, at each level of the
//! memory.
//!
//! ```text
//! t = max(F / peak, D_DRAM / Θ_M, D_L2 / Θ_2, D_shared / Θ_S)
//! ```
//!
//! | symbol | here | unit |
//! |---|---|---|
//! | F | `flops` | FLOP |
//! | D | `bytes` moved at a level | bytes |
//! | F / D | intensity | FLOP/byte |
//! | Θ_M, Θ_2, Θ_S | bandwidth of DRAM, L2, shared memory ([`Roof::gbs`]) | GB/s |
//!
//! A level's roof at intensity I is min(peak, I Θ): 001's "150 GB/s limits the code at 37.5
//! GFLOP/s". The code is under the lowest of its roofs. Source 000 calls the same comparison
//! "compute bound or communication bound". Williams, Waterman, Patterson: "Roofline", CACM 52(4),
//! 2009.

use super::Bound;

/// A level of the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Device memory.
    Dram,
    /// L2 cache.
    L2,
    /// Shared memory, all multiprocessors together.
    Shared,
}

impl Level {
    /// The bound that this level's bandwidth is.
    pub const fn bound(self) -> Bound {
        match self {
            Level::Dram => Bound::Dram,
            Level::L2 => Bound::L2,
            Level::Shared => Bound::Shared,
        }
    }
}

/// Bandwidth of a level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Roof {
    /// The level.
    pub level: Level,
    /// Its bandwidth, in GB/s.
    pub gbs: f64,
}

/// A peak and the roofs that slope up to it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Roofline {
    /// Unit that does the arithmetic: [`Bound::Fp32`] or [`Bound::Fp64`], for example.
    pub unit: Bound,
    /// Its peak, in GFLOP/s.
    pub peak_gflops: f64,
    /// The levels whose bandwidth is known.
    pub roofs: Vec<Roof>,
}

/// Where work stands under one roof.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct UnderRoof {
    /// The roof.
    pub roof: Roof,
    /// FLOP per byte moved at this level.
    pub intensity: f64,
    /// Time that the data needs, in seconds.
    pub seconds: f64,
    /// What this roof alone allows, in GFLOP/s.
    pub attainable_gflops: f64,
}

/// Where work stands.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Standing {
    /// The least time, in seconds.
    pub seconds: f64,
    /// What needs it.
    pub bound: Bound,
    /// Time that the arithmetic needs, in seconds.
    pub compute_seconds: f64,
    /// Each roof in turn.
    pub roofs: Vec<UnderRoof>,
}

impl Roofline {
    /// The ridge: the intensity, in FLOP/byte, from which a level no longer bounds.
    pub fn ridge(&self, level: Level) -> Option<f64> {
        let roof = self.roofs.iter().find(|roof| roof.level == level)?;
        Some(self.peak_gflops / roof.gbs)
    }

    /// What the roof of a level allows at an intensity (FLOP/byte), in GFLOP/s.
    pub fn attainable_gflops(&self, level: Level, intensity: f64) -> Option<f64> {
        let roof = self.roofs.iter().find(|roof| roof.level == level)?;
        Some(self.peak_gflops.min(intensity * roof.gbs))
    }

    /// Where work of `flops` FLOP stands that moves these bytes at each level. Levels without a
    /// roof do not bound it.
    pub fn place(&self, flops: f64, bytes: &[(Level, f64)]) -> Standing {
        let compute_seconds = flops / (self.peak_gflops * 1e9);
        let mut standing = Standing {
            seconds: compute_seconds,
            bound: self.unit,
            compute_seconds,
            roofs: Vec::new(),
        };
        for &(level, moved) in bytes {
            let Some(&roof) = self.roofs.iter().find(|roof| roof.level == level) else {
                continue;
            };
            let intensity = flops / moved;
            let under = UnderRoof {
                roof,
                intensity,
                seconds: moved / (roof.gbs * 1e9),
                attainable_gflops: self.peak_gflops.min(intensity * roof.gbs),
            };
            if under.seconds > standing.seconds {
                standing.seconds = under.seconds;
                standing.bound = level.bound();
            }
            standing.roofs.push(under);
        }
        standing
    }
}

/// Intensity, in FLOP/byte, of a matrix product that uses each element `reuse` times once it is
/// loaded.
///
/// A multiply-add is two FLOP and takes two elements: 2 `reuse` / (2 `element_bytes`). Without a
/// tile `reuse` is 1 (001: "4 B/FLOP"), with T×T tiles it is T. The result is not counted: it is
/// written once.
pub fn product_intensity(reuse: u32, element_bytes: u32) -> f64 {
    f64::from(reuse) / f64::from(element_bytes)
}
