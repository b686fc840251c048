//! Values in words.

use super::command::Format;
use ptx_emulator::stepping::RegisterValue;
use warpladder_lab::emulate::Scalar;

/// Values in a row of a print.
const IN_A_ROW: usize = 8;

/// The integer type of this many bits.
fn integer(bits: u32, is_signed: bool) -> Scalar {
    match (bits, is_signed) {
        (..=8, false) => Scalar::U8,
        (..=8, true) => Scalar::S8,
        (..=16, false) => Scalar::U16,
        (..=16, true) => Scalar::S16,
        (..=32, false) => Scalar::U32,
        (..=32, true) => Scalar::S32,
        (_, false) => Scalar::U64,
        (_, true) => Scalar::S64,
    }
}

/// A value of a type as a format wants it, from its bytes as they lie in memory; an error where the
/// type's size has no floats.
pub(super) fn show(bytes: &[u8], own: Scalar, format: Option<Format>) -> Result<String, String> {
    let bits = 8 * bytes.len() as u32;
    let shown = match format {
        None => own,
        Some(Format::Signed) => integer(bits, true),
        Some(Format::Unsigned) => integer(bits, false),
        Some(Format::Float) if own.is_float() => own,
        Some(Format::Float) => match bits {
            16 => Scalar::F16,
            32 => Scalar::F32,
            64 => Scalar::F64,
            _ => return Err(format!("there are no floats of {bits} bits")),
        },
        Some(Format::Hexadecimal) => {
            let digits: String = bytes
                .iter()
                .rev()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let digits = digits.trim_start_matches('0');
            return Ok(format!(
                "0x{}",
                if digits.is_empty() { "0" } else { digits }
            ));
        }
    };
    Ok(shown.show(bytes))
}

/// The value of a register in a lane: integers of 64 untyped bits are mostly addresses, and
/// hexadecimal unless a format is given.
fn lane(register: &RegisterValue, value: u64, format: Option<Format>) -> Result<String, String> {
    let untyped = register.ty.starts_with('b');
    let own = match register.ty.parse::<Scalar>() {
        Ok(own) if !untyped => own,
        _ => integer(register.bits, untyped),
    };
    let format = match register.ty.as_str() {
        "b64" => format.or(Some(Format::Hexadecimal)),
        _ => format,
    };
    let bytes = value.to_le_bytes();
    show(
        &bytes[..(register.bits as usize).div_ceil(8).min(8)],
        own,
        format,
    )
}

/// A register in all lanes: in one line where they agree, else in rows.
pub(super) fn register(value: &RegisterValue, format: Option<Format>) -> Result<String, String> {
    let RegisterValue { name, written, .. } = value;
    if *written == 0 {
        return Ok(format!("{name}: no lane has written it"));
    }
    let cells = (0..32).map(|index| match value.lane(index) {
        Some(bits) => lane(value, bits, format),
        None => Ok("-".to_owned()),
    });
    let cells = cells.collect::<Result<Vec<String>, String>>()?;
    let mut known = (0..32)
        .filter(|lane| written >> lane & 1 != 0)
        .map(|lane| &cells[lane]);
    let first = known.next().cloned().unwrap_or_default();
    if known.all(|cell| *cell == first) {
        return Ok(format!("{name} = {first} in {}", lanes(*written)));
    }
    let missing = match written {
        &u32::MAX => "",
        _ => " (-: not written)",
    };
    Ok(format!("{name}:{missing}\n{}", rows("lane", 0, &cells)))
}

/// Values in rows, each with the index of its first.
pub(super) fn rows(what: &str, first: u64, cells: &[String]) -> String {
    let width = cells
        .iter()
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0);
    let last = first.saturating_add(cells.len() as u64);
    let digits = last.to_string().len();
    let rows = cells.chunks(IN_A_ROW).zip((first..).step_by(IN_A_ROW));
    let rows = rows.map(|(row, at)| {
        let cells: Vec<String> = row.iter().map(|cell| format!("{cell:>width$}")).collect();
        let what = if what.is_empty() {
            ""
        } else {
            &format!("{what} ")
        };
        format!("  {what}{at:>digits$}:  {}", cells.join("  "))
    });
    rows.collect::<Vec<String>>().join("\n")
}

/// Lanes of a mask in words.
pub(super) fn lanes(mask: u32) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        let run = (mask >> lane).trailing_ones();
        match run {
            0 => lane += 1,
            1 => parts.push(lane.to_string()),
            run => parts.push(format!("{lane}-{}", lane + run - 1)),
        }
        lane += run;
    }
    match (mask.count_ones(), parts.is_empty()) {
        (_, true) => "no lanes".to_owned(),
        (1, _) => format!("lane {}", parts[0]),
        _ => format!("lanes {}", parts.join(", ")),
    }
}

/// Three indices or extents.
pub(super) fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_runs() {
        assert_eq!(lanes(u32::MAX), "lanes 0-31");
        assert_eq!(lanes(0x8000_0005), "lanes 0, 2, 31");
        assert_eq!(lanes(1 << 31), "lane 31");
        assert_eq!(lanes(0x8000_fffe), "lanes 1-15, 31");
        assert_eq!(lanes(0), "no lanes");
    }

    #[test]
    fn formats() {
        let show = |bytes: &[u8], own, format| show(bytes, own, format).unwrap();
        let minus = (-2i32).to_le_bytes();
        assert_eq!(show(&minus, Scalar::S32, None), "-2");
        assert_eq!(
            show(&minus, Scalar::S32, Some(Format::Unsigned)),
            "4294967294"
        );
        assert_eq!(
            show(&minus, Scalar::F32, Some(Format::Hexadecimal)),
            "0xfffffffe"
        );
        assert_eq!(show(&[0, 0], Scalar::U16, Some(Format::Hexadecimal)), "0x0");
        let half = 0.5f32.to_le_bytes();
        assert_eq!(show(&half, Scalar::U32, Some(Format::Float)), "0.5");
        assert_eq!(show(&half, Scalar::F32, None), "0.5");
        assert!(super::show(&[1], Scalar::U8, Some(Format::Float)).is_err());
    }

    #[test]
    fn rows_are_aligned() {
        let cells: Vec<String> = (0..10).map(|index| (index * 7).to_string()).collect();
        let text = rows("", 95, &cells);
        assert_eq!(
            text,
            "   95:   0   7  14  21  28  35  42  49\n  103:  56  63"
        );
    }
}
