//! The registers in the text of an instruction.

/// The registers that an instruction's text names, in its order.
pub(super) fn registers(text: &str) -> impl Iterator<Item = &str> {
    let operands = text.split([' ', '\t', ',', '{', '}', '[', ']', '+', '|', '!', '@', ';']);
    operands.filter(|word| word.starts_with('%') && word.ends_with(|c: char| c.is_ascii_digit()))
}

/// How many registers the first operand of an instruction has: the elements of a vector, or the two
/// of a pair.
pub(super) fn destinations(text: &str) -> usize {
    let body = text.strip_prefix('@').map_or(text, |guarded| {
        guarded.split_once([' ', '\t']).map_or("", |(_, rest)| rest)
    });
    let operands = body
        .trim_start()
        .split_once([' ', '\t'])
        .map_or("", |(_, rest)| rest);
    let operands = operands.trim_start();
    let first = match operands.strip_prefix('{') {
        Some(vector) => vector.split('}').next(),
        None => operands.split(',').next(),
    };
    registers(first.unwrap_or_default()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_from_operands() {
        for (text, written, named) in [
            ("fma.rn.f32 \t%r15, %r10, %r11, %r15", 1, 4),
            ("ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd7+16]", 4, 5),
            ("@%p1 ld.shared.b32 \t%r3, [%r9]", 1, 3),
            ("setp.lt.u32 %p1|%p2, %r1, 7", 2, 3),
            ("@!%p3 bra $L__BB60_4", 0, 1),
            ("mov.u32 %r1, %tid.x", 1, 1),
        ] {
            assert_eq!(destinations(text), written, "{text}");
            assert_eq!(registers(text).count(), named, "{text}");
        }
    }
}
