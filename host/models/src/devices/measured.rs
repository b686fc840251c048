//! What `warpladder calibrate` measures, and how it enters the table.

use super::DeviceModel;
use crate::figure::Figure;

/// A calibration of one device.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// The device's name, as its driver has it.
    pub device: String,
    /// The figures.
    pub figures: Vec<Spread>,
}

/// A measured figure with its spread.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Spread {
    /// What was measured.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Median of the samples.
    pub median: f64,
    /// A quarter of the samples is below.
    pub low: f64,
    /// A quarter of the samples is above.
    pub high: f64,
    /// Number of samples.
    pub samples: usize,
}

/// Where a calibrated figure is from.
const SOURCE: &str = "warpladder calibrate";

/// Stride of the partial writes that stand for all: with smaller ones neighbours merge, larger ones
/// are rare.
const PARTIAL_WRITES: &str = "l2_write_words_stride_16";

/// Bytes of a sector, which a partial write takes as much of the cache's time as.
const SECTOR_BYTES: f64 = 32.0;

/// The request that stands for all whose lanes read lines far apart: its words are in different
/// banks.
const LINES_APART: &str = "l1_stride_1001";

/// Lanes of the request that stands for all that read the constant bank at different addresses.
const CONSTANT_ADDRESSES: f64 = 16.0;

/// Lanes of a warp.
const WARP: f64 = 32.0;

/// Blocks and warps of the sets of resident blocks that tell what blocks cost.
const NARROW_BLOCKS: f64 = 16.0;
const WIDE_WARPS: f64 = 32.0;

impl DeviceModel {
    /// The device with what was measured of it in place of what datasheets and the literature say.
    #[must_use]
    pub fn calibrated(mut self, measured: &Measured) -> Self {
        let figure = |value| Figure::measured(value, SOURCE);
        let read = |name| measured.median(name).map(figure);
        let latencies = &mut self.latencies;
        for (place, name) in [
            (&mut latencies.fma, "latency_fp32"),
            (&mut latencies.fp64, "latency_fp64"),
            (&mut latencies.shared, "latency_shared"),
            (&mut latencies.l1, "latency_l1"),
            (&mut latencies.l2, "latency_l2"),
            (&mut latencies.dram, "latency_dram"),
            (&mut self.l2_gbs, "l2_read"),
            (&mut self.dram_read_gbs, "dram_read"),
            (&mut self.architecture.l1_bytes_per_cycle, "l1_read"),
            (&mut self.calibration.l2_write_gbs, "l2_write"),
            (&mut self.calibration.launch_us, "launch"),
            (&mut self.calibration.next_launch_us, "launch_in_a_row"),
        ] {
            *place = read(name).or(*place);
        }
        let of = |name| measured.median(name);
        let derived = |place: &mut Option<Figure<f64>>, value: Option<f64>| {
            *place = value.map(figure).or(*place);
        };
        let calibration = &mut self.calibration;
        let partial = of(PARTIAL_WRITES).map(|words| words * SECTOR_BYTES);
        derived(&mut calibration.l2_partial_gbs, partial);
        let line = of(LINES_APART).map(|cycles| cycles / WARP);
        derived(&mut calibration.l1_line_cycles, line);
        let constant = of("constant_stride_16_of_256").map(|cycles| cycles / CONSTANT_ADDRESSES);
        derived(&mut calibration.constant_cycles, constant);
        // Narrow blocks are bound by how fast they start; the rest of a wide one's time is its
        // warps'.
        let block = of("set_of_blocks_of_4_warps").map(|cycles| cycles / NARROW_BLOCKS);
        derived(&mut calibration.block_cycles, block);
        let wide = of("set_of_blocks_of_32_warps")
            .zip(of("latency_dram"))
            .zip(block);
        let warp = wide.map(|((set, latency), block)| (set - latency - block) / WIDE_WARPS);
        derived(
            &mut calibration.warp_cycles,
            warp.map(|cycles| cycles.max(0.0)),
        );
        self
    }
}

impl Measured {
    /// The median of a figure.
    pub fn median(&self, name: &str) -> Option<f64> {
        let found = self.figures.iter().find(|figure| figure.name == name);
        found.map(|figure| figure.median)
    }
}
