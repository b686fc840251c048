//! A profile as JSON.

use super::Profile;
use crate::catalogue::Family;
use ptx_emulator::InstructionId;
use ptx_emulator::counters::{ClassCounts, Counters, Counts, Footprint, LineCounts};
use std::collections::HashMap;
use warpladder::element::ElementType;

/// A profile: what `profile --json` writes. Units stand with the fields of the parts, in the
/// documentation of [`ptx_emulator::counters`].
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct ProfileRecord {
    /// Name of the rung.
    pub kernel: &'static str,
    /// The rung that ran, where the kernel only chooses one; null elsewhere.
    pub ran: Option<&'static str>,
    /// Its family.
    pub family: Family,
    /// Element type.
    pub element: ElementType,
    /// Rows of a product's output, or of a transpose's input. One-dimensional problems have m · n
    /// elements.
    pub m: u32,
    /// Columns of the same.
    pub n: u32,
    /// The dimension that a product sums over, or 16 times the rounds of the FMA chains; null
    /// elsewhere.
    pub k: Option<u32>,
    /// Whether the output was right.
    pub ok: bool,
    /// Largest absolute difference from the reference; null where an element is NaN.
    pub error: Option<f64>,
    /// Largest difference that passes.
    pub tolerance: f64,
    /// What was wrong, as one line; null where nothing was.
    pub complaint: Option<String>,
    /// What was counted.
    #[serde(flatten)]
    pub measurement: Measurement,
}

/// One PTX instruction of a profile.
#[derive(Clone, Debug, serde::Serialize)]
pub struct InstructionRecord {
    /// Its number, by which `lines` name it.
    pub id: InstructionId,
    /// Its line in the PTX.
    pub ptx_line: u32,
    /// Its opcode, such as `ld.global.nc.b32`.
    pub opcode: String,
    /// What it did.
    pub counts: Counts,
}

impl From<&Profile> for ProfileRecord {
    fn from(profile: &Profile) -> Self {
        let Profile {
            rung,
            ran,
            shape,
            verdict,
            ..
        } = profile;
        ProfileRecord {
            kernel: rung.name,
            ran: (ran.name != rung.name).then_some(ran.name),
            family: rung.family,
            element: rung.element,
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            ok: verdict.ok,
            error: Some(verdict.error).filter(|error| error.is_finite()),
            tolerance: verdict.tolerance,
            complaint: verdict.complaint.clone(),
            measurement: profile.main().into(),
        }
    }
}

/// What a kernel did.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Measurement {
    /// Lanes per warp instruction, at most 32; null where nothing ran.
    pub average_active_lanes: Option<f64>,
    /// Arithmetic intensity: FLOP per byte that moved between the SMs and the caches; null where
    /// none did.
    pub flops_per_byte_moved: Option<f64>,
    /// FLOP per distinct byte of global memory; null where none was touched.
    pub flops_per_distinct_byte: Option<f64>,
    /// What the kernel did.
    pub total: Counts,
    /// What it touched in global memory.
    pub footprint: Footprint,
    /// Its instructions by class.
    pub classes: Vec<ClassCounts>,
    /// What each line of its source did. Its instructions are named by their `id`.
    pub lines: Vec<LineCounts>,
    /// What each instruction did that was issued.
    pub instructions: Vec<InstructionRecord>,
}

impl Measurement {
    /// A function from a line to what each of its instructions did.
    pub fn parts<'m>(&'m self) -> impl Fn(&LineCounts) -> Vec<&'m Counts> {
        let of_instructions: HashMap<InstructionId, &'m Counts> = self
            .instructions
            .iter()
            .map(|instruction| (instruction.id, &instruction.counts))
            .collect();
        move |line| {
            let instructions = line.instructions.iter();
            instructions
                .filter_map(|id| of_instructions.get(id).copied())
                .collect()
        }
    }
}

impl From<&Counters> for Measurement {
    fn from(counters: &Counters) -> Self {
        let total = counters.total();
        Measurement {
            average_active_lanes: total.average_active_lanes(),
            flops_per_byte_moved: total.flops_per_byte_moved(),
            flops_per_distinct_byte: counters.flops_per_distinct_byte(),
            total,
            footprint: counters.footprint(),
            classes: counters.by_class(),
            lines: counters.lines(),
            instructions: instructions(counters),
        }
    }
}

fn instructions(counters: &Counters) -> Vec<InstructionRecord> {
    let Some(kernel) = counters.kernel() else {
        return Vec::new();
    };
    let record = |(id, counts)| {
        let instruction = kernel.instruction(id);
        InstructionRecord {
            id,
            ptx_line: instruction.line(),
            opcode: instruction.opcode().to_owned(),
            counts,
        }
    };
    counters.instructions().into_iter().map(record).collect()
}
