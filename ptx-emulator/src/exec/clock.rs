//! The nanoseconds of a launch, which `%globaltimer` reads.

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) use counted::Clock;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use measured::Clock;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod measured {
    use std::time::Instant;

    /// The system's clock, from the start of the launch.
    pub(crate) struct Clock(Instant);

    impl Clock {
        pub(crate) fn start() -> Self {
            Clock(Instant::now())
        }

        pub(crate) fn nanoseconds(&self) -> u64 {
            u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
        }
    }
}

/// Also compiled for tests, which run where there is a clock.
#[cfg(any(test, all(target_family = "wasm", target_os = "unknown")))]
mod counted {
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A microsecond for each read, where the target has no clock: a kernel that waits for a time
    /// to pass goes on, after the same number of reads each time it runs.
    pub(crate) struct Clock(AtomicU64);

    impl Clock {
        const STEP: u64 = 1000;

        pub(crate) fn start() -> Self {
            Clock(AtomicU64::new(0))
        }

        pub(crate) fn nanoseconds(&self) -> u64 {
            self.0.fetch_add(Self::STEP, Ordering::Relaxed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, counted};

    #[test]
    fn no_clock_goes_back() {
        let clock = Clock::start();
        let first = clock.nanoseconds();
        assert!(clock.nanoseconds() >= first);
    }

    #[test]
    fn without_a_clock_each_read_is_a_microsecond_later() {
        let clock = counted::Clock::start();
        assert_eq!([(); 3].map(|()| clock.nanoseconds()), [0, 1000, 2000]);
    }
}
