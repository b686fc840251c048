//! What counters read from an opcode.

use crate::ir::{InstructionClass, Space};

/// Floating-point operations of one thread that executes the instruction; see
/// [`Counts::flops`](super::Counts::flops).
pub(super) fn flops(opcode: &str, class: InstructionClass) -> u64 {
    use InstructionClass::{Float32, Float64, Fma32, Fma64, Half, Tensor};
    if class == Tensor {
        return matrix_flops(opcode).unwrap_or(0);
    }
    if !matches!(class, Float32 | Float64 | Fma32 | Fma64 | Half) {
        return 0;
    }
    let base = opcode.split('.').next().unwrap_or("");
    let values = match opcode.ends_with("x2") {
        true => 2,
        false => 1,
    };
    match base {
        "fma" | "mad" => 2 * values,
        "add" | "sub" | "mul" | "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "ex2"
        | "lg2" | "tanh" => values,
        _ => 0,
    }
}

/// The share of one lane in an MMA: 1/32 for `mma`, 1/128 for `wgmma`.
fn matrix_flops(opcode: &str) -> Option<u64> {
    let shape = opcode.split('.').find_map(|part| {
        let (m, rest) = part.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse::<u64>().ok()?])
    });
    let [m, n, k]: [u64; 3] = shape?;
    let lanes = if opcode.starts_with("wgmma") { 128 } else { 32 };
    Some(2 * m * n * k / lanes)
}

/// The space that a load, store or atomic names; generic where it names none.
pub(super) fn space(opcode: &str, class: InstructionClass) -> Option<Space> {
    use InstructionClass::{Atomic, Load, Store};
    if !matches!(class, Load | Store | Atomic) {
        return None;
    }
    let copies = opcode.starts_with("cp.");
    let named = opcode.split('.').find_map(|part| {
        if part == "shared::cluster" && !copies {
            return Some(Space::Cluster);
        }
        // Newer PTX has subspaces: `.shared::cta`, `.param::entry`.
        match part.split("::").next().unwrap_or("") {
            "global" => Some(Space::Global),
            "shared" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "const" => Some(Space::Const),
            "param" => Some(Space::Param),
            _ => None,
        }
    });
    Some(named.unwrap_or(Space::Generic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arithmetic_counts_as_flops() {
        for (opcode, class, expected) in [
            ("fma.rn.f32", InstructionClass::Fma32, 2),
            ("mad.rn.f64", InstructionClass::Fma64, 2),
            ("fma.rn.bf16x2", InstructionClass::Half, 4),
            ("add.rn.f32", InstructionClass::Float32, 1),
            ("rsqrt.approx.f32", InstructionClass::Float32, 1),
            ("neg.f32", InstructionClass::Float32, 0),
            ("min.f64", InstructionClass::Float64, 0),
            (
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                InstructionClass::Tensor,
                128,
            ),
            (
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
                InstructionClass::Tensor,
                128,
            ),
            ("mad.lo.s32", InstructionClass::Integer, 0),
        ] {
            assert_eq!(flops(opcode, class), expected, "{opcode}");
        }
    }

    #[test]
    fn spaces_are_those_of_the_opcode() {
        let of = |opcode| space(opcode, InstructionClass::Load);
        assert_eq!(of("ld.volatile.shared.v4.b32"), Some(Space::Shared));
        assert_eq!(of("ld.shared::cta.b32"), Some(Space::Shared));
        assert_eq!(of("ld.global.nc.b32"), Some(Space::Global));
        assert_eq!(of("ld.b32"), Some(Space::Generic));
        assert_eq!(space("add.s32", InstructionClass::Integer), None);
    }
}
