//! Figures in sentences of the book: each is computed from the results, or from the device table,
//! and the sentence must hold it.

use super::results::{number, of_kernel, results};
use super::{chapters, read, root};
use std::path::Path;
use warpladder_models::devices;
use warpladder_models::occupancy::{Allocation, RegisterScope};

/// What stands in the place of `{}` in a sentence.
struct Figure {
    chapter: &'static str,
    sentence: &'static str,
    value: fn() -> String,
}

const FIGURES: &[Figure] = &[
    Figure {
        chapter: "sgemm.md",
        sentence: "gets {} % of what the FP32 units can do",
        value: || share_of_peak("cp_async"),
    },
    Figure {
        chapter: "sgemm.md",
        sentence: "{} % of the peak by the highest clock",
        value: || share_of_peak("sgemm"),
    },
    Figure {
        chapter: "cp-async.md",
        sentence: "{} percent over `register_blocked`",
        value: || percent_over("cp_async", "register_blocked"),
    },
    Figure {
        chapter: "cp-async.md",
        sentence: "{} % of the peak",
        value: || share_of_peak("cp_async"),
    },
    Figure {
        chapter: "register-blocked.md",
        sentence: "the kernel gets {} % of that",
        value: || share_of_peak("register_blocked"),
    },
    Figure {
        chapter: "register-blocked.md",
        sentence: "It is {} times as fast as `outputs_8`",
        value: || times("register_blocked", "outputs_8"),
    },
    Figure {
        chapter: "double-buffered.md",
        sentence: "{} percent. The model expects",
        value: || percent_over("double_buffered", "register_blocked"),
    },
    Figure {
        chapter: "volkov.md",
        sentence: "On an H200 it is {} % of what",
        value: || share_in_source("000", "volkov_sgemm"),
    },
    Figure {
        chapter: "dgemm.md",
        sentence: "`dgemm` gets {},000",
        value: || format!("{:.0}", rate("dgemm") / 1000.0),
    },
    Figure {
        chapter: "dgemm.md",
        sentence: "`tiled_16_f64` takes {} times as long as `tiled_16`",
        value: || times("tiled_16", "tiled_16_f64"),
    },
    Figure {
        chapter: "wgmma-persistent.md",
        sentence: "{} times as fast as `single`",
        value: || times("wgmma_bf16_specialised", "wgmma_bf16_single"),
    },
    Figure {
        chapter: "wgmma-persistent.md",
        sentence: "{} percent more from persistent blocks",
        value: || percent_over("wgmma_bf16_persistent", "wgmma_bf16_specialised"),
    },
    Figure {
        chapter: "wgmma-general.md",
        sentence: "{} TFLOP/s in Rust",
        value: || format!("{:.0}", rate("wgmma_bf16") / 1000.0),
    },
    Figure {
        chapter: "wgmma-general.md",
        sentence: "that is a factor of {} in time",
        value: || format!("{:.0}", rate("wgmma_bf16") / rate("naive")),
    },
    Figure {
        chapter: "occupancy.md",
        sentence: "the block's 8 warps take {}.",
        value: || grouped(block_registers("tiled_16", 256)),
    },
    Figure {
        chapter: "occupancy.md",
        sentence: "and {} for the block's 32 warps",
        value: || grouped(block_registers("tiled_32", 1024)),
    },
    Figure {
        chapter: "occupancy.md",
        sentence: "two would need {}:",
        value: || grouped(2 * block_registers("tiled_32", 1024)),
    },
    Figure {
        chapter: "tiled.md",
        sentence: "of 44 registers, which take {} in all",
        value: || grouped(block_registers("tiled_32", 1024)),
    },
];

#[test]
fn figures_in_sentences_are_those_of_the_tables() {
    let mut missing = Vec::new();
    for figure in FIGURES {
        let text = read(&chapters().join(figure.chapter));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = figure.sentence.replace("{}", &(figure.value)());
        // A figure's beginning is its own: 1 % is not the end of 81 %.
        let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.');
        if !text.match_indices(&sentence).any(|(at, _)| begins(at)) {
            missing.push(format!("{}: {sentence}", figure.chapter));
        }
    }
    assert!(
        missing.is_empty(),
        "sentences that the tables ask for: {missing:#?}"
    );
}

/// GFLOP/s of a kernel at the largest size that was measured.
fn rate(kernel: &str) -> f64 {
    number(of_kernel(&results("run.json"), kernel), "gflops").expect("a rate")
}

/// How many times as fast a kernel is as another one, to one decimal.
fn times(kernel: &str, other: &str) -> String {
    format!("{:.1}", rate(kernel) / rate(other))
}

fn percent_over(kernel: &str, other: &str) -> String {
    format!("{:.0}", (rate(kernel) / rate(other) - 1.0) * 100.0)
}

/// Percent of what the FP32 units do at the highest clock.
fn share_of_peak(kernel: &str) -> String {
    let peak = h200().peak_fp32_gflops().expect("a peak");
    format!("{:.0}", rate(kernel) / peak * 100.0)
}

/// Percent of the peak that `reproduce` compares a rung of a source with.
fn share_in_source(source: &str, rung: &str) -> String {
    let records = results("reproduce.json");
    let found = records.iter().find_map(|record| {
        let is_it = record["source"] == source && record["rung"] == rung;
        let figure = record["here"].as_array()?.first()?;
        (is_it && figure["unit"] == "% of peak").then(|| number(figure, "value"))?
    });
    format!("{:.0}", found.expect("a share"))
}

fn h200() -> &'static devices::DeviceModel {
    devices::find("H200").expect("a device of the table")
}

/// Registers that a block of a kernel takes: those of a warp are a multiple of the unit.
fn block_registers(kernel: &str, threads: u32) -> u32 {
    let Allocation {
        register_unit,
        register_scope,
        ..
    } = h200().architecture.allocation.value;
    assert!(matches!(register_scope, RegisterScope::Warp { .. }));
    let warp = (32 * thread_registers(kernel)).next_multiple_of(register_unit);
    threads / 32 * warp
}

/// Registers of a thread, as `ptxas` counted them.
fn thread_registers(kernel: &str) -> u32 {
    let table = read(&root().join(Path::new("ptx/registers.csv")));
    let row = |line: &str| {
        let registers = line.strip_prefix(kernel)?.strip_prefix(",sm_90a,")?;
        registers.parse().ok()
    };
    let found = table.lines().find_map(row);
    found.unwrap_or_else(|| panic!("no registers of {kernel}"))
}

/// A number with a comma before its thousands.
fn grouped(number: u32) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}
