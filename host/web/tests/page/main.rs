//! The page in a browser without a window.
//!
//! `WARPLADDER_WEB` names the folder that `cargo xtask web` wrote, absolute or from the root of the
//! repository; without it, or without a browser, the tests are skipped.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the page's test sends.
#[derive(Debug, Deserialize)]
struct Seen {
    /// What is wrong.
    found: Vec<String>,
    /// How long things took, by their name.
    seconds: BTreeMap<String, f64>,
    /// Kernels of the catalogue and versions of exercises that ran.
    counts: [usize; 2],
    /// What is not in this copy of the page.
    without: String,
    dark: bool,
}

/// The folder of the page; none where none is named.
fn built() -> Option<PathBuf> {
    let named = std::env::var_os("WARPLADDER_WEB");
    if named.is_none() {
        println!("skipped: WARPLADDER_WEB names no folder that `cargo xtask web` wrote");
    }
    Some(Path::new(warpladder::SOURCE_ROOT).join(named?))
}

/// A copy of the page with room for a page of the test's; none where there is nothing to test.
fn page(name: &str) -> Option<(&'static str, PathBuf)> {
    let built = built()?;
    let Some(browser) = test_browser::find() else {
        println!("skipped: {}", test_browser::NONE);
        return None;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    copy(&built, &folder).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    Some((browser, folder))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn seen(browser: &str, folder: &Path, width: u32, dark: bool, everything: bool) -> Seen {
    let axe = test_browser::axe().unwrap_or_else(|| {
        println!("without axe-core: .ci/axe fetches it");
        String::new()
    });
    let inspect = include_str!("inspect.html")
        .replace("@WIDTH@", &width.to_string())
        .replace("@EVERYTHING@", &everything.to_string())
        .replace("@AXE@", &axe);
    for (name, text) in [
        ("inspect.html", &*inspect),
        ("inspect.js", include_str!("inspect.js")),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let mut command = test_browser::command(browser, &folder.join("profile"));
    command.args([
        format!("--blink-settings=preferredColorScheme={}", u32::from(!dark)),
        format!("--window-size={},1000", width.max(800)),
    ]);
    let limit = Duration::from_secs(300);
    let sent = test_browser::visit(command, folder, "inspect.html", limit).unwrap();
    let seen: Seen = serde_json::from_str(&sent).unwrap();
    assert_eq!(seen.found, [""; 0], "{width} wide, dark: {dark}");
    assert_eq!(seen.dark, dark);
    let [rungs, versions] = seen.counts;
    println!("{width} wide: {:?} s", seen.seconds);
    println!(
        "{rungs} kernels and {versions} versions of exercises ran {}",
        seen.without
    );
    seen
}

#[test]
fn everything_of_the_page_runs() {
    let Some((browser, folder)) = page("page") else {
        return;
    };
    let seen = seen(browser, &folder, 1100, false, true);
    let [rungs, versions] = seen.counts;
    assert!(rungs > 100, "{rungs} kernels");
    // The README states less; a machine that runs all tests at once is slower.
    let first = seen.seconds["ready"] + seen.seconds["result"];
    assert!(first < 20.0, "{first} s to the first result");
    if seen.without.is_empty() {
        assert_eq!(versions, 2 * warpladder_learn::ALL.len());
    }
}

#[test]
fn a_narrow_dark_page_is_as_usable() {
    let Some((browser, folder)) = page("narrow-page") else {
        return;
    };
    seen(browser, &folder, 390, true, false);
}

/// The megabytes that the README states, in their order.
fn stated() -> Vec<f64> {
    let readme = std::fs::read_to_string(Path::new(warpladder::SOURCE_ROOT).join("README.md"));
    let readme = readme.unwrap();
    let (_, after) = readme
        .split_once("<!-- page -->")
        .expect("the README has a mark");
    let (text, _) = after
        .split_once("<!-- /page -->")
        .expect("the README has its end");
    let words: Vec<&str> = text.split_whitespace().collect();
    let unit = |pair: &&[&str]| pair[1].trim_matches(|c: char| !c.is_alphanumeric()) == "MB";
    let number = |pair: &[&str]| pair[0].parse().expect("a number");
    words.windows(2).filter(unit).map(number).collect()
}

#[test]
fn the_readme_states_the_bytes_of_the_page() {
    let Some(built) = built() else { return };
    let module = std::fs::read(built.join("warpladder_web.wasm")).unwrap();
    let compressed = miniz_oxide::deflate::compress_to_vec(&module, 6);
    let bytes = [module.len(), compressed.len()];
    let [all, small] = stated()[..] else {
        panic!("the README states other sizes: {:?}", stated());
    };
    for (stated, bytes) in [(all, bytes[0]), (small, bytes[1])] {
        let megabytes = bytes as f64 / 1e6;
        // Other versions of the compiler write a little more or less.
        assert!(
            (stated / megabytes - 1.0).abs() < 0.05,
            "README.md states {stated} MB, and it is {megabytes:.2}"
        );
    }
}
