//! The totals of a profile, and its instructions by class.

use super::share;
use crate::table;
use ptx_emulator::counters::{
    BulkCounts, ClassCounts, ConstantCounts, Counts, GlobalCounts, PlainCounts, SharedCounts,
};
use ptx_emulator::{InstructionClass, Space};
use std::io::{self, Write};
use warpladder_lab::profile::Measurement;
use warpladder_report::numbers::{grouped, ratio};

pub(super) fn print(to: &mut dyn Write, record: &Measurement) -> io::Result<()> {
    for (name, figures) in totals(record) {
        print_figure(to, name, &figures)?;
    }
    Ok(())
}

pub(super) fn print_figure(to: &mut dyn Write, name: &str, figures: &str) -> io::Result<()> {
    let line = format!("  {name:22}{figures}");
    writeln!(to, "{}", table::wrapped(&line, 24))
}

/// The lines of the totals: name and figures.
fn totals(record: &Measurement) -> Vec<(&'static str, String)> {
    let total = &record.total;
    if total.warp_instructions == 0 {
        let none = "none: there is nothing to compute".to_owned();
        return vec![("instructions", none)];
    }
    let mut lines = vec![("instructions", instructions(total))];
    if total.branches > 0 {
        let (branches, divergent) = (grouped(total.branches), grouped(total.divergent_branches));
        let figures = format!("{branches} by warps, {divergent} divergent");
        lines.push(("conditional branches", figures));
    }
    if total.barriers > 0 {
        lines.push(("barriers", format!("{} by warps", grouped(total.barriers))));
    }
    lines.push(("floating point", flops(record)));
    let accesses = [
        ("global loads", global_accesses(&total.global_loads)),
        ("global stores", global_accesses(&total.global_stores)),
        ("global atomics", global_accesses(&total.global_atomics)),
        ("bulk loads", bulk_copies(&total.bulk_loads)),
        ("bulk stores", bulk_copies(&total.bulk_stores)),
        ("distinct bytes", Some(footprint(record))),
        ("shared loads", shared_accesses(&total.shared_loads)),
        ("shared stores", shared_accesses(&total.shared_stores)),
        ("shared atomics", plain_accesses(&total.shared_atomics)),
        ("local loads", plain_accesses(&total.local_loads)),
        ("local stores", plain_accesses(&total.local_stores)),
        ("constant loads", constant_accesses(&total.constant_loads)),
    ];
    let present = accesses
        .into_iter()
        .filter_map(|(name, figures)| Some((name, figures?)));
    lines.extend(present);
    lines
}

fn instructions(total: &Counts) -> String {
    format!(
        "{} by warps, {} by threads; {} of 32 lanes active on average",
        grouped(total.warp_instructions),
        grouped(total.thread_instructions),
        ratio(total.average_active_lanes()),
    )
}

fn flops(record: &Measurement) -> String {
    match record.total.flops {
        0 => "none".to_owned(),
        flops => format!(
            "{} FLOP: {} per byte moved, {} per distinct byte",
            grouped(flops),
            ratio(record.flops_per_byte_moved),
            ratio(record.flops_per_distinct_byte),
        ),
    }
}

fn footprint(record: &Measurement) -> String {
    let touched = &record.footprint;
    format!(
        "{} read, {} written; {} in whole sectors",
        grouped(touched.bytes_read),
        grouped(touched.bytes_written),
        grouped(touched.sector_bytes()),
    )
}

fn global_accesses(global: &GlobalCounts) -> Option<String> {
    (global.requests > 0).then(|| {
        format!(
            "{} requests, {} sectors ({} per request); {} bytes requested, {} moved",
            grouped(global.requests),
            grouped(global.sectors),
            ratio(global.sectors_per_request()),
            grouped(global.bytes),
            grouped(global.bytes_moved()),
        )
    })
}

fn bulk_copies(bulk: &BulkCounts) -> Option<String> {
    (bulk.bytes > 0).then(|| {
        format!(
            "{} sectors; {} bytes requested, {} moved",
            grouped(bulk.sectors),
            grouped(bulk.bytes),
            grouped(bulk.bytes_moved()),
        )
    })
}

fn shared_accesses(shared: &SharedCounts) -> Option<String> {
    (shared.requests > 0).then(|| {
        let worst = match shared.worst_conflict {
            1 => "no bank conflicts".to_owned(),
            ways => format!("bank conflicts up to {ways}-way"),
        };
        format!(
            "{} requests, {} wavefronts ({} times the ideal), {worst}; {} bytes requested",
            grouped(shared.requests),
            grouped(shared.wavefronts),
            ratio(shared.conflict_ratio()),
            grouped(shared.bytes),
        )
    })
}

fn constant_accesses(constant: &ConstantCounts) -> Option<String> {
    (constant.requests > 0).then(|| {
        format!(
            "{} requests for {} addresses; {} bytes requested",
            grouped(constant.requests),
            grouped(constant.addresses),
            grouped(constant.bytes),
        )
    })
}

fn plain_accesses(plain: &PlainCounts) -> Option<String> {
    (plain.requests > 0).then(|| {
        let (requests, bytes) = (grouped(plain.requests), grouped(plain.bytes));
        format!("{requests} requests; {bytes} bytes requested")
    })
}

pub(super) fn print_classes(to: &mut dyn Write, record: &Measurement) -> io::Result<()> {
    let mut classes: Vec<&ClassCounts> = record.classes.iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.warp_instructions));
    let mut table = table::new(&["instructions", "by warps", "by threads", "share %"]);
    for class in classes {
        table.add_row([
            class_name(class),
            grouped(class.warp_instructions),
            grouped(class.thread_instructions),
            share(class.warp_instructions, record),
        ]);
    }
    table::align_numbers(&mut table, 1);
    writeln!(to, "\n{table}")
}

fn class_name(counts: &ClassCounts) -> String {
    let name = match counts.class {
        InstructionClass::Float32 => "f32 arithmetic",
        InstructionClass::Fma32 => "f32 fused multiply-add",
        InstructionClass::Float64 => "f64 arithmetic",
        InstructionClass::Fma64 => "f64 fused multiply-add",
        InstructionClass::Half => "f16, bf16 arithmetic",
        InstructionClass::Tensor => "tensor cores",
        InstructionClass::Integer => "integer",
        InstructionClass::Compare => "comparison, selection",
        InstructionClass::Move => "move",
        InstructionClass::Conversion => "conversion",
        InstructionClass::Load => "load",
        InstructionClass::Store => "store",
        InstructionClass::Atomic => "atomic",
        InstructionClass::Control => "control",
        InstructionClass::Barrier => "barrier, fence",
        InstructionClass::Warp => "warp exchange",
        InstructionClass::Other => "other",
    };
    let space = match counts.space {
        None => return name.to_owned(),
        Some(Space::Generic) => "generic",
        Some(Space::Global) => "global",
        Some(Space::Shared) => "shared",
        Some(Space::Cluster) => "cluster",
        Some(Space::Local) => "local",
        Some(Space::Const) => "constant",
        Some(Space::Param) => "parameter",
    };
    format!("{name}, {space}")
}
