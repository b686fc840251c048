//! Little's law: parallelism = latency × throughput.
//!
//! Source 000: T = λ p, "required parallelism (threads) = latency × throughput". To keep a unit
//! busy that starts p operations per cycle and takes λ cycles for each, λ p of them must be in
//! flight. They can come from many threads or from independent operations of each
//! (instruction-level parallelism): T = threads × ILP.
//!
//! | symbol of 000 | here | unit |
//! |---|---|---|
//! | λ, latency | `latency_cycles`, `latency_ns` | cycles, ns |
//! | p, throughput | `per_cycle`, `gbs` | operations per cycle, GB/s |
//! | T, parallelism | return values | operations, bytes |
//!
//! Volkov: "Better performance at lower occupancy", GTC 2010.

/// Operations in flight that keep a unit busy: `latency_cycles` × `per_cycle`.
pub fn operations_in_flight(latency_cycles: f64, per_cycle: f64) -> f64 {
    latency_cycles * per_cycle
}

/// Bytes in flight that keep a memory busy: `latency_ns` × `gbs` (ns × 10⁹ B/s = bytes).
pub fn bytes_in_flight(latency_ns: f64, gbs: f64) -> f64 {
    latency_ns * gbs
}

/// Needed parallelism against what a launch offers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Balance {
    /// Operations or bytes that have to be in flight.
    pub needed: f64,
    /// Resident threads.
    pub threads: f64,
    /// What one thread has in flight: independent operations, or bytes of independent loads.
    pub per_thread: f64,
}

impl Balance {
    /// What is in flight.
    pub fn available(&self) -> f64 {
        self.threads * self.per_thread
    }

    /// Share of peak throughput, at most 1.
    pub fn utilisation(&self) -> f64 {
        (self.available() / self.needed).min(1.0)
    }

    /// Threads that are needed with this much per thread (thread-level parallelism).
    pub fn threads_needed(&self) -> f64 {
        self.needed / self.per_thread
    }

    /// What each of these threads needs in flight (instruction-level parallelism).
    pub fn per_thread_needed(&self) -> f64 {
        self.needed / self.threads
    }
}
