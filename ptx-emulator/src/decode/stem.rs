//! Which modifiers belong to an instruction's name.
//!
//! ptxas takes modifiers in any order, apart from types among themselves (`modifiers.rs`) and those
//! that are a part of the name, such as `lo` of `mul.lo`: they stand directly behind the base. The
//! PTX ISA has one order and does not say which others are taken, so ptxas was asked: each modifier
//! of one form of each kind was moved to each other position (`conformance --orders`).

/// The modifiers that belong to the name of an instruction, in their order.
fn stem(base: &str) -> &'static [&'static str] {
    match base {
        "mul" | "mul24" | "mad" | "mad24" | "madc" | "dp2a" => &["lo", "hi", "wide"],
        "div" => &["full"],
        "shf" => &["l", "r"],
        "cvt" => &["pack"],
        "cvta" => &["to"],
        "st" | "red" => &["async"],
        "tex" => &["level", "grad", "base"],
        "suld" | "sust" | "sured" => &["b", "p"],
        "createpolicy" => &["fractional", "range", "cvt"],
        "multimem" => &["ld_reduce", "st", "red"],
        "wmma" => &["load", "store", "mma", "a", "b", "c", "d"],
        "wgmma" => &["mma_async", "fence", "commit_group", "wait_group"],
        "cp" => &[
            "reduce",
            "async",
            "bulk",
            "prefetch",
            "tensor",
            "wait_group",
            "read",
        ],
        "tcgen05" => &[
            "alloc",
            "dealloc",
            "relinquish_alloc_permit",
            "wait::ld",
            "wait::st",
            "fence::before_thread_sync",
            "fence::after_thread_sync",
            "ld",
            "st",
            "commit",
            "cp",
            "shift",
            "mma",
            "ws",
        ],
        "tensormap" => &["replace", "cp_fenceproxy"],
        _ => &[],
    }
}

/// Whether those that belong to the name stand in front of all others. `popc` of products of single
/// bits completes `and` or `xor`, and stands behind it.
pub(super) fn leads(base: &str, modifiers: &[&str]) -> bool {
    let counts = modifiers.iter().position(|name| *name == "popc");
    let combines = modifiers
        .iter()
        .position(|name| matches!(*name, "and" | "xor"));
    let is_product = matches!(base, "mma" | "wmma" | "wgmma");
    if is_product && counts.is_some() && combines.is_none_or(|at| Some(at) > counts) {
        return false;
    }
    let mut left = stem(base);
    let mut others = modifiers.iter().skip_while(|name| {
        let found = left.iter().position(|known| known == *name);
        left = found.map_or(left, |at| &left[at + 1..]);
        found.is_some()
    });
    !others.any(|name| stem(base).contains(name))
}

#[cfg(test)]
mod tests {
    use super::leads;

    #[test]
    fn names_come_first() {
        let leads = |opcode: &str| {
            let parts: Vec<&str> = opcode.split('.').collect();
            leads(parts[0], &parts[1..])
        };
        for opcode in [
            "mul.lo.u16",
            "setp.u32.lo",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32",
            "wmma.mma.sync.xor.popc.aligned.row.col.m8n8k128.s32.b1.b1.s32",
            "bar.red.popc.u32",
        ] {
            assert!(leads(opcode), "{opcode}");
        }
        for opcode in [
            "mul.u16.lo",
            "mad.cc.lo.u32",
            "cp.bulk.async.global",
            "wmma.popc.xor",
        ] {
            assert!(!leads(opcode), "{opcode}");
        }
    }
}
