//! Sources 000, 001 and 004.

use crate::assert_close;
use warpladder_models::Bound;
use warpladder_models::coalescing::{SECTOR_BYTES, WarpAccess};
use warpladder_models::devices;
use warpladder_models::roofline::{Level, Roof, Roofline, product_intensity};

/// 001's "example GPU": 1,000 GFLOP/s and 150 GB/s.
fn example() -> Roofline {
    Roofline {
        unit: Bound::Fp32,
        peak_gflops: 1000.0,
        roofs: vec![Roof {
            level: Level::Dram,
            gbs: 150.0,
        }],
    }
}

#[test]
fn an_untiled_product_needs_4_bytes_per_flop() {
    // 001: 8 B per pair of elements, 2 FLOP per pair. 150 GB/s then limit it to 37.5 GFLOP/s; it
    // runs at 25.
    assert_eq!(1.0 / product_intensity(1, 4), 4.0);
    let bound = example().attainable_gflops(Level::Dram, product_intensity(1, 4));
    assert_eq!(bound, Some(37.5));
}

#[test]
fn tiles_shift_the_bottleneck() {
    // 001: (150/4)·16 = 600 GFLOP/s and (150/4)·32 = 1,200, above the peak: "no longer the
    // bottleneck".
    let roofline = example();
    assert_eq!(150.0 * product_intensity(16, 4), 600.0);
    assert_eq!(150.0 * product_intensity(32, 4), 1200.0);
    for (tile, gflops, bound) in [(16, 600.0, Bound::Dram), (32, 1000.0, Bound::Fp32)] {
        let flops = 2e12;
        let bytes = flops / product_intensity(tile, 4);
        let standing = roofline.place(flops, &[(Level::Dram, bytes)]);
        assert_eq!(standing.bound, bound);
        assert_close(flops / standing.seconds / 1e9, gflops, 1e-12);
        assert_eq!(standing.roofs[0].attainable_gflops, gflops);
    }
    assert_close(roofline.ridge(Level::Dram).unwrap(), 1000.0 / 150.0, 1e-12);
    assert_eq!(roofline.ridge(Level::L2), None);
}

#[test]
fn the_naive_f64_product_on_a_k80_is_communication_bound() {
    // 000: one GPU of the K80 does 832 MAD per cycle at 823.5 MHz, 13 · 64 in the table. The notes
    // multiply 1,664 FLOP per cycle by 823.5 MHz to "2.74 TFLOPS per GPU", which is the card's
    // two GPUs.
    let roofline = devices::find("K80").unwrap().roofline(Bound::Fp64).unwrap();
    assert_close(roofline.peak_gflops, 2.0 * 832.0 * 0.8235, 1e-12);
    assert_close(2.0 * roofline.peak_gflops, 2740.0, 1e-3);

    // The notes do not print N. Their 118 GFLOP/s in "227ms" and 259 in "104 ms" give N = 512 once
    // the decimal points that the text lost are back: 2.27 ms and 1.04 ms.
    let n = 512.0_f64;
    let flops = 2.0 * n.powi(3);
    assert_close(flops / 2.27e-3 / 1e9, 118.0, 5e-3);
    assert_close(flops / 1.04e-3 / 1e9, 259.0, 5e-3);

    // "Predicted computation time: 195 microseconds" (195.9 before rounding down), "data motion
    // time: 89 milliseconds", that is 8.9 ms. The notes say that N³ words are loaded, but 8.9
    // ms are 2 N³, one of each matrix per multiply-add.
    let words = 2.0 * n.powi(3);
    let standing = roofline.place(flops, &[(Level::Dram, words * 8.0)]);
    assert_close(standing.compute_seconds, 195e-6, 6e-3);
    assert_close(standing.seconds, 8.9e-3, 6e-3);
    assert_eq!(standing.bound, Bound::Dram);
    // It measured faster than that, 2.27 ms: the L2 cache serves most of the loads, which this
    // bound ignores.
    assert!(standing.seconds > 2.27e-3);
}

/// Bytes that a request of a warp moves on the GTX 280, which serves half a warp at a time.
fn gtx_280_bytes(stride_bytes: i64) -> f64 {
    let half = WarpAccess::new(16, stride_bytes, 4, 0).unwrap();
    f64::from(2 * half.sectors() * SECTOR_BYTES)
}

#[test]
fn wolfes_ladder_climbs_along_its_roofline() {
    // 004, GTX 280. In the inner loop each warp loads 32 elements of b in a row and, before K2, one
    // of c for all lanes; K4 uses an element of b for j outputs. Kernel-only GFLOP/s where 004
    // has them (K1: 29 and 38; 176 is "over 210" on the device, 208 is 265), else host to host.
    // All stay under the roof, and with 128 threads, when the multiprocessor is full, they
    // reach 70 % of it or more.
    let roofline = devices::find("GTX 280")
        .unwrap()
        .roofline(Bound::Fp32)
        .unwrap();
    let row = gtx_280_bytes(4);
    let broadcast = gtx_280_bytes(0);
    for (name, outputs, bytes, measured, reached) in [
        ("K1 w32", 1.0, row + broadcast, 29.0, 0.6),
        ("K1 w64", 1.0, row + broadcast, 38.0, 0.8),
        ("K2 w128", 1.0, row, 63.0, 0.88),
        ("K4 w128 j2", 2.0, row, 117.0, 0.82),
        ("K4 w128 j4", 4.0, row, 210.0, 0.74),
        ("K4 w128 j4 k4", 4.0, row, 265.0, 0.93),
    ] {
        let flops = 2.0 * 32.0 * outputs;
        let gflops = roofline
            .attainable_gflops(Level::Dram, flops / bytes)
            .unwrap();
        let share = measured / gflops;
        assert!(
            (reached..=1.0).contains(&share),
            "{name}: {measured} of {gflops}"
        );
    }
    // Ks, 1.7: along a column every lane has a sector of its own, 5.7 times the data of K1. The
    // rest of its factor of 17 is not data: 16 KiB apart, all lanes hit one of the memory's
    // partitions.
    let slow = (gtx_280_bytes(4 * 4096) + broadcast) / (row + broadcast);
    assert_close(slow, 34.0 / 6.0, 1e-12);
}

#[test]
fn data_alone_takes_its_time() {
    let standing = example().place(0.0, &[(Level::Dram, 150e9), (Level::Shared, 1e30)]);
    assert_eq!((standing.seconds, standing.bound), (1.0, Bound::Dram));
    assert_eq!(
        standing.roofs.len(),
        1,
        "a level without a roof does not bound"
    );
}
