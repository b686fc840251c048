//! Kernels of other compilers than rustc, run and checked against the host: nvcc with and without
//! optimisation, clang, and Triton. Their sources are beside the PTX in `tests/data/foreign`, where
//! `regenerate` compiles them.
//!
//! Results are exact wherever PTX is; `.approx` instructions and the functions of CUDA's library
//! are held to the errors that their manuals state. Every launch runs under all sanitizers, which
//! must find nothing.

mod atomics;
mod bits;
mod branches;
mod calls;
mod functions;
mod halves;
mod launch;
mod memory;
mod others;
mod print;
mod tensor;
mod warps;
mod wide;

use launch::{Launch, noise};

/// PTX of `tests/data/foreign`.
macro_rules! ptx {
    ($name:literal) => {
        include_str!(concat!("../../data/foreign/", $name, ".ptx"))
    };
}
use ptx;

/// The kernels of every file, so that a kernel without a test is noticed.
#[test]
fn every_kernel_is_known_here() {
    let files = [
        (
            ptx!("atomics"),
            "words longs reductions floats tickets largest histogram",
        ),
        (ptx!("bits"), "words longs"),
        (ptx!("branches"), "by_case collatz"),
        (
            ptx!("calls"),
            "pairs recursive local_pointers through_pointers",
        ),
        (
            ptx!("calls_debug"),
            "pairs recursive local_pointers through_pointers",
        ),
        (ptx!("clang"), "aggregates copies halves reversed counted"),
        (ptx!("flush"), "flushed"),
        (ptx!("functions"), "approximate rounded library library_f64"),
        (
            ptx!("halves"),
            "f16 f16_pairs bf16 bf16_pairs atomic_halves",
        ),
        (ptx!("local_arrays"), "digits sorted bytes"),
        (ptx!("shared"), "reduce mixed generic counted"),
        (ptx!("print"), "lists checked"),
        (ptx!("softmax"), "softmax"),
        (ptx!("spaces"), "polynomial accesses globals specials"),
        (ptx!("tensor"), "halves bytes"),
        (ptx!("warps"), "votes shuffles reductions scan"),
        (ptx!("wide"), "unsigned_parts signed_parts"),
    ];
    for (text, kernels) in files {
        let module = ptx_emulator::Module::parse(text).expect("well-formed PTX");
        let mut found: Vec<&str> = module.kernel_names().collect();
        let mut wanted: Vec<&str> = kernels.split(' ').collect();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }
}
