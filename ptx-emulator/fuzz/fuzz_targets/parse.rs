//! Any text is parsed and decoded, or refused with a place in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_emulator::Module;

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else {
        return;
    };
    for name in module.kernel_names() {
        if let Err(error) = module.kernel(name) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
});
