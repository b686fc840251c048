//! Numbers with their units.

/// Bytes in the largest unit that leaves at least one of it, for example `227 KiB`. KiB are whole
/// ones: a limit of 32764 bytes is not 32 KiB.
pub fn bytes(count: impl Into<u64>) -> String {
    let count = count.into();
    let (shift, unit) = match count {
        0x4000_0000.. => (30, "GiB"),
        0x10_0000.. => (20, "MiB"),
        0x400.. if count.is_multiple_of(1024) => (10, "KiB"),
        _ => return format!("{count} bytes"),
    };
    let value = format!("{:.1}", count as f64 / f64::from(1 << shift));
    format!("{} {unit}", value.trim_end_matches(".0"))
}

/// "1 kernel", "2 kernels".
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// "1 check passed", "all 2 checks passed".
pub fn all_passed(checks: usize) -> String {
    match checks {
        1 => "1 check passed".to_owned(),
        _ => format!("all {checks} checks passed"),
    }
}

/// The first cause of a message of several, up to its first colon or parenthesis.
pub fn first_cause(message: &str) -> &str {
    let end = [": ", " ("].iter().filter_map(|mark| message.find(mark));
    &message[..end.min().unwrap_or(message.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_at_most_one_decimal() {
        for (count, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (32_764, "32764 bytes"),
            (232_448, "227 KiB"),
            (1536 << 10, "1.5 MiB"),
            (150_754_820_096, "140.4 GiB"),
            (u64::MAX, "17179869184 GiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(count(1, "kernel"), "1 kernel");
        assert_eq!(count(0, "kernel"), "0 kernels");
    }

    #[test]
    fn the_first_cause_ends_where_a_colon_or_a_parenthesis_begins() {
        for (message, first) in [
            ("no NVIDIA driver (a: b): install it", "no NVIDIA driver"),
            (
                "the driver does not start: 999: look",
                "the driver does not start",
            ),
            ("one", "one"),
        ] {
            assert_eq!(first_cause(message), first);
        }
    }
}
