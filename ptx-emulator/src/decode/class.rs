//! Sorts instructions into the classes that counters report.

use crate::ir::InstructionClass;

/// The class of an opcode, from its base name and its modifiers.
pub(crate) fn classify(base: &str, modifiers: &[&str]) -> InstructionClass {
    let ty = modifiers.last().copied().unwrap_or("");
    match base {
        "ld" | "ldu" | "ldmatrix" | "tex" | "tld4" | "suld" => InstructionClass::Load,
        "st" | "stmatrix" | "sust" => InstructionClass::Store,
        "atom" | "red" | "sured" => InstructionClass::Atomic,
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" => InstructionClass::Control,
        "bar" | "barrier" if modifiers.first() == Some(&"warp") => InstructionClass::Warp,
        "bar" | "barrier" | "membar" | "fence" | "mbarrier" => InstructionClass::Barrier,
        "mma" => InstructionClass::Tensor,
        "wmma" if modifiers.first() == Some(&"mma") => InstructionClass::Tensor,
        "wmma" if modifiers.first() == Some(&"store") => InstructionClass::Store,
        "wmma" => InstructionClass::Load,
        "wgmma" if modifiers.first() == Some(&"mma_async") => InstructionClass::Tensor,
        "wgmma" => InstructionClass::Barrier,
        "tcgen05" => class_of_tensor_memory(modifiers),
        "cp" => class_of_copy(modifiers),
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => InstructionClass::Warp,
        "setp" | "set" | "selp" | "slct" | "testp" => InstructionClass::Compare,
        "txq" | "suq" | "mov" | "cvta" | "isspacep" | "mapa" | "getctarank" => {
            InstructionClass::Move
        }
        "cvt" => InstructionClass::Conversion,
        _ => match ty {
            "pred" => InstructionClass::Compare,
            "f16" | "f16x2" | "bf16" | "bf16x2" => InstructionClass::Half,
            "f32" if matches!(base, "fma" | "mad") => InstructionClass::Fma32,
            "f64" if matches!(base, "fma" | "mad") => InstructionClass::Fma64,
            "f32" => InstructionClass::Float32,
            "f64" => InstructionClass::Float64,
            "" | "level" | "L1" | "L2" => InstructionClass::Other,
            _ if matches!(base, "prefetch" | "prefetchu" | "nanosleep" | "discard") => {
                InstructionClass::Other
            }
            _ => InstructionClass::Integer,
        },
    }
}

fn class_of_tensor_memory(modifiers: &[&str]) -> InstructionClass {
    match modifiers.first() {
        Some(&"mma") => InstructionClass::Tensor,
        Some(&("ld" | "cp")) => InstructionClass::Load,
        Some(&"st") => InstructionClass::Store,
        Some(&("alloc" | "dealloc" | "relinquish_alloc_permit" | "shift")) => {
            InstructionClass::Other
        }
        _ => InstructionClass::Barrier,
    }
}

/// `cp.async`, its groups and its barriers.
fn class_of_copy(modifiers: &[&str]) -> InstructionClass {
    let is_wait = |name: &&str| {
        matches!(
            *name,
            "commit_group" | "wait_group" | "wait_all" | "mbarrier"
        )
    };
    match modifiers.iter().take(3).any(is_wait) {
        true => InstructionClass::Barrier,
        false => InstructionClass::Load,
    }
}
