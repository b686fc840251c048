//! What a run consists of: kernels at sizes, and how long that will take.

use super::prediction;
use crate::estimate::{self, EmulatorSpeed, ROUGH_SECONDS, about};
use crate::select;
use crate::shape::AskedShape;
use anyhow::bail;
use std::time::Duration;
use warpladder::device::ComputeCapability;
use warpladder::engine::{Engine, EngineKind};
use warpladder_lab::catalogue::{self, Family, Implementation, Rung};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{Admitted, RunError, Variant, check_shape, preflight_with};
use warpladder_models::devices::DeviceModel;

/// Products on the host run unasked up to this much work: 512 × 512 × 512, about a second for the
/// slowest.
const CPU_FLOPS: f64 = 2.0 * 512.0 * 512.0 * 512.0;

/// What the model predicts where no size is given: the size at which a GPU runs.
const PREDICTED: Shape = Shape {
    m: select::PREDICTED_SIZE,
    n: select::PREDICTED_SIZE,
    k: select::PREDICTED_SIZE,
};

/// A kernel at a size.
#[derive(Clone)]
pub(super) struct RunCase {
    pub admitted: Admitted,
    /// The size that is predicted.
    pub predicted: Shape,
    /// The number of the size that was asked for.
    pub group: usize,
    /// What stands above the first row of the group, where there are several.
    pub heading: Option<String>,
    /// How long it will take, as far as that is known before.
    pub seconds: f64,
}

impl RunCase {
    pub(super) fn rung(&self) -> &'static Rung {
        self.admitted.rung()
    }
}

/// The cases of a run, and what is left out of it.
#[derive(Default)]
pub(super) struct Selection {
    /// What runs, size by size.
    pub run: Vec<RunCase>,
    /// Those that do not take the size.
    pub unsupported: Vec<&'static Rung>,
    /// Those that the device's compute capability does not run, or that are newer than the
    /// generation that was asked for.
    pub incapable: Vec<&'static Rung>,
    /// Products on the host that would take long.
    pub slow: Vec<&'static Rung>,
    /// Those that would take longer than the limit, with how long.
    pub over_limit: Vec<(&'static Rung, f64)>,
}

/// Which kernels, as the arguments name them.
pub(super) struct Named<'a> {
    pub family: Option<Family>,
    pub kernels: &'a [String],
    pub exclude: &'a [String],
    /// The generation of GPUs whose kernels run.
    pub generation: Option<ComputeCapability>,
}

impl Named<'_> {
    /// The kernels that the arguments name.
    pub(super) fn rungs(&self) -> anyhow::Result<Vec<&'static Rung>> {
        let excluded = select::kernels(self.exclude)?;
        let is_wanted = |rung: &&Rung| !excluded.iter().any(|other| other.name == rung.name);
        let of_family = |rung: &&Rung| self.family.is_none_or(|family| family == rung.family);
        let mut named = select::kernels(self.kernels)?;
        if self.kernels.is_empty() {
            named = catalogue::rungs().collect();
            named.retain(of_family);
        } else if let Some(family) = self.family {
            // A pattern may name kernels of several families; a name is of one.
            for word in self.kernels {
                let of_word = select::kernels(std::slice::from_ref(word))?;
                if let [one] = of_word[..]
                    && one.family != family
                {
                    let (name, other) = (one.name, one.family);
                    bail!("{name} is of family {other}, not {family}: leave out --family");
                }
            }
            named.retain(of_family);
        }
        named.retain(is_wanted);
        if named.is_empty() {
            bail!("no kernel is left: name others, or leave out --exclude");
        }
        Ok(named)
    }

    /// Whether a kernel is named, and not only matched by a pattern: one that is must run.
    fn is_by_name(&self, rung: &Rung) -> bool {
        self.kernels.iter().any(|word| word == rung.name)
    }
}

/// Splits off the rungs that do not take a size, or that the engine's device does not run. One that
/// was asked for by name is an error; of the whole catalogue, a family or a pattern, the others
/// run.
pub(super) fn split(
    named: &Named<'_>,
    engine: &dyn Engine,
    shapes: &[AskedShape],
    is_given: bool,
) -> anyhow::Result<Selection> {
    let rungs = named.rungs()?;
    let variant = Variant {
        generation: named.generation,
        ..Variant::default()
    };
    let mut selection = Selection::default();
    for (group, &asked) in shapes.iter().enumerate() {
        let heading = (shapes.len() > 1).then(|| asked.heading());
        for &rung in &rungs {
            let by_name = named.is_by_name(rung);
            let on_cpu = matches!(rung.implementation, Implementation::Cpu(_));
            let shape = match asked.of(rung) {
                Ok(shape) => shape,
                Err(error) if by_name => return Err(error.into()),
                Err(_) => {
                    selection.unsupported.push(rung);
                    continue;
                }
            };
            if on_cpu && !by_name && rung.operation.flops(shape) > CPU_FLOPS {
                selection.slow.push(rung);
                continue;
            }
            let admitted = match preflight_with(engine, rung, shape, variant) {
                Err(RunError::Newer { .. } | RunError::Capability { .. }) if !by_name => {
                    selection.incapable.push(rung);
                    continue;
                }
                admitted => admitted?,
            };
            let is_predicted_larger = !is_given && check_shape(rung, PREDICTED).is_ok();
            selection.run.push(RunCase {
                admitted,
                predicted: match is_predicted_larger {
                    true => PREDICTED,
                    false => shape,
                },
                group,
                heading: heading.clone(),
                seconds: 0.0,
            });
        }
    }
    if let ([], [first, ..]) = (&selection.run[..], &selection.incapable[..]) {
        let (device, has) = (engine.device_name(), engine.compute_capability());
        let first = first.name;
        match named.generation {
            Some(asked) if asked < has => bail!(
                "compute capability {asked}, which was asked for, runs no kernel of this \
                 selection, such as {first}: name others, or ask for a newer generation"
            ),
            _ => bail!(
                "{device} has compute capability {has}, which runs no kernel of this selection, \
                 such as {first}: name others, or run them on the emulator"
            ),
        }
    }
    if selection.run.is_empty() {
        let sizes = shapes.iter().map(|asked| {
            let Shape { m, n, k } = asked.any();
            format!("{m} x {n} x {k}")
        });
        bail!(
            "no kernel of this selection takes {}: `warpladder list --wide` says what each takes",
            sizes.collect::<Vec<_>>().join(" or ")
        );
    }
    Ok(selection)
}

/// What an estimate depends on.
pub(super) struct Conditions<'a> {
    pub engine: &'a dyn Engine,
    /// The GPU that is predicted.
    pub device: Option<&'a DeviceModel>,
    /// The generation of GPUs whose kernels run, and are predicted.
    pub generation: Option<ComputeCapability>,
    /// The GPU that is measured.
    pub measured: Option<&'a DeviceModel>,
    pub reps: usize,
    pub seed: u64,
}

/// Launches on a GPU beside the samples: the check, the warm-up, and those with transfers.
const OTHER_LAUNCHES: usize = 7;

/// Fills in how long each case will take. Small ones together are not looked at closely.
pub(super) fn estimate(cases: &mut [RunCase], on: &Conditions<'_>) -> anyhow::Result<()> {
    if on.engine.kind() == EngineKind::Gpu {
        for case in cases {
            let launch = on
                .measured
                .map(|device| estimate::on_gpu(device, case.rung(), case.admitted.shape()));
            let launches = (on.reps + OTHER_LAUNCHES) as f64;
            case.seconds = launches * launch.unwrap_or_default();
        }
        return Ok(());
    }
    let speed = EmulatorSpeed::measure(on.engine, on.seed)?;
    for case in cases {
        let rung = case.rung();
        case.seconds = speed.runs(rung, case.admitted.shape(), 1 + on.reps)?;
        let is_counted = on.device.is_some_and(|device| {
            let asked = prediction::Asked {
                rung,
                shape: case.predicted,
                generation: on.generation,
            };
            !case.admitted.is_on_host() && prediction::shipped(device, asked).is_none()
        });
        if is_counted {
            case.seconds += speed.prediction(rung, case.predicted);
        }
    }
    Ok(())
}

impl Selection {
    /// How long all cases take, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.run.iter().map(|case| case.seconds).sum()
    }

    /// Leaves out what would take longer than the limit by itself.
    pub(super) fn within(&mut self, limit: Duration) -> anyhow::Result<()> {
        let (within, over): (Vec<RunCase>, Vec<RunCase>) = std::mem::take(&mut self.run)
            .into_iter()
            .partition(|case| case.seconds <= limit.as_secs_f64().max(ROUGH_SECONDS));
        self.run = within;
        let over = over.into_iter();
        self.over_limit = over.map(|case| (case.rung(), case.seconds)).collect();
        if let ([], Some((rung, seconds))) = (&self.run[..], self.over_limit.first()) {
            bail!(
                "--time-limit {}: {} would take about {}: give more time, or a smaller --shape",
                limit.as_secs_f64(),
                rung.name,
                about(*seconds)
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder::device::ComputeCapability;
    use warpladder::engine::emulator::EmulatorEngine;
    use warpladder::error::EngineError;
    use warpladder::launch::{DevicePtr, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};

    const SHAPE: Shape = Shape {
        m: 256,
        n: 256,
        k: 256,
    };

    /// A device of another compute capability; nothing is run on it.
    struct Of(ComputeCapability, EmulatorEngine);

    impl Engine for Of {
        fn kind(&self) -> EngineKind {
            self.1.kind()
        }
        fn device_name(&self) -> &str {
            "a GPU"
        }
        fn compute_capability(&self) -> ComputeCapability {
            self.0
        }
        fn multiprocessors(&self) -> u32 {
            self.1.multiprocessors()
        }
        fn free_memory(&self) -> Result<u64, EngineError> {
            self.1.free_memory()
        }
        fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError> {
            self.1.load(ptx, entry)
        }
        fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError> {
            self.1.alloc(bytes)
        }
        fn free(&self, ptr: DevicePtr) {
            self.1.free(ptr);
        }
        fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
            self.1.upload(to, bytes)
        }
        fn download(&self, bytes: &mut [u8], from: DevicePtr) -> Result<(), EngineError> {
            self.1.download(bytes, from)
        }
        fn tensor_map(&self, map: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError> {
            self.1.tensor_map(map)
        }
        unsafe fn run(&self, _: &Launch<'_>) -> Result<(), EngineError> {
            unreachable!("a selection runs nothing")
        }
        unsafe fn time(&self, _: &[Launch<'_>], _: u32) -> Result<f64, EngineError> {
            unreachable!("a selection runs nothing")
        }
    }

    fn split_on(capability: u32, kernels: &[&str]) -> anyhow::Result<Selection> {
        let engine = Of(capability.into(), EmulatorEngine::new());
        let kernels: Vec<String> = kernels.iter().map(ToString::to_string).collect();
        let named = Named {
            family: None,
            kernels: &kernels,
            exclude: &[],
            generation: None,
        };
        split(&named, &engine, &[AskedShape::given(SHAPE)], true)
    }

    /// A run of the whole catalogue is the first thing that many try, on whatever GPU they have.
    #[test]
    fn the_whole_catalogue_runs_on_every_generation_but_for_what_it_cannot() {
        for capability in [70, 75, 80, 86, 89, 90, 100, 120] {
            let selection = split_on(capability, &[]).unwrap();
            let has = |rung: &'static Rung| {
                let needs = rung.resolve(SHAPE).compute_capability();
                needs.is_none_or(|needs| warpladder::ptx::module(needs).runs_on(capability.into()))
            };
            assert!(selection.incapable.iter().all(|rung| !has(rung)));
            assert!(selection.run.iter().all(|case| has(case.rung())));
            assert_eq!(selection.incapable.is_empty(), capability == 90);
            assert!(selection.run.len() > 50, "{capability}");
        }
    }

    #[test]
    fn what_is_asked_for_by_name_must_run() {
        let refused = |kernels: &[&str]| split_on(89, kernels).err().unwrap().to_string();
        assert!(refused(&["wgmma_bf16"]).starts_with("wgmma_bf16 needs compute capability 9.0"));
        let none = refused(&["wgmma_*"]);
        assert!(none.contains("a GPU has compute capability 8.9"), "{none}");
        assert!(none.contains("such as wgmma_"), "{none}");
    }
}
