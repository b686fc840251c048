//! Source 002: the matrix-vector kernels, from their instruction streams.
//!
//! A stream is what the source assumes of the compiler: loads, multiply-adds and stores, nothing
//! else.

use crate::assert_close;
use warpladder_models::Bound;
use warpladder_models::devices;
use warpladder_models::interval::{Demand, Instruction, Interval, schedule};

/// What the source gives for a GPU.
#[derive(Clone, Copy)]
struct Machine {
    /// L_M and L_2, for loads that miss and that hit the L2 cache.
    l_m: u32,
    l_2: u32,
    /// L_F.
    l_f: u32,
    /// Cycles that a multiply-add, a load and a store occupy the issue.
    fma: u32,
    load: u32,
    store: u32,
}

const CC_5_1: Machine = Machine {
    l_m: 400,
    l_2: 230,
    l_f: 4,
    fma: 1,
    load: 4,
    store: 4,
};

const CC_7_5: Machine = Machine { fma: 2, ..CC_5_1 };

/// The calculations for the GTX 1080 and the K20c let a store issue in 1 cycle (400 + N² + N), the
/// analysis before them in 4 (400 + N² + 4 N); a comment corrects it to 2.
const CC_6_1: Machine = Machine {
    l_2: 200,
    l_f: 6,
    load: 1,
    store: 1,
    ..CC_5_1
};

/// Register of element c of the vector, and of sum r.
fn element(c: u32) -> u32 {
    c
}
fn sum(r: u32) -> u32 {
    1000 + r
}

impl Machine {
    fn load(&self, c: u32, latency: u32) -> Instruction {
        Instruction::new(self.load, latency).writes(&[element(c)])
    }

    fn fma(&self, r: u32, c: u32) -> Instruction {
        Instruction::new(self.fma, self.l_f)
            .reads(&[element(c), sum(r)])
            .writes(&[sum(r)])
    }

    fn stores(&self, rows: u32) -> impl Iterator<Item = Instruction> {
        (0..rows).map(|r| Instruction::new(self.store, 0).reads(&[sum(r)]))
    }

    /// MXV-LCS, K_0: load all, compute, store.
    fn lcs(&self, m: u32, n: u32) -> u64 {
        let loads = (0..n).map(|c| self.load(c, self.l_m));
        let fmas = (0..n).flat_map(|c| (0..m).map(move |r| self.fma(r, c)));
        latency(loads.chain(fmas).chain(self.stores(m)))
    }

    /// MXV-(LC)*S, K_1: an eighth of the loads miss the L2 cache, since a sector holds eight
    /// elements.
    fn interleaved(&self, m: u32, n: u32) -> u64 {
        let rounds = (0..n).flat_map(|c| {
            let latency = if c % 8 == 0 { self.l_m } else { self.l_2 };
            let fmas = (0..m).map(move |r| self.fma(r, c));
            std::iter::once(self.load(c, latency)).chain(fmas)
        });
        latency(rounds.chain(self.stores(m)))
    }

    /// mxv_o_per_thd: one sum, so that each multiply-add waits for the one before.
    fn thread_per_element(&self, n: u32) -> u64 {
        let loads = (0..n).map(|c| self.load(c, self.l_m));
        let fmas = (0..n).map(|c| self.fma(0, c));
        latency(loads.chain(fmas).chain(self.stores(1)))
    }
}

fn latency(stream: impl Iterator<Item = Instruction>) -> u64 {
    schedule(&stream.collect::<Vec<_>>()).latency
}

#[test]
fn load_all_compute_store() {
    // L_M + MN + 4M and, where a multiply-add takes two cycles, L_M + 2MN + 4M.
    assert_eq!(CC_5_1.lcs(16, 16), 720);
    assert_eq!(CC_7_5.lcs(16, 16), 976);
    for (m, n) in [(4, 4), (8, 16), (16, 8), (20, 20), (32, 32)] {
        assert_eq!(CC_5_1.lcs(m, n), u64::from(400 + m * n + 4 * m), "{m}x{n}");
    }
    assert_eq!(CC_6_1.lcs(16, 16), 672);
    assert_eq!(Machine { store: 2, ..CC_6_1 }.lcs(16, 16), 688);
}

/// The interval of a kernel of source 002 on a GPU: P counts threads of the chip, Q of a
/// multiprocessor.
struct KernelInterval {
    cycles: f64,
    bytes: f64,
    gbs: f64,
    clock_ghz: f64,
    multiprocessors: f64,
}

impl KernelInterval {
    fn nanoseconds(&self) -> f64 {
        self.cycles / self.clock_ghz
    }

    fn p(&self) -> f64 {
        let demands = vec![Demand::data(
            Bound::Dram,
            self.bytes,
            self.gbs,
            self.clock_ghz,
        )];
        let interval = Interval {
            latency: self.cycles,
            demands,
        };
        interval.knee().unwrap().threads
    }

    fn p_per_multiprocessor(&self) -> f64 {
        self.p() / self.multiprocessors
    }

    /// Q, with the Θ_IF = 128 and Θ_IM = 64 of the source's calculations; elsewhere the source
    /// gives compute capability 6.1 32 load and store units, and the K20c has 192 lanes.
    fn q(&self, float: f64, memory: f64) -> f64 {
        let demands = vec![Demand::dispatch(&[(float, 128.0), (memory, 64.0)])];
        let interval = Interval {
            latency: self.cycles,
            demands,
        };
        interval.knee().unwrap().threads
    }
}

const GTX_1080: KernelInterval = KernelInterval {
    cycles: 672.0,
    bytes: 128.0,
    gbs: 320.3,
    clock_ghz: 1.73,
    multiprocessors: 20.0,
};

#[test]
fn load_all_compute_store_on_a_gtx_1080() {
    assert_close(GTX_1080.nanoseconds(), 388.4, 2e-4);
    assert_close(GTX_1080.p(), 971.9, 2e-4);
    assert_close(GTX_1080.p_per_multiprocessor(), 48.6, 1e-3);
    assert_close(GTX_1080.q(256.0, 32.0), 268.8, 1e-9);

    // 1.2 instructions per multiply-add: 51 more, of which 32 are the loads and stores; 19 cycles
    // of latency.
    let counted = KernelInterval {
        cycles: 691.0,
        ..GTX_1080
    };
    assert_close(counted.nanoseconds(), 399.4, 2e-4);
    assert_close(counted.p(), 999.0, 1e-3);
    assert_close(counted.p_per_multiprocessor(), 50.0, 2e-3);
    assert_close(counted.q(256.0 + 19.0, 32.0), 261.0, 1e-3);

    // The corrected store: 688 cycles.
    assert_close(
        KernelInterval {
            cycles: 688.0,
            ..GTX_1080
        }
        .nanoseconds(),
        397.7,
        2e-4,
    );

    // Measured: a peak at 4 warps, 128 threads. The data saturates before that, dispatch would
    // after: data bounds.
    assert!(GTX_1080.p_per_multiprocessor() < 128.0);
    let warps = (GTX_1080.p_per_multiprocessor() / 32.0).ceil();
    assert_eq!(warps, 2.0);
}

#[test]
fn load_all_compute_store_on_a_k20c() {
    let k20c = KernelInterval {
        gbs: 208.0,
        clock_ghz: 0.71,
        multiprocessors: 13.0,
        ..GTX_1080
    };
    assert_close(k20c.nanoseconds(), 946.5, 1e-4);
    assert_close(k20c.p(), 1538.0, 1e-4);
    assert_close(k20c.p_per_multiprocessor(), 118.0, 3e-3);
    // Here the source keeps 672 cycles and counts all 51 instructions on top, loads and stores too.
    assert_close(k20c.q(256.0 + 51.0, 32.0), 231.8, 3e-4);
    assert_close(k20c.q(256.0, 32.0), 268.8, 1e-9);
}

#[test]
fn square_matrices_of_20_need_the_fewest_threads() {
    // P = Θ_M / 8 (L_M / N + N + 4): least at N = √L_M = 20.
    let p = |n: u32| {
        KernelInterval {
            cycles: CC_5_1.lcs(n, n) as f64,
            bytes: f64::from(8 * n),
            ..GTX_1080
        }
        .p()
    };
    let least = (4..=32).min_by(|&a, &b| p(a).total_cmp(&p(b)));
    assert_eq!(least, Some(20));
}

#[test]
fn interleaved_on_a_gtx_1080() {
    // N/8 L_M + 7N/8 L_2 + NM + M.
    let cycles = CC_6_1.interleaved(16, 16);
    assert_eq!(cycles, 2 * 400 + 14 * 200 + 256 + 16);
    // Here the source takes 320.8 GB/s, not the 320.3 of before.
    let case = KernelInterval {
        cycles: cycles as f64,
        gbs: 320.8,
        ..GTX_1080
    };
    assert_close(case.p(), 5609.4, 1e-5);
    assert_close(case.p_per_multiprocessor(), 280.0, 2e-3);
    // "8 warps": 8.77.
    assert_close(case.p_per_multiprocessor() / 32.0, 8.77, 1e-3);
}

#[test]
fn thread_per_element_on_a_gtx_1080() {
    // L_M + N L_F + 1; a thread's share of the data is 4 (N/M + 1) bytes.
    let cycles = CC_6_1.thread_per_element(16);
    assert_eq!(cycles, 497);
    // The formula in the text has 320.8 GB/s, which would give 11,520; its result is that of 320.3.
    let case = KernelInterval {
        cycles: cycles as f64,
        bytes: 4.0 * (16.0 / 16.0 + 1.0),
        ..GTX_1080
    };
    assert_close(case.nanoseconds(), 287.3, 2e-4);
    assert_close(case.p(), 11_502.0, 1e-4);
    assert_close(case.p_per_multiprocessor(), 575.0, 1e-3);
    // "18 warps per SM"; measured, throughput levels off between 16 and 20.
    let warps = case.p_per_multiprocessor() / 32.0;
    assert_close(warps, 18.0, 2e-3);
    assert!((16.0..=20.0).contains(&warps));
}

#[test]
fn the_table_gives_the_same_knees() {
    // Clock and bandwidth from the device table (1,733 MHz against the source's 1.73 GHz, 706
    // against 0.71).
    for (name, cycles, bytes, threads) in [
        ("GTX 1080", 672.0, 128.0, 971.9),
        ("GTX 1080", 3872.0, 128.0, 5609.4),
        ("GTX 1080", 497.0, 8.0, 11_502.0),
        ("K20c", 672.0, 128.0, 1538.0),
    ] {
        let device = devices::find(name).unwrap();
        let case = KernelInterval {
            cycles,
            bytes,
            gbs: device.dram_gbs.value,
            clock_ghz: device.clock_ghz(),
            multiprocessors: f64::from(device.multiprocessors.value),
        };
        assert_close(case.p(), threads, 7e-3);
    }
}
