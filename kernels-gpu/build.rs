//! Names the PTX modules as `cfg`s, so that a Rust module says with one word which GPU its kernels
//! need.
//!
//! A kernel is in one PTX module only, that of the oldest GPU that runs it. `sm_70_up`, `sm_80_up`
//! and `sm_90a` are set when that module is compiled. For the host all of them are.

use std::env;

/// The names, each with the target feature that the module has and, where newer GPUs have it as
/// well, one that only those have.
const MODULES: [(&str, Option<&str>, Option<&str>); 3] = [
    ("sm_70_up", None, Some("sm_75")),
    ("sm_80_up", Some("sm_80"), Some("sm_86")),
    ("sm_90a", Some("sm_90a"), None),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_for_gpu = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "nvptx64");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let has = |feature: &str| features.split(',').any(|one| one == feature);
    for (name, has_feature, lacks_feature) in MODULES {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if !is_for_gpu || has_feature.is_none_or(has) && !lacks_feature.is_some_and(has) {
            println!("cargo::rustc-cfg={name}");
        }
    }
}
