//! For the feature `cust`: names the folder of the empty `libcuda.so`, so that a program finds one
//! to link with wherever it is built.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_CUST").is_none() {
        return;
    }
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rustc-link-search=native={folder}/stub/lib64/stubs");
}
