//! The format directives of `vprintf`, as the C library of the host prints them.
//!
//! A GPU hands the format and the arguments to the host, whose C library formats them (CUDA C++
//! Programming Guide, "Formatted Output"). A directive is `%[flags][width][.precision][size]type`.
//! Of the arguments, 32 are read; the directives of others are printed as they stand.

/// Arguments that a call takes beside its format.
const MAX_ARGUMENTS: u32 = 32;

/// Longest field and highest precision, so that a format cannot ask for more memory than that.
const MAX_FIELD: usize = 0xffff;

/// No f64 has more decimal digits behind its point.
const MAX_FRACTION: usize = 1074;

/// Where the arguments of a call are.
pub(crate) trait Arguments {
    /// Why an argument cannot be read.
    type Error;

    /// The next argument, of 4 bytes.
    fn word(&mut self) -> Result<u32, Self::Error>;

    /// The next argument, of 8 bytes at a multiple of 8.
    fn double_word(&mut self) -> Result<u64, Self::Error>;

    /// The bytes of a string up to its zero; no more than `limit` are needed.
    fn text(&mut self, address: u64, limit: usize) -> Result<Vec<u8>, Self::Error>;
}

/// Adds formatted text to `out`; returns the number of arguments.
///
/// # Errors
/// Where an argument cannot be read.
pub(crate) fn format<A: Arguments + ?Sized>(
    format: &[u8],
    arguments: &mut A,
    out: &mut Vec<u8>,
) -> Result<u32, A::Error> {
    let mut taken = 0;
    let mut rest = format;
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        let (directive, behind) = Directive::parse(&rest[at..]);
        let text = &rest[at..rest.len() - behind.len()];
        rest = behind;
        match directive {
            Some(Directive { kind: b'%', .. }) => out.push(b'%'),
            Some(directive) if taken + directive.arguments() <= MAX_ARGUMENTS => {
                taken += directive.arguments();
                directive.print(arguments, out)?;
            }
            _ => out.extend_from_slice(text),
        }
    }
    out.extend_from_slice(rest);
    Ok(taken)
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Unset,
    Given(usize),
    /// `*`: an argument of its own.
    Argument,
}

/// The size modifiers: what of an integer's bits counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Char,
    Short,
    Int,
    Long,
}

#[derive(Clone, Copy, Debug)]
struct Directive {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: Count,
    precision: Count,
    size: Size,
    kind: u8,
}

impl Directive {
    /// The directive at the start of the text, and the text behind it. None for what is no
    /// directive.
    fn parse(text: &[u8]) -> (Option<Self>, &[u8]) {
        let mut at = 1;
        let mut directive = Directive {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: Count::Unset,
            precision: Count::Unset,
            size: Size::Int,
            kind: 0,
        };
        while let Some(flag) = text.get(at) {
            match flag {
                b'-' => directive.left = true,
                b'+' => directive.plus = true,
                b' ' => directive.space = true,
                b'#' => directive.alternate = true,
                b'0' => directive.zero = true,
                _ => break,
            }
            at += 1;
        }
        directive.width = count(text, &mut at);
        if text.get(at) == Some(&b'.') {
            at += 1;
            directive.precision = match count(text, &mut at) {
                Count::Unset => Count::Given(0),
                given => given,
            };
        }
        while let Some(modifier) = text.get(at) {
            directive.size = match (modifier, directive.size) {
                (b'h', Size::Short) => Size::Char,
                (b'h', _) => Size::Short,
                (b'l' | b'j' | b'z' | b't', _) => Size::Long,
                (b'L', size) => size,
                _ => break,
            };
            at += 1;
        }
        let Some(&kind) = text.get(at) else {
            return (None, &text[at..]);
        };
        directive.kind = kind;
        let known = b"%cdiouxXpeEfFgGaAs".contains(&kind);
        (known.then_some(directive), &text[at + 1..])
    }

    /// Arguments that it takes.
    fn arguments(&self) -> u32 {
        let counts = [self.width, self.precision].into_iter();
        1 + counts.filter(|count| *count == Count::Argument).count() as u32
    }

    fn print<A: Arguments + ?Sized>(
        mut self,
        arguments: &mut A,
        out: &mut Vec<u8>,
    ) -> Result<(), A::Error> {
        let width = match self.width {
            Count::Unset => 0,
            Count::Given(width) => width,
            Count::Argument => {
                let width = arguments.word()? as i32;
                self.left |= width < 0;
                width.unsigned_abs() as usize
            }
        };
        let precision = match self.precision {
            Count::Unset => None,
            Count::Given(precision) => Some(precision),
            Count::Argument => usize::try_from(arguments.word()? as i32).ok(),
        };
        let precision = precision.map(|precision| precision.min(MAX_FIELD));
        let field = match self.kind {
            b'c' => Field::text(vec![arguments.word()? as u8]),
            b's' => match arguments.double_word()? {
                0 => Field::text(b"(null)".to_vec()),
                address => {
                    let limit = precision.unwrap_or(usize::MAX);
                    let mut text = arguments.text(address, limit)?;
                    text.truncate(limit);
                    Field::text(text)
                }
            },
            b'p' => match arguments.double_word()? {
                0 => Field::text(b"(nil)".to_vec()),
                address => Field {
                    prefix: format!("{}0x", self.sign(false)),
                    body: format!("{address:x}").into_bytes(),
                    pads_with_zeros: true,
                },
            },
            b'd' | b'i' => {
                let value = self.signed(arguments)?;
                let sign = self.sign(value < 0);
                self.integer(sign, value.unsigned_abs().to_string(), precision)
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = self.unsigned(arguments)?;
                self.unsigned_field(value, precision)
            }
            _ => {
                let value = f64::from_bits(arguments.double_word()?);
                self.float(value, precision)
            }
        };
        self.pad(field, width.min(MAX_FIELD), out);
        Ok(())
    }

    fn signed<A: Arguments + ?Sized>(&self, arguments: &mut A) -> Result<i64, A::Error> {
        Ok(match self.size {
            Size::Long => arguments.double_word()? as i64,
            Size::Int => i64::from(arguments.word()? as i32),
            Size::Short => i64::from(arguments.word()? as i16),
            Size::Char => i64::from(arguments.word()? as i8),
        })
    }

    fn unsigned<A: Arguments + ?Sized>(&self, arguments: &mut A) -> Result<u64, A::Error> {
        Ok(match self.size {
            Size::Long => arguments.double_word()?,
            Size::Int => u64::from(arguments.word()?),
            Size::Short => u64::from(arguments.word()? as u16),
            Size::Char => u64::from(arguments.word()? as u8),
        })
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    fn unsigned_field(&self, value: u64, precision: Option<usize>) -> Field {
        match self.kind {
            b'u' => self.integer("", value.to_string(), precision),
            b'o' => {
                let mut digits = format!("{value:o}");
                if self.alternate && precision.unwrap_or(1) <= digits.len() && value != 0 {
                    digits.insert(0, '0');
                }
                match (self.alternate, value, precision) {
                    (true, 0, Some(0)) => self.integer("", digits, Some(1)),
                    _ => self.integer("", digits, precision),
                }
            }
            _ => {
                let upper = self.kind == b'X';
                let prefix = match (self.alternate && value != 0, upper) {
                    (false, _) => "",
                    (true, false) => "0x",
                    (true, true) => "0X",
                };
                let digits = match upper {
                    true => format!("{value:X}"),
                    false => format!("{value:x}"),
                };
                self.integer(prefix, digits, precision)
            }
        }
    }

    /// An integer's digits with at least as many as its precision says.
    fn integer(&self, prefix: &str, digits: String, precision: Option<usize>) -> Field {
        let digits = match (precision, digits.as_str()) {
            (Some(0), "0") => String::new(),
            (Some(least), digits) => format!("{}{digits}", zeros(least, digits.len())),
            (None, _) => digits,
        };
        Field {
            prefix: prefix.to_string(),
            body: digits.into_bytes(),
            pads_with_zeros: precision.is_none(),
        }
    }

    fn float(&self, value: f64, precision: Option<usize>) -> Field {
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let upper = self.kind.is_ascii_uppercase();
        let (prefix, mut body) = match self.kind.to_ascii_lowercase() {
            _ if value.is_nan() => ("", "nan".to_string()),
            _ if value.is_infinite() => ("", "inf".to_string()),
            b'f' => ("", self.fixed(magnitude, precision.unwrap_or(6))),
            b'e' => ("", self.scientific(magnitude, precision.unwrap_or(6))),
            b'g' => ("", self.general(magnitude, precision.unwrap_or(6))),
            _ => ("0x", self.hexadecimal(magnitude, precision)),
        };
        let mut prefix = format!("{sign}{prefix}");
        if upper {
            prefix.make_ascii_uppercase();
            body.make_ascii_uppercase();
        }
        Field {
            prefix,
            body: body.into_bytes(),
            pads_with_zeros: value.is_finite(),
        }
    }

    fn fixed(&self, value: f64, precision: usize) -> String {
        let digits = precision.min(MAX_FRACTION);
        let mut text = format!("{value:.digits$}");
        text.push_str(&zeros(precision, digits));
        if precision == 0 && self.alternate {
            text.push('.');
        }
        text
    }

    fn scientific(&self, value: f64, precision: usize) -> String {
        let digits = precision.min(MAX_FRACTION);
        let text = format!("{value:.digits$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let point = match precision == 0 && self.alternate {
            true => ".",
            false => "",
        };
        let sign = if exponent < 0 { '-' } else { '+' };
        let (more, exponent) = (zeros(precision, digits), exponent.abs());
        format!("{mantissa}{more}{point}e{sign}{exponent:02}")
    }

    fn general(&self, value: f64, precision: usize) -> String {
        let significant = precision.max(1);
        let text = self.scientific(value, significant - 1);
        let exponent = text.split_once('e').map_or("0", |(_, exponent)| exponent);
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let is_fixed = exponent >= -4 && i64::from(exponent) < significant as i64;
        let text = match is_fixed {
            true => {
                let fraction = significant as i64 - 1 - i64::from(exponent);
                self.fixed(value, fraction as usize)
            }
            false => text,
        };
        if self.alternate {
            return text;
        }
        let (mantissa, exponent) = match text.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
            None => (text.as_str(), String::new()),
        };
        let mantissa = match mantissa.contains('.') {
            true => mantissa.trim_end_matches('0').trim_end_matches('.'),
            false => mantissa,
        };
        format!("{mantissa}{exponent}")
    }

    /// The digits of `%a`, behind the `0x`.
    fn hexadecimal(&self, value: f64, precision: Option<usize>) -> String {
        const FRACTION_BITS: u32 = 52;
        const FRACTION_DIGITS: usize = 13;
        let bits = value.to_bits();
        let field = (bits >> FRACTION_BITS) as i32;
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let exponent = match (field, fraction) {
            (0, 0) => 0,
            (0, _) => -1022,
            _ => field - 1023,
        };
        // The digit in front of the point, and 13 behind it.
        let mut digits = u64::from(field != 0) << FRACTION_BITS | fraction;
        let shown = precision.unwrap_or(FRACTION_DIGITS).min(FRACTION_DIGITS);
        let dropped = 4 * (FRACTION_DIGITS - shown) as u32;
        if dropped != 0 {
            let tail = digits & ((1 << dropped) - 1);
            let half = 1 << (dropped - 1);
            digits >>= dropped;
            digits += u64::from(tail > half || tail == half && digits & 1 == 1);
        }
        let leading = digits >> (4 * shown);
        let behind = digits & ((1u64 << (4 * shown)) - 1);
        let mut fraction = match shown {
            0 => String::new(),
            _ => format!("{behind:0shown$x}"),
        };
        match precision {
            None => fraction.truncate(fraction.trim_end_matches('0').len()),
            Some(precision) => fraction.push_str(&zeros(precision, shown)),
        }
        let point = match fraction.is_empty() && !self.alternate {
            true => "",
            false => ".",
        };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{leading}{point}{fraction}p{sign}{}", exponent.abs())
    }

    fn pad(&self, field: Field, width: usize, out: &mut Vec<u8>) {
        let Field {
            prefix,
            body,
            pads_with_zeros,
        } = field;
        let missing = width.saturating_sub(prefix.len() + body.len());
        let inner = self.zero && pads_with_zeros && !self.left;
        let before = if self.left || inner { 0 } else { missing };
        out.extend(std::iter::repeat_n(b' ', before));
        out.extend_from_slice(prefix.as_bytes());
        out.extend(std::iter::repeat_n(b'0', if inner { missing } else { 0 }));
        out.extend_from_slice(&body);
        out.extend(std::iter::repeat_n(
            b' ',
            if self.left { missing } else { 0 },
        ));
    }
}

/// A formatted argument before it is padded to its width.
struct Field {
    /// Sign and base, in front of zeros.
    prefix: String,
    body: Vec<u8>,
    pads_with_zeros: bool,
}

impl Field {
    fn text(body: Vec<u8>) -> Self {
        Field {
            prefix: String::new(),
            body,
            pads_with_zeros: false,
        }
    }
}

/// The zeros that `least` digits need where there are `count`.
fn zeros(least: usize, count: usize) -> String {
    "0".repeat(least.saturating_sub(count))
}

fn count(text: &[u8], at: &mut usize) -> Count {
    if text.get(*at) == Some(&b'*') {
        *at += 1;
        return Count::Argument;
    }
    let digits = text[(*at).min(text.len())..].iter();
    let digits: Vec<u8> = digits.copied().take_while(u8::is_ascii_digit).collect();
    if digits.is_empty() {
        return Count::Unset;
    }
    *at += digits.len();
    let value = digits.iter().fold(0usize, |value, digit| {
        (10 * value + usize::from(digit - b'0')).min(MAX_FIELD)
    });
    Count::Given(value)
}
