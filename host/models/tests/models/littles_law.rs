//! Source 000, "How do we hide latency?" and "Hiding memory latency".

use crate::assert_close;
use warpladder_models::devices;
use warpladder_models::littles_law::{Balance, bytes_in_flight, operations_in_flight};
use warpladder_models::occupancy::{Launch, occupancy};

#[test]
fn operations_in_flight_of_a_multiprocessor() {
    assert_eq!(operations_in_flight(24.0, 8.0), 192.0, "GT200");
    assert_eq!(operations_in_flight(18.0, 48.0), 864.0, "GF104");
    // The next slide but one takes 32 units: "576 ops/SM = 18CP x 32/SM/CP".
    assert_eq!(operations_in_flight(18.0, 32.0), 576.0);
    // The table has the GT200's figures too.
    let gt200 = devices::find("GTX 280").unwrap();
    let latency = gt200.latencies.fma.unwrap().value;
    let lanes = gt200.architecture.lanes.unwrap().value.fp32;
    assert_eq!(operations_in_flight(latency, f64::from(lanes)), 192.0);
}

#[test]
fn a_quarter_of_the_threads_is_enough_on_a_gt200() {
    // "100% peak with 25% occupancy: 192 ops / cycle = 8 warps / 32 max possible warps". 192
    // operations are 6 warps; 8 of 32 are the 25 %, and more than enough.
    let gt200 = &devices::find("GTX 280").unwrap().architecture;
    let launch = Launch {
        blocks: 30,
        threads_per_block: 256,
        registers_per_thread: 60,
        shared_bytes_per_block: 0,
    };
    let occupancy = occupancy(&gt200.limits.value, &gt200.allocation.value, &launch).unwrap();
    assert_eq!((occupancy.warps, occupancy.fraction), (8, 0.25));
    let balance = Balance {
        needed: 192.0,
        threads: f64::from(occupancy.threads),
        per_thread: 1.0,
    };
    assert_eq!(balance.utilisation(), 1.0);
    assert_eq!(balance.threads_needed(), 6.0 * 32.0);
    // Half as many threads need two independent operations each to get to the 256 of the 25 %.
    let fewer = Balance {
        threads: 128.0,
        ..balance
    };
    assert_close(fewer.utilisation(), 128.0 / 192.0, 1e-12);
    assert_eq!(fewer.per_thread_needed(), 1.5);
    assert_eq!(
        Balance {
            per_thread: 2.0,
            ..fewer
        }
        .utilisation(),
        1.0
    );
}

#[test]
fn bytes_in_flight_of_a_memory() {
    // "150KB = ~500CP (1100 nsec) x 150 GB/sec". The product is 165 kB, which the notes round to
    // 150; their 500 cycles in 1,100 ns would be a clock of 0.45 GHz, which none of their GPUs
    // has.
    let needed = bytes_in_flight(1100.0, 150.0);
    assert_eq!(needed, 165e3);
    assert_close(needed, 150e3, 0.101);
    // "~35,000 threads @ 4B/thread": 150 kB are 37,500.
    let threads = Balance {
        needed: 150e3,
        threads: 1.0,
        per_thread: 4.0,
    }
    .threads_needed();
    assert_close(threads, 35e3, 0.08);
    // Four floats per thread do with a quarter of the threads.
    let wide = Balance {
        needed: 150e3,
        threads: threads / 4.0,
        per_thread: 16.0,
    };
    assert_eq!(wide.utilisation(), 1.0);
}

#[test]
fn throughputs_per_cycle() {
    // "1.3TFlops/sec = 480 ops/cycle", "177 GB/sec ~= 32x 32 bit loads per cycle": both at the 1.4
    // GHz of a GTX 480.
    let clock_ghz = 1.401;
    assert_close(480.0 * 2.0 * clock_ghz, 1300.0, 0.04);
    assert_close(177.0 / clock_ghz / 4.0, 32.0, 0.02);
}
