//! Stepping: an observer that runs a kernel instruction by instruction, and looks at everything
//! that its threads have.
//!
//! An [`Observer`](crate::Observer) with [`STEPS`](crate::Observer::STEPS) is asked before each
//! instruction what to do next, and gets a [`Paused`] launch to look at: registers, shared memory,
//! barriers, and where each warp is. The kernel comes from
//! [`Module::kernel_for_stepping`](crate::Module::kernel_for_stepping).
//!
//! ```
//! use ptx_emulator::stepping::{Paused, Resume};
//! use ptx_emulator::{Args, Event, Interest, LaunchConfig, Memory, Module, Observer};
//!
//! /// Writes down each instruction, with what lane 3 has in `%r1` before it.
//! struct Trace(Vec<(u32, Option<u64>)>);
//!
//! impl Observer for Trace {
//!     const INTEREST: Interest = Interest::NONE;
//!     const STEPS: bool = true;
//!
//!     fn paused(&mut self, paused: &Paused<'_>) -> Resume {
//!         if let Some(step) = paused.step() {
//!             let group = &paused.groups(step.rank, step.warp)[step.group];
//!             let value = paused.register(step.rank, step.warp, group, "%r1");
//!             let line = paused.kernel().instruction(step.instruction).line();
//!             self.0.push((line, value.and_then(|value| value.lane(3))));
//!         }
//!         Resume::Run
//!     }
//!
//!     fn fork(&self) -> Self {
//!         Trace(Vec::new())
//!     }
//!     fn join(&mut self, worker: Self) {
//!         self.0.extend(worker.0);
//!     }
//!     fn event(&mut self, _: Event<'_>) {}
//! }
//!
//! let text = ".version 7.0\n.target sm_70\n.address_size 64\n\
//!     .visible .entry k() {\n.reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;\nret;\n}";
//! let kernel = Module::parse(text)?.kernel_for_stepping("k")?;
//! let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
//! let mut trace = Trace(Vec::new());
//! kernel.launch_observed(&Memory::with_capacity(1 << 20), &config, &Args::new(), &mut trace)?;
//! assert_eq!(trace.0, [(6, None), (7, Some(3))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::exec::{
    LaneGroup, LaneState, MbarrierState, Paused, PausedBarrier, RegisterValue, Resume, Step,
};
