//! The forms of instructions that the PTX ISA's grammar allows, by families.

mod arithmetic;
mod comparison;
mod matrices;
mod moves;
mod newer;
mod tensor_memory;
mod textures;
mod video;

pub use newer::NEWER;

/// A family of forms: an opcode with alternatives in brackets, `|` between them and nothing for
/// none, and its operands. Letters stand for registers: `h` of 16, `r` of 32, `x` of 64, `q` of 128
/// bits, `p` predicates, `R` addresses; anything else is text.
pub type Family = (&'static str, &'static str);

/// The families of compute capability 9.0, in the order of the table.
pub const FORMS: &[&[Family]] = &[
    arithmetic::FORMS,
    comparison::FORMS,
    moves::FORMS,
    matrices::FORMS,
    video::FORMS,
    textures::FORMS,
];
