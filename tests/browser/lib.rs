//! Pages in a browser without a window.
//!
//! A test that needs a browser is skipped where [`find`] finds none, with [`NONE`] as its reason. A
//! page is opened from its file by [`command`], or [`visit`] serves a folder and waits for what a
//! script of the page sends.

mod server;

pub use server::visit;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Browsers that are looked for.
const CANDIDATES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Why a test is skipped.
pub const NONE: &str = "no chromium, chromium-browser or google-chrome";

/// A browser, where there is one.
pub fn find() -> Option<&'static str> {
    CANDIDATES.into_iter().find(|name| {
        let mut command = Command::new(name);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// The browser without a window, with the folder `profile` for what it keeps.
pub fn command(browser: &str, profile: &Path) -> Command {
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// The script of axe-core, which `.ci/axe` fetches; `None` where it has not.
pub fn axe() -> Option<String> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or(home)?;
    let script = std::fs::read_to_string(cache.join("warpladder/axe/axe.min.js")).ok()?;
    Some(script.replace("</script", "<\\/script"))
}
