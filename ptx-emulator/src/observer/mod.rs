//! Watching an execution: the executor executes, observers see.

mod access;
mod event;
mod sink;

pub use access::{Accesses, AsyncAccess, Issuer, MemoryAccess, Progress, StoredValues};
pub(crate) use access::{Form, RepeatedAccess, RepeatedLoads};
pub use event::{
    BarrierComplete, Event, Interest, LaunchContext, WarpContext, WarpSync, WarpSyncKind,
};
pub(crate) use sink::{EventSink, Forks, Indirect};

use crate::error::LaunchError;
use crate::kernel::Kernel;
use crate::launch::{Args, LaunchConfig, Report};
use crate::memory::Memory;
use crate::stepping::{Paused, Resume};

/// Receives what happens during a launch.
///
/// Every worker thread has an observer of its own, made by [`Observer::fork`] and merged through
/// [`Observer::join`] in the order of the workers; a block runs on one worker from start to end,
/// and those of a cluster or of a cooperative launch do so in turn. A block of another launch that
/// waits for others may be put aside, and keeps its observer: the worker goes on with one more.
///
/// The executor that serves all types of observers is compiled with this crate. An event outside of
/// [`Observer::INTEREST`] costs it a test, any other one a call through a table. For an observer
/// that [runs launches itself](Observer::launch) the executor is compiled once more, in the crate
/// of that observer, which takes several seconds; an event outside of its interest then costs
/// nothing.
///
/// An observer that wraps others forwards events by [`Observer::notify`]:
///
/// ```
/// use ptx_emulator::{Event, Interest, Observer};
///
/// struct Both<A, B>(A, B);
///
/// impl<A: Observer, B: Observer> Observer for Both<A, B> {
///     const INTEREST: Interest = A::INTEREST.with(B::INTEREST);
///
///     fn fork(&self) -> Self {
///         Both(self.0.fork(), self.1.fork())
///     }
///
///     fn join(&mut self, worker: Self) {
///         self.0.join(worker.0);
///         self.1.join(worker.1);
///     }
///
///     fn event(&mut self, event: Event<'_>) {
///         self.0.notify(event);
///         self.1.notify(event);
///     }
/// }
/// ```
pub trait Observer: Send + Sized {
    /// The events that [`Observer::event`] is called with. Where [`ObservedLaunch::run`] runs the
    /// launch, addresses are not even collected without [`Interest::ACCESS`].
    const INTEREST: Interest = Interest::ALL;

    /// Whether the order of a warp's loads between two of its stores does not matter to the
    /// observer. The executor may then report several loads of a basic block as one event, before
    /// the first of them; a fault between the loads, which ends the launch, leaves some undone.
    const UNORDERED_LOADS: bool = false;

    /// Whether the observer tells the memory which bytes the kernel wrote
    /// ([`Memory::mark_written`]). After a launch under any other observer, all memory counts as
    /// written.
    const MARKS_WRITTEN: bool = false;

    /// Whether strong accesses to global memory are reported in the order in which they are
    /// performed, on whichever workers. The workers then wait for each other.
    const STRONG_IN_ORDER: bool = false;

    /// Whether [`Observer::paused`] is called before each basic block: before each PTX instruction
    /// of a kernel that [`Module::kernel_for_stepping`](crate::Module::kernel_for_stepping) gave.
    const STEPS: bool = false;

    /// An observer for one more worker, or for a block that is put aside: it has seen nothing of
    /// what this one may have seen already.
    fn fork(&self) -> Self;

    /// Merges what a worker's observer has seen.
    fn join(&mut self, worker: Self);

    /// An event of [`Observer::INTEREST`].
    fn event(&mut self, event: Event<'_>);

    /// Lanes of a warp are about to run, or the launch has met a fault; the state of their block
    /// can be looked at. What it returns says what happens next. Called where [`Observer::STEPS`]
    /// holds; with several workers, each calls it for its own blocks.
    fn paused(&mut self, _: &dyn Paused) -> Resume {
        Resume::Run
    }

    /// Calls [`Observer::event`] if the event is of interest. Not to be overridden.
    #[inline(always)]
    fn notify(&mut self, event: Event<'_>) {
        if Self::INTEREST.contains(event.kind()) {
            self.event(event);
        }
    }

    /// Runs a launch under this observer: what [`Kernel::launch_observed`] does.
    ///
    /// The executor that runs it is compiled once, with the emulator, and calls the observer
    /// through a table of functions. An observer that cannot spare that time provides this method
    /// itself, by [`ObservedLaunch::run`].
    ///
    /// # Errors
    /// As [`Kernel::launch_observed`].
    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        launch.run_indirect(self)
    }
}

/// A launch that is about to run; see [`Observer::launch`].
#[derive(Clone, Copy, Debug)]
pub struct ObservedLaunch<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) memory: &'a Memory,
    pub(crate) config: &'a LaunchConfig,
    pub(crate) args: &'a Args,
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const INTEREST: Interest = Interest::NONE;

    fn fork(&self) -> Self {
        NoObserver
    }

    fn join(&mut self, _: Self) {}

    fn event(&mut self, _: Event<'_>) {}

    #[inline(never)]
    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        launch.run(self)
    }
}

/// Two observers of one launch: both see everything, the first one first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const INTEREST: Interest = A::INTEREST.with(B::INTEREST);
    const UNORDERED_LOADS: bool = A::UNORDERED_LOADS && B::UNORDERED_LOADS;
    const MARKS_WRITTEN: bool = A::MARKS_WRITTEN || B::MARKS_WRITTEN;
    const STRONG_IN_ORDER: bool = A::STRONG_IN_ORDER || B::STRONG_IN_ORDER;
    const STEPS: bool = A::STEPS || B::STEPS;

    /// What the first says, unless that is to go on.
    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        let of_second = |this: &mut Self| match B::STEPS {
            true => this.1.paused(paused),
            false => Resume::Run,
        };
        match A::STEPS.then(|| self.0.paused(paused)) {
            None | Some(Resume::Run) => of_second(self),
            Some(other) => other,
        }
    }

    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }

    fn join(&mut self, worker: Self) {
        self.0.join(worker.0);
        self.1.join(worker.1);
    }

    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        self.0.notify(event);
        self.1.notify(event);
    }
}
