//! Runs ZLUDA's PTX tests against their expected outputs: `zluda FOLDER`, where the folder is
//! `ptx/src/test/spirv_run` of a checkout of vosen/ZLUDA.
//!
//! The tests are calls of macros in `mod.rs`, with the name of a file, an input and an output:
//! arrays of numbers. A kernel gets the addresses of both; those of `test_ptx_warp!` run on 64
//! threads and get the output alone.

use std::collections::BTreeMap;
use std::path::Path;

use half::f16;
use ptx_emulator::{Args, LaunchConfig, Memory, Module};

/// A number of an array, before the type of the array is known.
#[derive(Clone, Copy, Debug)]
enum Value {
    Integer(i128),
    Float(f64),
    /// A float of 16 or 32 bits, bit by bit.
    Half(f16),
    Single(f32),
}

/// A typed or untyped number.
type Number = (Value, Option<&'static str>);

const TYPES: [&str; 11] = [
    "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "f32", "f64",
];

fn type_of(name: &str) -> Option<&'static str> {
    TYPES.into_iter().find(|known| *known == name)
}

/// Reads the arrays of numbers that the tests' macros are given.
struct Reader<'a> {
    tokens: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(comment) = rest.strip_prefix("//") {
                rest = comment.split_once('\n').map_or("", |(_, behind)| behind);
                continue;
            }
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let digits = first.is_ascii_digit();
            let length = match is_word(first) {
                true => rest
                    .find(|c: char| !(is_word(c) || digits && c == '.'))
                    .unwrap_or(rest.len()),
                false if rest.starts_with("::") => 2,
                false => first.len_utf8(),
            };
            if !first.is_whitespace() {
                tokens.push(&rest[..length]);
            }
            rest = &rest[length..];
        }
        Reader { tokens, at: 0 }
    }

    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).copied().unwrap_or("")
    }

    fn next(&mut self) -> &'a str {
        self.at += 1;
        self.tokens.get(self.at - 1).copied().unwrap_or("")
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    /// `[a, b, …]` as bytes, and the type of the elements.
    fn array(&mut self) -> Option<(Vec<u8>, &'static str)> {
        if !self.eat("[") {
            return None;
        }
        let mut numbers = Vec::new();
        while !self.eat("]") {
            numbers.push(self.quotient()?);
            self.eat(",");
        }
        let typed = numbers.iter().find_map(|(_, ty)| *ty);
        let has_floats = numbers
            .iter()
            .any(|(value, _)| matches!(value, Value::Float(_)));
        let ty = typed.unwrap_or(if has_floats { "f64" } else { "i32" });
        let bytes = numbers.iter().flat_map(|(value, _)| to_bytes(*value, ty));
        Some((bytes.collect(), ty))
    }

    fn quotient(&mut self) -> Option<Number> {
        let (mut value, mut ty) = self.unary()?;
        while self.eat("/") {
            let (divisor, of_divisor) = self.unary()?;
            ty = ty.or(of_divisor);
            value = match ty {
                Some("f32") => Value::Single(to_f64(value) as f32 / to_f64(divisor) as f32),
                _ => Value::Float(to_f64(value) / to_f64(divisor)),
            };
        }
        Some((value, ty))
    }

    fn unary(&mut self) -> Option<Number> {
        if self.eat("-") {
            let (value, ty) = self.unary()?;
            let value = match value {
                Value::Integer(value) => Value::Integer(-value),
                Value::Float(value) => Value::Float(-value),
                Value::Half(value) => Value::Half(-value),
                Value::Single(value) => Value::Single(-value),
            };
            return Some((value, ty));
        }
        let (mut value, mut ty) = self.primary()?;
        if self.eat(".") {
            if self.next() != "to_bits" || !self.eat("(") || !self.eat(")") {
                return None;
            }
            (value, ty) = match value {
                Value::Half(value) => (Value::Integer(value.to_bits().into()), Some("u16")),
                Value::Single(value) => (Value::Integer(value.to_bits().into()), Some("u32")),
                _ => return None,
            };
        }
        Some((value, ty))
    }

    fn primary(&mut self) -> Option<Number> {
        let first = self.next();
        if first.starts_with(|c: char| c.is_ascii_digit()) {
            return literal(first);
        }
        let mut path = vec![first];
        while self.eat("::") {
            path.push(self.next());
        }
        let name = path.pop()?;
        let ty = path.iter().find_map(|part| type_of(part))?;
        let argument = match self.eat("(") {
            true if self.eat(")") => None,
            true => {
                let argument = self.quotient()?;
                self.eat(")");
                Some(argument.0)
            }
            false => None,
        };
        let bits = ty[1..].parse::<u32>().ok()?;
        let value = match (name, argument) {
            ("MIN", None) if ty.starts_with('i') => Value::Integer(-(1 << (bits - 1))),
            ("MAX" | "max_value", None) if ty.starts_with('i') => {
                Value::Integer((1 << (bits - 1)) - 1)
            }
            ("MAX" | "max_value", None) if ty.starts_with('u') => Value::Integer((1 << bits) - 1),
            ("PI", None) => float(f64::from(std::f32::consts::PI), ty),
            ("NAN", None) => float(f64::NAN, ty),
            ("INFINITY", None) => float(f64::INFINITY, ty),
            ("NEG_INFINITY", None) => float(f64::NEG_INFINITY, ty),
            ("from_f64" | "from_f32", Some(value)) => float(to_f64(value), ty),
            ("from_bits", Some(Value::Integer(bits))) => match ty {
                "f16" => Value::Half(f16::from_bits(bits as u16)),
                _ => Value::Single(f32::from_bits(bits as u32)),
            },
            _ => return None,
        };
        Some((value, Some(ty)))
    }
}

fn literal(text: &str) -> Option<Number> {
    let text = text.replace('_', "");
    let (radix, digits) = match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(digits), _) => (16, digits),
        (_, Some(digits)) => (2, digits),
        _ => (10, text.as_str()),
    };
    let ty = TYPES
        .into_iter()
        .find(|ty| digits.ends_with(ty) && !(radix == 16 && ty.starts_with('f')));
    let digits = digits.strip_suffix(ty.unwrap_or("")).unwrap_or(digits);
    let is_float = digits.contains('.') || ty.is_some_and(|ty| ty.starts_with('f'));
    Some(match is_float {
        true if ty == Some("f32") => (Value::Single(digits.parse().ok()?), ty),
        true => (Value::Float(digits.parse().ok()?), ty),
        false => (
            Value::Integer(i128::from_str_radix(digits, radix).ok()?),
            ty,
        ),
    })
}

fn float(value: f64, ty: &str) -> Value {
    match ty {
        "f16" => Value::Half(f16::from_f64(value)),
        "f32" => Value::Single(value as f32),
        _ => Value::Float(value),
    }
}

fn to_f64(value: Value) -> f64 {
    match value {
        Value::Integer(value) => value as f64,
        Value::Float(value) => value,
        Value::Half(value) => value.to_f64(),
        Value::Single(value) => f64::from(value),
    }
}

fn to_bytes(value: Value, ty: &str) -> Vec<u8> {
    match (value, ty) {
        (Value::Integer(value), "u8" | "i8") => vec![value as u8],
        (Value::Integer(value), "u16" | "i16") => (value as u16).to_le_bytes().to_vec(),
        (Value::Integer(value), "u32" | "i32") => (value as u32).to_le_bytes().to_vec(),
        (Value::Integer(value), "u64" | "i64") => (value as u64).to_le_bytes().to_vec(),
        (Value::Half(value), _) => value.to_le_bytes().to_vec(),
        (Value::Single(value), "f32") => value.to_le_bytes().to_vec(),
        (value, "f32") => (to_f64(value) as f32).to_le_bytes().to_vec(),
        (value, "f16") => f16::from_f64(to_f64(value)).to_le_bytes().to_vec(),
        (value, _) => to_f64(value).to_le_bytes().to_vec(),
    }
}

/// Whether outputs are equal, as numbers.
fn is_equal(ty: &str, given: &[u8], wanted: &[u8]) -> bool {
    let floats = |bytes: &[u8]| -> Vec<f64> {
        match ty {
            "f32" => bytes
                .chunks_exact(4)
                .map(|bits| f64::from(bytemuck::pod_read_unaligned::<f32>(bits)))
                .collect(),
            "f16" => bytes
                .chunks_exact(2)
                .map(|bits| f64::from(bytemuck::pod_read_unaligned::<f16>(bits)))
                .collect(),
            _ => bytes
                .chunks_exact(8)
                .map(bytemuck::pod_read_unaligned)
                .collect(),
        }
    };
    match ty.starts_with('f') {
        true => floats(given) == floats(wanted),
        false => given == wanted,
    }
}

/// A test's name, input and output.
struct Test<'a> {
    name: &'a str,
    threads: u32,
    input: Option<Vec<u8>>,
    output: (Vec<u8>, &'static str),
}

fn tests(text: &str) -> Vec<Test<'_>> {
    let mut all = Vec::new();
    let calls = text.match_indices("\ntest_ptx");
    for (at, _) in calls {
        let mut reader = Reader::new(&text[at..]);
        let threads = match reader.next() {
            "test_ptx_warp" => 64,
            "test_ptx" | "test_ptx_with_32" => 1,
            _ => continue,
        };
        if !(reader.eat("!") && reader.eat("(")) {
            continue;
        }
        let name = reader.next();
        if !reader.eat(",") {
            // Only the translation is tested.
            continue;
        }
        let input = match threads {
            1 => {
                let Some((input, _)) = reader.array() else {
                    println!("{name}: the input cannot be read at `{}`", reader.peek());
                    continue;
                };
                reader.eat(",");
                Some(input)
            }
            _ => None,
        };
        match reader.array() {
            Some(output) => all.push(Test {
                name,
                threads,
                input,
                output,
            }),
            None => println!("{name}: the output cannot be read at `{}`", reader.peek()),
        }
    }
    all
}

fn run(folder: &Path, test: &Test<'_>) -> Result<(), String> {
    let path = folder.join(format!("{}.ptx", test.name));
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let module = Module::index(&text).map_err(|error| format!("parse: {error}"))?;
    let kernel = module
        .kernel(test.name)
        .map_err(|error| format!("decode: {error}"))?;
    let memory = Memory::with_capacity(1 << 24);
    let (wanted, ty) = &test.output;
    // Some tests reach beyond their arrays, as a GPU lets them: its pages are large.
    let allocate = |bytes: usize| {
        memory
            .alloc(bytes as u64 + 4096)
            .map_err(|error| error.to_string())
    };
    let output = allocate(wanted.len())?;
    let mut args = Args::new();
    if let Some(input) = &test.input {
        let address = allocate(input.len())?;
        memory
            .write(address, input)
            .map_err(|error| error.to_string())?;
        args.push_u64(address);
    }
    while args.len() < kernel.params().len() {
        args.push_u64(output);
    }
    let mut config = LaunchConfig::new([1; 3], [test.threads, 1, 1]);
    config.dynamic_shared_bytes = 1024;
    config.instruction_budget = 1 << 20;
    kernel
        .launch(&memory, &config, &args)
        .map_err(|error| format!("run: {error}"))?;
    let mut given = vec![0; wanted.len()];
    memory
        .read(output, &mut given)
        .map_err(|error| error.to_string())?;
    match is_equal(ty, &given, wanted) {
        true => Ok(()),
        false => Err(format!("wrong: {given:x?}, not {wanted:x?}")),
    }
}

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1) else {
        println!("usage: zluda FOLDER (ptx/src/test/spirv_run of a checkout of vosen/ZLUDA)");
        return Ok(());
    };
    let folder = Path::new(&folder);
    let text = std::fs::read_to_string(folder.join("mod.rs"))?;
    let tests = tests(&text);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for test in &tests {
        let outcome = run(folder, test);
        let kind = match &outcome {
            Ok(()) => "right",
            Err(error) => error.split(':').next().unwrap_or(""),
        };
        *counts.entry(kind.to_string()).or_default() += 1;
        if let Err(error) = outcome {
            println!(
                "{}: {}",
                test.name,
                error.chars().take(300).collect::<String>()
            );
        }
    }
    println!("{} tests: {counts:?}", tests.len());
    Ok(())
}
