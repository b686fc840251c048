//! Reads the text of NVIDIA PTX modules (PTX ISA,
//! <https://docs.nvidia.com/cuda/parallel-thread-execution>).
//!
//! One crate reads PTX for all programs here: an emulator parses whole kernels, a program asks what
//! parameters a kernel takes before it launches it, a build script asks which kernels a module
//! holds. They share one lexer, so they agree on what a comment, a string and a name are.
//!
//! # Two depths
//!
//! | | reads | refuses |
//! |---|---|---|
//! | [`parse`], [`parse_body`] | the whole grammar, into an [`ast`] | text that is not well formed |
//! | [`signature`] | heads of functions, and where they stand | nothing; says how far it came |
//!
//! [`parse`] is strict: text that it accepts can be decoded without guessing. [`signature`] knows
//! little of the grammar, so it also reads modules with directives and instructions newer than this
//! crate. What is valid in them is for the driver to decide.
//!
//! An opcode and its modifiers are one word for [`parse`]. [`join_opcodes`] makes them one where a
//! text has blanks between them.
//!
//! ```
//! let ptx = "
//! .version 7.0
//! .target sm_70
//! .address_size 64
//! // .entry none() {}  A comment declares nothing.
//! .visible .entry scale(.param .u64 data, .param .f32 factor) { ret; }
//! ";
//! let module = ptx_syntax::signature::Module::read(ptx);
//! let scale = module.entry("scale").expect("it is the only entry");
//! let sizes: Vec<usize> = scale.parameters.iter().flatten().map(|one| one.bytes).collect();
//! assert_eq!((module.entries().count(), sizes), (1, vec![8, 4]));
//!
//! let tree = ptx_syntax::parse(ptx, ptx_syntax::Bodies::Check)?;
//! assert_eq!(tree.functions[0].name.of(ptx), "scale");
//! # Ok::<(), Box<ptx_syntax::ParseError>>(())
//! ```
//!
//! # Large modules
//!
//! A library of kernels is megabytes of PTX, of which a program runs a few kernels. With
//! [`Bodies::Skip`], [`parse`] looks for the ends of bodies 32 bytes at a time and leaves what is
//! in them to [`parse_body`]. Trees hold no text: names are [`Span`](ast::Span)s of the module's.
//!
//! # Promises
//!
//! No text makes this crate panic. Recursion is bounded: scopes nest 64 deep at most. Texts of 4
//! GiB and more are refused, so that positions fit 32 bits. There is no `unsafe`.

#![forbid(unsafe_code)]

pub mod ast;
mod file;
mod joined;
pub mod lexer;
mod parser;
pub mod signature;

pub use file::read_file;
pub use joined::join_opcodes;
pub use parser::{Bodies, ParseError, parse, parse_body, position};
