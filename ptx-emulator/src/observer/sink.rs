//! What the executor is compiled for: an observer, or a table of an observer's functions.

use super::{Event, Interest, Observer};
use crate::stepping::{Paused, Resume};

/// Where the executor's events go.
pub(crate) trait EventSink {
    /// One more observer of the launch, for a block that is put aside.
    type Fork;

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

    /// [`Observer::fork`].
    fn new_fork(&mut self) -> Self::Fork;

    /// Trades places with a fork: events go to it from now on.
    fn trade(&mut self, fork: &mut Self::Fork);

    /// [`Observer::join`].
    fn take_in(&mut self, fork: Self::Fork);
}

impl<O: Observer> EventSink for O {
    type Fork = O;

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

    fn new_fork(&mut self) -> O {
        self.fork()
    }

    fn trade(&mut self, fork: &mut O) {
        std::mem::swap(self, fork);
    }

    fn take_in(&mut self, fork: O) {
        self.join(fork);
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
    pub(crate) fn new<O: Observer>(observer: &'o mut Forks<'_, O>) -> Self {
        Indirect {
            observer,
            interest: O::INTEREST,
            strong_in_order: O::STRONG_IN_ORDER,
            steps: O::STEPS,
        }
    }
}

impl EventSink for Indirect<'_> {
    /// Its number among [`Forks`].
    type Fork = usize;

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

    fn new_fork(&mut self) -> usize {
        self.observer.new_fork()
    }

    fn trade(&mut self, fork: &mut usize) {
        self.observer.trade(*fork);
    }

    fn take_in(&mut self, fork: usize) {
        self.observer.take_in(fork);
    }
}

/// The part of [`Observer`] that a running block calls.
trait Receiver {
    fn event(&mut self, event: Event<'_>);

    fn paused(&mut self, paused: &dyn Paused) -> Resume;

    fn new_fork(&mut self) -> usize;

    fn trade(&mut self, fork: usize);

    fn take_in(&mut self, fork: usize);
}

/// An observer and its forks, by number.
pub(crate) struct Forks<'o, O> {
    observer: &'o mut O,
    forks: Vec<Option<O>>,
}

impl<'o, O> Forks<'o, O> {
    pub(crate) fn new(observer: &'o mut O) -> Self {
        Forks {
            observer,
            forks: Vec::new(),
        }
    }
}

impl<O: Observer> Receiver for Forks<'_, O> {
    fn event(&mut self, event: Event<'_>) {
        self.observer.event(event);
    }

    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        Observer::paused(self.observer, paused)
    }

    fn new_fork(&mut self) -> usize {
        self.forks.push(Some(self.observer.fork()));
        self.forks.len() - 1
    }

    fn trade(&mut self, fork: usize) {
        if let Some(Some(fork)) = self.forks.get_mut(fork) {
            std::mem::swap(self.observer, fork);
        }
    }

    fn take_in(&mut self, fork: usize) {
        if let Some(fork) = self.forks.get_mut(fork).and_then(Option::take) {
            self.observer.join(fork);
        }
    }
}
