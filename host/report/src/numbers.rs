//! Numbers as reports and tables print them.

/// A number for an axis: with k for a thousand and M for a million.
pub fn axis(value: f64) -> String {
    match value.abs() {
        1e6.. => format!("{}M", short(value / 1e6)),
        1e4.. => format!("{}k", short(value / 1e3)),
        _ => short(value),
    }
}

/// A number with three significant digits, narrow spaces between thousands.
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 1000.0 {
        apart(&format!("{value:.0}"), '\u{202f}')
    } else if magnitude >= 100.0 {
        format!("{value:.0}")
    } else if magnitude == 0.0 {
        "0".to_owned()
    } else {
        let decimals = (2.0 - magnitude.log10().floor()).clamp(0.0, 9.0) as usize;
        let text = format!("{value:.decimals$}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        text.to_owned()
    }
}

/// A share in percent, without its sign: whole from 10 on, and never 0 where there is something.
pub fn percent(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        0.1.. => format!("{value:.1}"),
        _ => short(value),
    }
}

/// A number with four significant digits; very small and very large ones with an exponent.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&magnitude) {
        format!("{value:.2e}")
    } else {
        let digits_before = magnitude.log10().floor() as i32 + 1;
        let decimals = (4 - digits_before).max(0) as usize;
        format!("{value:.decimals$}")
    }
}

/// A ratio with two decimals; a dash where there is none.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// A whole number with commas between thousands.
pub fn grouped(value: u64) -> String {
    apart(&value.to_string(), ',')
}

/// Digits, after a sign or none, with a separator between thousands.
fn apart(digits: &str, separator: char) -> String {
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && text != "-" {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_axis_are_short() {
        assert_eq!(axis(5e4), "50k");
        assert_eq!(axis(1.5e6), "1.5M");
        assert_eq!(axis(1024.0), short(1024.0));
    }

    #[test]
    fn short_numbers_keep_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0123456, "0.0123"),
            (0.5, "0.5"),
            (1.0, "1"),
            (10.0, "10"),
            (2.345, "2.35"),
            (23.45, "23.4"),
            (234.5, "234"),
            (51397.0, "51\u{202f}397"),
            (-513970.0, "-513\u{202f}970"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn significant_numbers_keep_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.012345, "0.01235"),
            (1.5, "1.500"),
            (12345.6, "12346"),
            (1.25e-7, "1.25e-7"),
            (2.5e9, "2.50e9"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (33_554_432, "33,554,432"),
        ] {
            assert_eq!(grouped(value), text);
        }
    }
}
