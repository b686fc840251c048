//! What a program is told once, on standard error: that it runs on the emulator, and how slowly.

use super::Error;
use std::io::Write;
use std::sync::Once;

/// Says that there is no GPU to be had, so that everything runs on the emulator.
pub(super) fn emulated(reason: &Error) {
    static SAID: Once = Once::new();
    SAID.call_once(|| say(&format!("no GPU: {reason}; using the emulator, on the CPU")));
}

/// Says what to add to `Cargo.toml` where the emulator is not optimised.
pub(super) fn unoptimised() {
    static SAID: Once = Once::new();
    if !ptx_emulator::OPTIMISED {
        SAID.call_once(|| {
            say(
                "the emulator is compiled without optimisation and many times slower than with \
                 it: add `[profile.dev.package.\"*\"]` and `opt-level = 3` to Cargo.toml, or build \
                 with --release",
            );
        });
    }
}

/// A closed standard error is no failure.
fn say(line: &str) {
    _ = writeln!(std::io::stderr(), "warpladder: {line}");
}
