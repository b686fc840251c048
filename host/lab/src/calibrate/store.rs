//! Calibrations of this machine's GPUs: one JSON file each, in the user's folder for data.

use etcetera::BaseStrategy;
use std::path::PathBuf;
use warpladder_models::devices::Measured;

/// A calibration that cannot be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No folder is known.
    #[error("no folder for calibrations: set XDG_DATA_HOME or HOME")]
    NoFolder,
    /// The file cannot be read or written.
    #[error("{}: {error}: remove it, or calibrate again", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file holds something else.
    #[error("{} is no calibration: {error}: remove it, or calibrate again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
}

/// Where the calibration of a device of this name is kept: `warpladder/calibration/NAME.json` in
/// the user's folder for data. That is `XDG_DATA_HOME`, or `~/.local/share` where that is not set
/// (XDG Base Directory Specification), and `%APPDATA%` on Windows.
///
/// # Errors
/// [`StoreError::NoFolder`] where there is no home folder.
pub fn path(device: &str) -> Result<PathBuf, StoreError> {
    let strategy = etcetera::choose_base_strategy().map_err(|_| StoreError::NoFolder)?;
    let plain = device.replace(|c: char| !c.is_alphanumeric(), "-");
    let file = format!("warpladder/calibration/{plain}.json");
    Ok(strategy.data_dir().join(file))
}

/// Keeps a calibration, in place of an older one of the same device.
///
/// # Errors
/// See [`StoreError`].
pub fn save(measured: &Measured) -> Result<PathBuf, StoreError> {
    let path = path(&measured.device)?;
    let write = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, serde_json::to_vec_pretty(measured)?)
    };
    match write() {
        Ok(()) => Ok(path),
        Err(error) => Err(StoreError::File { path, error }),
    }
}

/// The calibration of a device; `None` where there is none.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub fn load(device: &str) -> Result<Option<Measured>, StoreError> {
    let Ok(path) = path(device) else {
        return Ok(None);
    };
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::File { path, error }),
        Ok(text) => text,
    };
    match serde_json::from_slice(&text) {
        Ok(measured) => Ok(Some(measured)),
        Err(error) => Err(StoreError::Content { path, error }),
    }
}
