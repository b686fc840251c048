//! Any text is parsed and decoded, or refused with a line and a column. A well-formed text has the
//! same kernels, whether its bodies are parsed at once or later.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_emulator::Module;

fuzz_target!(|text: &str| {
    let (parsed, indexed) = (Module::parse(text), Module::index(text));
    if let Ok(parsed) = parsed {
        let indexed = indexed.as_ref().expect("less is looked at");
        assert!(parsed.kernel_names().eq(indexed.kernel_names()));
    }
    let Ok(module) = indexed else {
        return;
    };
    for name in module.kernel_names() {
        if let Err(error) = module.kernel(name) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
});
