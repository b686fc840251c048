//! The measurements that are kept in the repository.

use crate::data::Predicted;
use std::sync::LazyLock;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::problem::Shape;
use warpladder_models::devices::DeviceModel;

/// The GPU, and what it measured.
const MEASURED: (&str, &str) = ("H200", warpladder_results::h200::PREDICT);

/// How long a rung took on this device at this size, in milliseconds, where that is kept.
pub fn measured_ms(device: &DeviceModel, rung: &Rung, shape: Shape) -> Option<f64> {
    static ROWS: LazyLock<Vec<Predicted>> =
        LazyLock::new(|| warpladder_lab::results::read(MEASURED.1).unwrap_or_default());
    let k = rung.operation.uses_k().then_some(shape.k);
    let is_it = |row: &&Predicted| {
        row.kernel == rung.name && (row.m, row.n, row.k) == (shape.m, shape.n, k)
    };
    let found = ROWS
        .iter()
        .filter(|_| device.name == MEASURED.0)
        .find(is_it);
    found.and_then(|row| row.measured_ms)
}
