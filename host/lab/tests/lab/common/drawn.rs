//! Which cases of a long test run on the emulator. On a GPU all of them run.

use std::cell::Cell;
use test_sample::Sample;
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::engine::{Engine, EngineKind};
use warpladder::gemm::GemmInto;

/// A test's cases, drawn one by one, counted, and reported at the end.
pub struct Drawn {
    sample: Sample,
    name: String,
    ran: Cell<usize>,
    all: Cell<usize>,
}

/// In a sample, one case in this many runs.
const ONE_IN: u64 = 8;

impl Drawn {
    /// `name` says what the cases are.
    pub fn new(engine: &dyn Engine, name: impl Into<String>) -> Self {
        Drawn {
            sample: match engine.kind() {
                EngineKind::Gpu => Sample::Full,
                _ => Sample::from_env(),
            },
            name: name.into(),
            ran: Cell::new(0),
            all: Cell::new(0),
        }
    }

    /// Products of `T` into `C` by the kernels for a compute capability.
    pub fn products<T: GemmInto<C>, C: Element>(
        engine: &dyn Engine,
        capability: ComputeCapability,
    ) -> Self {
        let (from, into) = (T::NAME, C::TYPE);
        let name = format!("products of {from} into {into} for compute capability {capability}");
        Drawn::new(engine, name)
    }

    /// Whether a case runs: where it is drawn, where it `must`, and where it is the first.
    pub fn takes(&self, case: &str, must: bool) -> bool {
        let must = must || self.all.get() == 0;
        let runs = must || self.sample.takes(&format!("{} {case}", self.name), ONE_IN);
        self.all.set(self.all.get() + 1);
        self.ran.set(self.ran.get() + usize::from(runs));
        runs
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.sample
            .report(self.ran.get(), self.all.get(), &self.name);
    }
}
