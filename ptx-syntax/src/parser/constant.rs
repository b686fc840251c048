//! Constant expressions (PTX ISA, "Integer Constant Expression Evaluation"): integers of 64 bits,
//! signed or not, with the operators and the precedence of C.

use super::{MAX_NESTING, Parser, Result};
use crate::lexer::Token;

/// How tightly a binary operator binds; the loosest is 1.
fn precedence(operator: &str) -> u32 {
    match operator {
        "*" | "/" | "%" => 10,
        "+" | "-" => 9,
        "<<" | ">>" => 8,
        "<" | ">" | "<=" | ">=" => 7,
        "==" | "!=" => 6,
        "&" => 5,
        "^" => 4,
        "|" => 3,
        "&&" => 2,
        _ => 1,
    }
}

/// Binds as tightly as a factor of a sum.
const FACTOR: u32 = 10;

/// A value of a constant expression.
#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    /// Whether it is `.u64`, not `.s64`.
    unsigned: bool,
}

impl Value {
    fn signed(bits: u64) -> Self {
        Value {
            bits,
            unsigned: false,
        }
    }

    /// The value of an operator; none where it divides by zero.
    fn apply(self, operator: &str, right: Value) -> Option<Value> {
        let unsigned = self.unsigned || right.unsigned;
        let (a, b) = (self.bits, right.bits);
        let (x, y) = (a as i64, b as i64);
        let less = if unsigned { a < b } else { x < y };
        let truth = |holds: bool| Some(Value::signed(u64::from(holds)));
        let of = |bits: u64| Some(Value { bits, unsigned });
        let shifted = |bits: Option<u64>, beyond: u64| {
            let bits = bits.unwrap_or(beyond);
            Some(Value { bits, ..self })
        };
        let amount = u32::try_from(b).unwrap_or(64);
        match operator {
            "*" => of(a.wrapping_mul(b)),
            "/" if unsigned => of(a.checked_div(b)?),
            "%" if unsigned => of(a.checked_rem(b)?),
            "/" | "%" if b == 0 => None,
            "/" => of(x.wrapping_div(y) as u64),
            "%" => of(x.wrapping_rem(y) as u64),
            "+" => of(a.wrapping_add(b)),
            "-" => of(a.wrapping_sub(b)),
            "<<" => shifted(a.checked_shl(amount), 0),
            ">>" if self.unsigned => shifted(a.checked_shr(amount), 0),
            ">>" => shifted(x.checked_shr(amount).map(|x| x as u64), (x >> 63) as u64),
            "<" => truth(less),
            ">" => truth(!less && a != b),
            "<=" => truth(less || a == b),
            ">=" => truth(!less),
            "==" => truth(a == b),
            "!=" => truth(a != b),
            "&" => of(a & b),
            "^" => of(a ^ b),
            "|" => of(a | b),
            "&&" => truth(a != 0 && b != 0),
            _ => truth(a != 0 || b != 0),
        }
    }
}

impl Parser<'_> {
    /// A constant expression.
    pub(super) fn constant(&mut self, what: &str) -> Result<u64> {
        let first = self.unary(what, 0)?;
        self.rest_of_constant(first, what, 0)
    }

    /// The rest of a constant expression whose first operand, a literal, has been read.
    pub(super) fn constant_from(&mut self, first: u64, what: &str) -> Result<u64> {
        self.rest_of_constant(Value::signed(first), what, 0)
    }

    fn rest_of_constant(&mut self, first: Value, what: &str, depth: u32) -> Result<u64> {
        let condition = self.binary(first, 1, what, depth)?;
        if !self.eat(b'?')? {
            return Ok(condition.bits);
        }
        let yes = self.unary(what, depth + 1)?;
        let yes = self.rest_of_constant(yes, what, depth + 1)?;
        self.expect(b':')?;
        let no = self.unary(what, depth + 1)?;
        let no = self.rest_of_constant(no, what, depth + 1)?;
        Ok(if condition.bits != 0 { yes } else { no })
    }

    /// `+n`, `-n`, `+-n`, several of them or nothing; `n` may be a product.
    pub(super) fn optional_offset(&mut self) -> Result<i64> {
        let mut sum = 0i64;
        loop {
            let plus = self.eat(b'+')?;
            let minus = !plus && self.eat(b'-')?;
            if !plus && !minus {
                return Ok(sum);
            }
            let first = self.unary("an offset", 0)?;
            let value = self.binary(first, FACTOR, "an offset", 0)?.bits as i64;
            sum = match minus {
                true => sum.wrapping_sub(value),
                false => sum.wrapping_add(value),
            };
        }
    }

    fn unary(&mut self, what: &str, depth: u32) -> Result<Value> {
        if depth >= MAX_NESTING {
            return self.expected("a less deeply nested expression");
        }
        let deeper = depth + 1;
        match self.token {
            Token::Punctuation(operator @ (b'-' | b'+' | b'~' | b'!')) => {
                self.advance()?;
                let Value { bits, unsigned } = self.unary(what, deeper)?;
                let bits = match operator {
                    b'-' => bits.wrapping_neg(),
                    b'+' => bits,
                    b'~' => !bits,
                    _ => return Ok(Value::signed(u64::from(bits == 0))),
                };
                Ok(Value { bits, unsigned })
            }
            Token::Punctuation(b'(') => {
                self.advance()?;
                for (cast, unsigned) in [(".s64", false), (".u64", true)] {
                    if self.eat_word(cast)? {
                        self.expect(b')')?;
                        let Value { bits, .. } = self.unary(what, deeper)?;
                        return Ok(Value { bits, unsigned });
                    }
                }
                let first = self.unary(what, deeper)?;
                let value = self.binary(first, 1, what, deeper)?;
                self.expect(b')')?;
                Ok(value)
            }
            Token::Word if self.current() == "WARP_SZ" => {
                self.advance()?;
                Ok(Value::signed(32))
            }
            _ => {
                let unsigned = self.current().ends_with(['u', 'U']);
                let bits = self.integer(what)?;
                Ok(Value {
                    bits,
                    unsigned: unsigned || bits >> 63 != 0,
                })
            }
        }
    }

    /// The binary operator at the current token: its characters.
    fn operator(&self) -> Option<&'static str> {
        let rest = self.text.get(self.span.start as usize..)?;
        const ALL: [&str; 18] = [
            "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*", "/", "%", "+", "-", "<", ">", "&",
            "^", "|",
        ];
        match self.token {
            Token::Punctuation(_) => ALL.into_iter().find(|operator| rest.starts_with(operator)),
            _ => None,
        }
    }

    fn binary(
        &mut self,
        mut left: Value,
        least: u32,
        what: &str,
        depth: u32,
    ) -> Result<Value> {
        if depth >= MAX_NESTING {
            return self.expected("a less deeply nested expression");
        }
        while let Some(operator) = self.operator() {
            let binds = precedence(operator);
            if binds < least {
                break;
            }
            let place = self.span;
            for _ in operator.bytes() {
                self.advance()?;
            }
            let right = self.unary(what, depth + 1)?;
            let right = self.binary(right, binds + 1, what, depth + 1)?;
            left = match left.apply(operator, right) {
                Some(value) => value,
                None => return Err(self.error_at(place, "division by zero in a constant")),
            };
        }
        Ok(left)
    }
}
