//! What the model says of a kernel on a GPU that is not there.

use std::collections::HashMap;
use std::sync::LazyLock;
use warpladder::device::ComputeCapability;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{Implementation, Rung};
use warpladder_lab::predict::{self, ForecastError};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::Predicted;
use warpladder_models::Bound;
use warpladder_models::devices::{self, DeviceModel};
use warpladder_results::h200;

/// The GPU of the predictions that ship.
const SHIPPED: &str = "H200";

/// A row of results/h200/predict.json: what `predict` said, and of which PTX.
#[derive(serde::Deserialize)]
struct Row {
    kernel: String,
    m: u32,
    n: u32,
    k: Option<u32>,
    predicted_ms: f64,
    bound: Bound,
    /// See [`predict::fingerprint`]; in hexadecimal digits.
    ptx: String,
}

/// A kernel and a size.
type Key = (String, u32, u32, Option<u32>);

/// The predictions that ship, by kernel and size.
static ROWS: LazyLock<HashMap<Key, Row>> = LazyLock::new(|| {
    // A test reads them.
    let rows: Vec<Row> = warpladder_lab::results::read(h200::PREDICT).unwrap_or_default();
    let key = |row: &Row| (row.kernel.clone(), row.m, row.n, row.k);
    rows.into_iter().map(|row| (key(&row), row)).collect()
});

/// What is to be predicted.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub rung: &'static Rung,
    pub shape: Shape,
    /// The generation of GPUs whose kernels run.
    pub generation: Option<ComputeCapability>,
}

impl Asked {
    /// Whether it may be another kernel than without a generation.
    fn is_of_a_generation(self) -> bool {
        let runs = self.rung.resolve(self.shape);
        self.generation.is_some() && matches!(runs.implementation, Implementation::Planned { .. })
    }
}

/// Predicts a kernel. To count one at a large size takes seconds, so that a prediction that ships
/// is taken where there is one of the same PTX.
pub(super) fn predicted(
    emulator: &EmulatorEngine,
    device: &DeviceModel,
    asked: Asked,
    seed: u64,
) -> Result<Predicted, ForecastError> {
    match shipped(device, asked) {
        Some(predicted) => Ok(predicted),
        None => {
            let Asked {
                rung,
                shape,
                generation,
            } = asked;
            let forecast = predict::forecast_with(emulator, device, rung, shape, generation, seed)?;
            Ok(forecast.predicted(device))
        }
    }
}

/// The prediction that ships, of this very PTX and device.
pub(super) fn shipped(device: &DeviceModel, asked: Asked) -> Option<Predicted> {
    let is_described = devices::find(SHIPPED).ok() == Some(device);
    if device.name != SHIPPED || !is_described || asked.is_of_a_generation() {
        return None;
    }
    let Asked { rung, shape, .. } = asked;
    let k = rung.operation.uses_k().then_some(shape.k);
    let row = ROWS.get(&(rung.name.to_owned(), shape.m, shape.n, k))?;
    let now = predict::fingerprint(device, rung, shape).ok()?;
    if format!("{now:016x}") != row.ptx {
        return None;
    }
    let ms = row.predicted_ms;
    let rate = |count: f64| count / ms / 1e6;
    let flops = rung.operation.flops(shape);
    let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
    Some(Predicted {
        device: device.name.to_string(),
        shape,
        ms,
        gflops: (flops > 0.0).then(|| rate(flops)),
        gbs: rate(bytes),
        bound: row.bound,
        roof_pct: predict::roof_pct(device, rung, shape, ms),
        // It is calibrated, and everything is known of it.
        unknown: Vec::new(),
        has_launch: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue;

    fn asked(rung: &'static Rung, shape: Shape) -> Asked {
        Asked {
            rung,
            shape,
            generation: None,
        }
    }

    #[test]
    fn what_ships_is_of_the_ptx_in_the_program() {
        let device = devices::find(SHIPPED).unwrap();
        let mut stale = Vec::new();
        for row in ROWS.values() {
            let rung = catalogue::find(&row.kernel).unwrap();
            let shape = Shape {
                m: row.m,
                n: row.n,
                k: row.k.unwrap_or(row.n),
            };
            if shipped(device, asked(rung, shape)).is_none() {
                stale.push(format!("{} at {}", row.kernel, row.m));
            }
        }
        assert!(ROWS.len() > 200, "{}", ROWS.len());
        assert!(
            stale.is_empty(),
            "run `WARPLADDER_UPDATE=predictions cargo test --release -p warpladder-cli --test cli \
             predictions`: {}",
            stale.join(", ")
        );
    }

    #[test]
    fn another_gpu_or_size_does_not_ship() {
        let naive = catalogue::find("naive").unwrap();
        let shape = |size| Shape {
            m: size,
            n: size,
            k: size,
        };
        let h200 = devices::find(SHIPPED).unwrap();
        assert!(shipped(h200, asked(naive, shape(4096))).is_some());
        assert!(shipped(h200, asked(naive, shape(4095))).is_none());
        let v100 = devices::find("V100").unwrap();
        assert!(shipped(v100, asked(naive, shape(4096))).is_none());
        let mut faster = h200.clone();
        faster.clock_mhz.value += 1.0;
        assert!(shipped(&faster, asked(naive, shape(4096))).is_none());
    }

    #[test]
    fn a_generation_ships_only_where_no_kernel_is_chosen_by_it() {
        let h200 = devices::find(SHIPPED).unwrap();
        for (name, ships) in [("naive", true), ("dgemm", false)] {
            let rung = catalogue::find(name).unwrap();
            let shape = Shape {
                m: 4096,
                n: 4096,
                k: 4096,
            };
            let mut asked = asked(rung, shape);
            assert!(shipped(h200, asked).is_some(), "{name}");
            asked.generation = Some(ComputeCapability::V8_0);
            assert_eq!(shipped(h200, asked).is_some(), ships, "{name}");
        }
    }
}
