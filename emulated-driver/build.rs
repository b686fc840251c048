//! The library's name for the dynamic linker: that of NVIDIA's driver, so that what was linked with
//! `-lcuda` finds it in memory. And the symbol versions of NVIDIA's runtime: without them, the
//! dynamic linker warns about each program that asks for one.

use std::path::Path;
use std::process::Command;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let of_target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}"));
    if of_target("OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    }
    if links_with_lld() {
        let folder = std::env::var_os("OUT_DIR").unwrap_or_default();
        let script = Path::new(&folder).join("versions");
        std::fs::write(&script, "libcudart.so.12 {};\nlibcudart.so.13 {};\n")?;
        let script = script.display();
        println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={script}");
    }
    Ok(())
}

/// Whether rustc links with its own LLD, as from 1.90 on for this target alone. It takes a second
/// script beside rustc's; GNU ld refuses it.
fn links_with_lld() -> bool {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let is_chosen = std::env::var_os("RUSTC_LINKER").is_some()
        || ["link-self-contained", "linker", "fuse-ld"]
            .iter()
            .any(|flag| flags.contains(flag));
    if variable("TARGET") != "x86_64-unknown-linux-gnu" || is_chosen {
        return false;
    }
    let version = Command::new(variable("RUSTC")).arg("--version").output();
    let version = version.map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= 90)
}
