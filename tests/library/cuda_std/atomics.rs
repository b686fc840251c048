//! Atomic types of each scope.

use super::{along_x, buffer, on_every_engine, read, run};
use warpladder::launch::Arg;

#[test]
fn every_operation_of_the_devices_atomics_counts() {
    const THREADS: u32 = 3 * 64;
    on_every_engine(|engine| {
        let count = buffer(engine, &[0_u32]);
        let signed = buffer(engine, &[0_i32]);
        let wide = buffer(engine, &[0_u64]);
        let wide_signed = buffer(engine, &[-1_i64]);
        let single = buffer(engine, &[100.0_f32]);
        let double = buffer(engine, &[0.0_f64]);
        let before = buffer(engine, &[u32::MAX; 2 * THREADS as usize]);
        let args = [
            &count,
            &signed,
            &wide,
            &wide_signed,
            &single,
            &double,
            &before,
        ]
        .map(|b| Arg::Ptr(b.ptr()));
        run(engine, "device_atomics", along_x(3), along_x(64), &args);
        assert_eq!(read::<u32>(&count, 1), [THREADS]);
        assert_eq!(read::<i32>(&signed, 1), [1 - THREADS as i32]);
        assert_eq!(read::<u64>(&wide, 1), [u64::MAX]);
        assert_eq!(read::<i64>(&wide_signed, 1), [i64::from(THREADS - 1) << 32]);
        assert_eq!(read::<f32>(&single, 1), [100.0 - 0.5 * THREADS as f32]);
        assert_eq!(read::<f64>(&double, 1), [2.0 * f64::from(THREADS)]);
        let before = read::<u32>(&before, 2 * THREADS as usize);
        for (column, factor) in [(0, 1), (1, 2)] {
            let mut seen: Vec<u32> = before.iter().skip(column).step_by(2).copied().collect();
            seen.sort_unstable();
            assert!(
                seen.into_iter().eq((0..THREADS).map(|i| factor * i)),
                "column {column}"
            );
        }
    });
}

#[test]
fn atomics_of_a_block_and_of_the_system_add_up() {
    on_every_engine(|engine| {
        let total = buffer(engine, &[0_u32]);
        let bits = buffer(engine, &[0_i64]);
        let sum = buffer(engine, &[0.0_f64]);
        let args = [&total, &bits, &sum].map(|b| Arg::Ptr(b.ptr()));
        run(engine, "scoped_atomics", along_x(5), along_x(64), &args);
        assert_eq!(read::<u32>(&total, 1), [5 * (63 * 64 / 2)]);
        assert_eq!(read::<i64>(&bits, 1), [0b11111]);
        assert_eq!(read::<f64>(&sum, 1), [5.0 * 64.0]);
    });
}

#[test]
fn what_is_released_is_seen_by_what_acquires() {
    on_every_engine(|engine| {
        let (flag, data) = (buffer(engine, &[0_u32]), buffer(engine, &[0_u32]));
        let seen = buffer(engine, &[0_u32; 4]);
        let args = [&flag, &data, &seen].map(|b| Arg::Ptr(b.ptr()));
        run(engine, "message", along_x(4), along_x(1), &args);
        assert_eq!(read::<u32>(&seen, 4), [42; 4]);
    });
}

/// The same types on the host.
#[test]
fn atomics_work_on_a_host() {
    use cuda_std::atomic::{AtomicF64, AtomicI32, BlockAtomicU64, SystemAtomicF32};
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
    let float = SystemAtomicF32::new(1.5);
    assert_eq!(float.fetch_add(1.0, Relaxed), 1.5);
    assert_eq!(float.fetch_sub(0.5, SeqCst), 2.5);
    assert_eq!(float.swap(-4.0, AcqRel), 2.0);
    let bits = f32::from_bits(0x7fff_ffff);
    assert_eq!(float.fetch_and(bits, Relaxed), -4.0);
    assert_eq!(float.into_inner(), 4.0);
    let double = AtomicF64::new(0.0);
    assert_eq!(
        double.compare_exchange(-0.0, 1.0, AcqRel, Acquire),
        Err(0.0)
    );
    assert_eq!(double.compare_exchange(0.0, 1.0, Relaxed, SeqCst), Ok(0.0));
    assert_eq!(double.load(Acquire), 1.0);
    let signed = AtomicI32::new(i32::MAX);
    assert_eq!(signed.fetch_add(1, Relaxed), i32::MAX);
    assert_eq!(signed.fetch_max(-5, Relaxed), i32::MIN);
    assert_eq!(signed.fetch_min(-9, Relaxed), -5);
    assert_eq!(signed.load(Relaxed), -9);
    let wide = BlockAtomicU64::new(0b1100);
    // SAFETY: one thread uses it.
    let before = unsafe {
        [
            wide.fetch_or(0b0010, Relaxed),
            wide.fetch_xor(0b0110, Relaxed),
            wide.fetch_sub(0b1001, Relaxed),
        ]
    };
    assert_eq!(before, [0b1100, 0b1110, 0b1000]);
    assert_eq!(wide.into_inner(), u64::MAX);
}
