//! What the executor is compiled for: an observer, or a table of an observer's functions.

use super::{Event, Interest, Observer};
use crate::stepping::{Paused, Resume};

/// Where the executor's events go.
pub(crate) trait EventSink {
    /// Whether addresses are collected. This and the next ones are known to the compiler, which
    /// then leaves out what makes such events.
    const ACCESSES: bool;
    const ASYNC_ACCESSES: bool;
    const WARP_SYNCS: bool;
    /// [`Observer::UNORDERED_LOADS`].
    const UNORDERED_LOADS: bool;

    /// [`Observer::STRONG_IN_ORDER`].
    fn strong_in_order(&self) -> bool;

    /// [`Observer::STEPS`].
    fn steps(&self) -> bool;

    /// [`Observer::notify`].
    fn notify(&mut self, event: Event<'_>);

    /// [`Observer::paused`].
    fn paused(&mut self, paused: &dyn Paused) -> Resume;
}

impl<O: Observer> EventSink for O {
    const ACCESSES: bool = O::INTEREST.contains(Interest::ACCESS);
    const ASYNC_ACCESSES: bool = O::INTEREST.contains(Interest::ASYNC_ACCESS);
    const WARP_SYNCS: bool = O::INTEREST.contains(Interest::WARP_SYNC);
    const UNORDERED_LOADS: bool = O::UNORDERED_LOADS;

    #[inline(always)]
    fn strong_in_order(&self) -> bool {
        O::STRONG_IN_ORDER
    }

    #[inline(always)]
    fn steps(&self) -> bool {
        O::STEPS
    }

    #[inline(always)]
    fn notify(&mut self, event: Event<'_>) {
        Observer::notify(self, event);
    }

    #[inline(always)]
    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        Observer::paused(self, paused)
    }
}

/// An observer of any type behind a table of its functions.
pub(crate) struct Indirect<'o> {
    observer: &'o mut dyn Receiver,
    interest: Interest,
    strong_in_order: bool,
    steps: bool,
}

impl<'o> Indirect<'o> {
    pub(crate) fn new<O: Observer>(observer: &'o mut O) -> Self {
        Indirect {
            observer,
            interest: O::INTEREST,
            strong_in_order: O::STRONG_IN_ORDER,
            steps: O::STEPS,
        }
    }
}

impl EventSink for Indirect<'_> {
    const ACCESSES: bool = true;
    const ASYNC_ACCESSES: bool = true;
    const WARP_SYNCS: bool = true;
    // Observers for which loads have an order are among those that it serves.
    const UNORDERED_LOADS: bool = false;

    fn strong_in_order(&self) -> bool {
        self.strong_in_order
    }

    fn steps(&self) -> bool {
        self.steps
    }

    #[inline(always)]
    fn notify(&mut self, event: Event<'_>) {
        if self.interest.contains(event.kind()) {
            self.observer.event(event);
        }
    }

    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        self.observer.paused(paused)
    }
}

/// The part of [`Observer`] that a running block calls.
trait Receiver {
    fn event(&mut self, event: Event<'_>);

    fn paused(&mut self, paused: &dyn Paused) -> Resume;
}

impl<O: Observer> Receiver for O {
    fn event(&mut self, event: Event<'_>) {
        Observer::event(self, event);
    }

    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        Observer::paused(self, paused)
    }
}
