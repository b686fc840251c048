//! Which modifiers and types go with an instruction that computes.
//!
//! The families of decoders take modifiers by name, wherever they stand, and would overlook one
//! that does not belong there. These rules come first: what the grammar of the PTX ISA does not
//! have is refused, as ptxas refuses it.

/// One line of the grammar: the types at the end of the opcode, part by part, with alternatives
/// (`u32|s32.f32`), and groups of modifiers. An opcode has at most one of each group, exactly one
/// where `!` stands in front; `+` joins those that go together.
type Rule = (&'static str, &'static str);

const SUM: &[Rule] = &[
    ("u16|u32|u64|s16|s32|s64", ""),
    ("u32|s32|u16x2|s16x2", "sat"),
    ("u8x4|s8x4", "sat"),
    ("u32|s32|u64|s64", "!cc"),
    ("f32", "rn|rz|rm|rp ftz sat"),
    ("f32x2", "rn|rz|rm|rp ftz"),
    ("f64", "rn|rz|rm|rp"),
    ("f16|f16x2", "rn ftz sat"),
    ("bf16|bf16x2", "rn"),
    ("f32.f16|bf16", "rn|rz|rm|rp sat"),
];

const DIFFERENCE: &[Rule] = &[
    ("u16|u32|u64|s16|s32|s64", ""),
    ("s32|u8x4|s8x4", "sat"),
    ("u32|s32|u64|s64", "!cc"),
    ("f32", "rn|rz|rm|rp ftz sat"),
    ("f32x2", "rn|rz|rm|rp ftz"),
    ("f64", "rn|rz|rm|rp"),
    ("f16|f16x2", "rn ftz sat"),
    ("bf16|bf16x2", "rn"),
    ("f32.f16|bf16", "rn|rz|rm|rp sat"),
];

const PRODUCT: &[Rule] = &[
    ("u16|u32|u64|s16|s32|s64", "!lo|hi"),
    ("u16|u32|s16|s32", "!wide"),
    ("f32", "rn|rz|rm|rp ftz sat"),
    ("f32x2", "rn|rz|rm|rp ftz"),
    ("f64", "rn|rz|rm|rp"),
    ("f16|f16x2", "rn ftz sat"),
    ("bf16|bf16x2", "rn"),
];

const FUSED: &[Rule] = &[
    ("f32", "!rn|rz|rm|rp ftz sat"),
    ("f32x2", "!rn|rz|rm|rp ftz"),
    ("f64", "!rn|rz|rm|rp"),
    ("f16|f16x2", "!rn ftz sat|relu"),
    ("bf16|bf16x2", "!rn relu"),
    ("f16|f16x2|bf16|bf16x2", "!rn !oob relu"),
    ("f32.f16|bf16", "!rn|rz|rm|rp sat"),
];

const PRODUCT_AND_SUM: &[Rule] = &[
    ("u16|u32|u64|s16|s32|s64", "!lo|hi"),
    ("u16|u32|s16|s32", "!wide"),
    ("u32|s32|u64|s64", "!lo|hi !cc"),
    ("s32", "!hi !sat"),
    ("f32", "!rn|rz|rm|rp ftz sat"),
    ("f64", "!rn|rz|rm|rp"),
];

const CARRY: &[Rule] = &[("u32|s32|u64|s64", "cc")];

const DIVISION: &[Rule] = &[
    ("u16|u32|u64|s16|s32|s64", ""),
    ("f32", "!approx|full|rn|rz|rm|rp ftz"),
    ("f64", "!rn|rz|rm|rp"),
];

const EXTREME: &[Rule] = &[
    ("u16|u32|u64|s16|s64|u16x2|u8x4", ""),
    ("s32|s16x2|s8x4", "relu"),
    ("f32", "ftz NaN xorsign+abs"),
    // Of three operands.
    ("f32", "ftz NaN abs"),
    ("f64", ""),
    ("f16|f16x2", "ftz NaN xorsign+abs"),
    ("bf16|bf16x2", "NaN xorsign+abs"),
];

const SIGN: &[Rule] = &[
    ("s16|s32|s64|s8x4|f64|bf16|bf16x2", ""),
    ("f32|f16|f16x2", "ftz"),
];

const LOGIC: &[Rule] = &[("pred|b16|b32|b64", "")];

const ROOT: &[Rule] = &[
    ("f32", "!approx|rn|rz|rm|rp ftz"),
    ("f64", "!rn|rz|rm|rp"),
    ("f64", "!approx !ftz"),
];

const EQUALITY: &str = "!eq|ne and|or|xor";
const ORDER: &str = "!eq|ne|lt|le|gt|ge and|or|xor";
const UNSIGNED_ORDER: &str = "!eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor";
const FLOAT_ORDER: &str = "!eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor";
const FLUSHED_ORDER: &str = "!eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor ftz";

const COMPARISON: &[Rule] = &[
    ("f32|f16|f16x2", FLUSHED_ORDER),
    ("f64|bf16|bf16x2", FLOAT_ORDER),
    ("b16|b32|b64", EQUALITY),
    ("u16|u32|u64", UNSIGNED_ORDER),
    ("s16|s32|s64", ORDER),
];

const COMPARISON_AS_NUMBER: &[Rule] = &[
    ("u32|s32|f32|f16|bf16.f32", FLUSHED_ORDER),
    ("u16|s16|u32|s32|f16.f16", FLUSHED_ORDER),
    ("u32|s32|f16x2.f16x2", FLUSHED_ORDER),
    ("u32|s32|f32|f16|bf16.f64", FLOAT_ORDER),
    ("u16|s16|u32|s32|bf16.bf16", FLOAT_ORDER),
    ("u32|s32|bf16x2.bf16x2", FLOAT_ORDER),
    ("u32|s32|f32|f16|bf16.b16|b32|b64", EQUALITY),
    ("u32|s32|f32|f16|bf16.u16|u32|u64", UNSIGNED_ORDER),
    ("u32|s32|f32|f16|bf16.s16|s32|s64", ORDER),
];

const INTEGERS: &str = "u8|s8|u16|s16|u32|s32|u64|s64.u8|s8|u16|s16|u32|s32|u64|s64";

const CONVERSION: &[Rule] = &[
    (INTEGERS, "sat"),
    (
        "u8|s8|u16|s16|u32|s32|u64|s64.f32",
        "!rni|rzi|rmi|rpi ftz sat",
    ),
    (
        "u8|s8|u16|s16|u32|s32|u64|s64.f16|bf16|f64",
        "!rni|rzi|rmi|rpi sat",
    ),
    ("f32.u8|s8|u16|s16|u32|s32|u64|s64", "!rn|rz|rm|rp ftz sat"),
    ("f16|f64.u8|s8|u16|s16|u32|s32|u64|s64", "!rn|rz|rm|rp sat"),
    ("bf16.u8|s8|u16|s16|u32|s32|u64|s64", "!rn|rz|rm|rp"),
    ("f32.f32", "rni|rzi|rmi|rpi ftz sat"),
    ("f16.f16", "rni|rzi|rmi|rpi sat"),
    ("f64.f64", "rni|rzi|rmi|rpi sat"),
    ("f64.f16", "sat"),
    ("f16.f64", "!rn|rz|rm|rp sat"),
    ("bf16.bf16", "rni|rzi|rmi|rpi"),
    ("f64.f32", "ftz sat"),
    ("f32.f16", "ftz sat"),
    ("f32.bf16", "ftz"),
    ("f64.bf16", ""),
    ("f32.f64", "!rn|rz|rm|rp ftz sat"),
    ("f16.f32", "!rn|rz|rm|rp ftz sat"),
    ("f16|bf16.f32", "!rn|rz relu satfinite"),
    ("bf16.f32|f64", "!rn|rz|rm|rp"),
    // Of equal width: without a rounding, ptxas makes the code of `.rn`.
    ("bf16.f16", "rn|rz|rm|rp"),
    ("f16.bf16", "rn|rz|rm|rp"),
    ("f16x2|bf16x2.f32", "!rn|rz relu satfinite"),
    ("tf32.f32", "!rna satfinite"),
    ("tf32.f32", "!rn|rz relu satfinite"),
];

/// The rules of an instruction; none where its decoder asks for every modifier by itself.
fn rules(base: &str) -> Option<&'static [Rule]> {
    Some(match base {
        "add" => SUM,
        "sub" => DIFFERENCE,
        "mul" => PRODUCT,
        "fma" => FUSED,
        "mad" => PRODUCT_AND_SUM,
        "addc" | "subc" => CARRY,
        "madc" => &[("u32|s32|u64|s64", "!lo|hi cc")],
        "mul24" => &[("u32|s32", "!lo|hi")],
        "mad24" => &[("u32|s32", "!lo|hi"), ("s32", "!hi !sat")],
        "div" => DIVISION,
        "rem" | "sad" => &[("u16|u32|u64|s16|s32|s64", "")],
        "min" | "max" => EXTREME,
        "neg" | "abs" => SIGN,
        "and" | "or" | "xor" | "not" => LOGIC,
        "cnot" => &[("b16|b32|b64", "")],
        "popc" | "clz" | "brev" | "bfi" => &[("b32|b64", "")],
        "bfind" => &[("u32|s32|u64|s64", "shiftamt")],
        "bfe" => &[("u32|s32|u64|s64", "")],
        "shl" => &[("b16|b32|b64", "")],
        "shr" => &[("b16|b32|b64|u16|u32|u64|s16|s32|s64", "")],
        "shf" => &[("b32", "!l|r !clamp|wrap")],
        "clmad" => &[("u64", "!lo|hi")],
        "dp4a" => &[("u32|s32.u32|s32", "")],
        "dp2a" => &[("u32|s32.u32|s32", "!lo|hi")],
        "bmsk" => &[("b32", "!clamp|wrap")],
        "szext" => &[("u32|s32", "!clamp|wrap")],
        "fns" => &[("b32", "")],
        "lop3" => &[("b32", "and|or")],
        "rcp" | "sqrt" => ROOT,
        "rsqrt" => &[("f32|f64", "!approx ftz")],
        "sin" | "cos" | "lg2" => &[("f32", "!approx ftz")],
        "ex2" => &[
            ("f32", "!approx ftz"),
            ("f16|f16x2", "!approx"),
            ("bf16|bf16x2", "!approx !ftz"),
        ],
        "tanh" => &[("f32|f16|f16x2|bf16|bf16x2", "!approx")],
        "copysign" => &[("f32|f64", "")],
        "testp" => &[(
            "f32|f64",
            "!finite|infinite|number|notanumber|normal|subnormal",
        )],
        "setp" => COMPARISON,
        "set" => COMPARISON_AS_NUMBER,
        "selp" => &[("b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", "")],
        "slct" => &[
            ("b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64.s32", ""),
            ("b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64.f32", "ftz"),
        ],
        "cvt" => CONVERSION,
        _ => return None,
    })
}

/// Whether the grammar has an opcode, from its base name and what stands behind.
pub(super) fn has(base: &str, parts: &[&str]) -> bool {
    // Packed integers and floats that are narrow or rounded at random have decoders of their own.
    let is_apart = |part: &&str| {
        matches!(*part, "pack" | "rs") || part.starts_with('e') && part.contains('m') || {
            part.starts_with("ue8m0") || part.starts_with("s2f6")
        }
    };
    match rules(base) {
        Some(_) if base == "cvt" && parts.iter().any(is_apart) => true,
        Some(rules) => rules.iter().any(|rule| matches(rule, parts)),
        None => true,
    }
}

fn matches((types, groups): &Rule, parts: &[&str]) -> bool {
    let Some(before) = parts.len().checked_sub(types.split('.').count()) else {
        return false;
    };
    let (modifiers, of_types) = parts.split_at(before);
    let is_one = |(part, names): (&&str, &str)| names.split('|').any(|name| name == *part);
    if !of_types.iter().zip(types.split('.')).all(is_one) {
        return false;
    }
    // Each group takes as many modifiers as it has; none may be left.
    let mut left = modifiers.len();
    for group in groups.split_ascii_whitespace() {
        let (required, group) = match group.strip_prefix('!') {
            Some(group) => (true, group),
            None => (false, group),
        };
        let of_group = |name: &str| group.split(['|', '+']).any(|known| known == name);
        let found = modifiers.iter().filter(|name| of_group(name)).count();
        let whole = if group.contains('+') { 2 } else { 1 };
        if found != whole && (required || found != 0) {
            return false;
        }
        left -= found;
    }
    left == 0
}

#[cfg(test)]
mod tests {
    use super::has;

    fn takes(opcode: &str) -> bool {
        let parts: Vec<&str> = opcode.split('.').collect();
        has(parts[0], &parts[1..])
    }

    #[test]
    fn modifiers_go_with_types() {
        for opcode in [
            "add.s32",
            "add.sat.s32",
            "add.rz.ftz.sat.f32",
            "min.NaN.xorsign.abs.bf16x2",
            "max.abs.f32",
            "cvt.rni.ftz.sat.s8.f32",
            "cvt.rn.satfinite.e4m3x2.f32",
            "set.lt.and.ftz.u32.f16x2",
            "ld.global.b32",
        ] {
            assert!(takes(opcode), "{opcode}");
        }
        for opcode in [
            "sub.sat.u32",
            "sub.s16x2",
            "add.rz.f16",
            "mul.lo.sat.s32",
            "mul.f16.f16",
            "mul.s32",
            "max.xorsign.f16",
            "cvt.f32.s32",
            "cvt.rn.rz.f32.f64",
            "cvt.rni.s32.s64",
            "setp.lo.s32",
            "add",
        ] {
            assert!(!takes(opcode), "{opcode}");
        }
    }
}
