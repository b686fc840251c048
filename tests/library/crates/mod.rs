//! The kernels of `tests/crates`: crates from crates.io, the heap and printing, on every engine.
//!
//! What is expected of hashes and random numbers is published: FIPS 180-4 and 202, RFC 1321, the
//! test vectors of BLAKE3, SEC 2 and the PCG library.
//!
//! To build the PTX from source, run these tests with `WARPLADDER_PTX=rebuild`: that takes minutes.

mod ptx;
mod system;

use crate::cuda_std::{along_x, buffer, on_every_engine, read, run_of};
use ptx::PTX;
use std::collections::HashMap;
use warpladder::engine::Engine;
use warpladder::launch::Arg;

/// Runs a kernel in one thread.
fn run(engine: &dyn Engine, entry: &str, args: &[Arg<'_>]) {
    run_of(engine, PTX, entry, along_x(1), along_x(1), args);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hashes_are_the_published_ones() {
    let of_abc = [
        (
            "sha256",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            "sha3_256",
            "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
        ),
        ("md5_of", "900150983cd24fb0d6963f7d28e17f72"),
        (
            "blake3_of",
            "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
        ),
    ];
    on_every_engine(|engine| {
        let input = buffer(engine, b"abc");
        for (entry, expected) in of_abc {
            let output = buffer(engine, &[0_u8; 32]);
            let args = [Arg::Ptr(input.ptr()), Arg::U64(3), Arg::Ptr(output.ptr())];
            run(engine, entry, &args);
            let digest = hex(&read::<u8>(&output, expected.len() / 2));
            assert_eq!(digest, expected, "{entry}");
        }
    });
}

#[test]
fn multiples_of_the_generator_of_secp256k1() {
    let twice = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5";
    let thrice = "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9";
    on_every_engine(|engine| {
        for (factor, expected) in [(2, twice), (3, thrice)] {
            let output = buffer(engine, &[0_u8; 32]);
            run(
                engine,
                "secp256k1",
                &[Arg::U32(factor), Arg::Ptr(output.ptr())],
            );
            assert_eq!(hex(&read::<u8>(&output, 32)), expected);
        }
    });
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        assert!(near, "{what}: {found}, not {expected}");
    }
}

#[test]
fn vectors_and_matrices() {
    on_every_engine(|engine| {
        let output = buffer(engine, &[0.0_f32; 3]);
        let quarter = std::f32::consts::FRAC_PI_2;
        run(
            engine,
            "with_glam",
            &[Arg::Ptr(output.ptr()), Arg::F32(quarter)],
        );
        let turned: Vec<f64> = read::<f32>(&output, 3).into_iter().map(f64::from).collect();
        assert_near(&turned, &[-4.0, 2.0, 6.0], 1e-6, "glam");

        // By columns: (2, 1, 0), (0, 3, 1) and (0, 0, 4) are the rows.
        let matrix = buffer(engine, &[2.0_f64, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 1.0, 4.0]);
        let output = buffer(engine, &[0.0_f64; 4]);
        let args = [Arg::Ptr(matrix.ptr()), Arg::U64(9), Arg::Ptr(output.ptr())];
        run(engine, "with_nalgebra", &args);
        let (z, y) = (0.75, 1.25 / 3.0);
        let expected = [(1.0 - y) / 2.0, y, z, 24.0];
        assert_near(&read::<f64>(&output, 4), &expected, 1e-14, "nalgebra");
    });
}

#[test]
fn numbers_of_other_kinds() {
    on_every_engine(|engine| {
        let doubles = buffer(engine, &[0.0_f64; 2]);
        let args = [Arg::Ptr(doubles.ptr()), Arg::F64(64.0), Arg::U32(0b101000)];
        run(engine, "with_num_traits", &args);
        assert_near(&read::<f64>(&doubles, 2), &[12.0, 5.0], 1e-15, "num-traits");

        run(
            engine,
            "with_libm",
            &[Arg::Ptr(doubles.ptr()), Arg::F64(0.5)],
        );
        let expected = [std::f64::consts::PI.sqrt(), 0.520_499_877_813_046_5];
        assert_near(&read::<f64>(&doubles, 2), &expected, 1e-15, "libm");

        let complex = buffer(engine, &[0.0_f32; 4]);
        let args = [Arg::Ptr(complex.ptr()), Arg::F32(1.0), Arg::F32(2.0)];
        run(engine, "with_num_complex", &args);
        let found: Vec<f64> = read::<f32>(&complex, 4)
            .into_iter()
            .map(f64::from)
            .collect();
        let e = std::f64::consts::E;
        let expected = [-3.0, 4.0, e * 2_f64.cos(), e * 2_f64.sin()];
        assert_near(&found, &expected, 1e-6, "num-complex");

        let halves = buffer(engine, &[0_u16; 2]);
        let args = [Arg::Ptr(halves.ptr()), Arg::F32(1.5), Arg::F32(2.5)];
        run(engine, "with_half", &args);
        assert_eq!(read::<u16>(&halves, 2), [0x4380, 0x4070]);

        let fixed = buffer(engine, &[0_i32; 2]);
        let args = [Arg::Ptr(fixed.ptr()), Arg::U32(3 << 16), Arg::U32(2 << 16)];
        run(engine, "with_fixed", &args);
        assert_eq!(read::<i32>(&fixed, 2), [3 << 15, 6 << 16]);
    });
}

#[test]
fn random_numbers_are_those_of_pcg() {
    on_every_engine(|engine| {
        let output = buffer(engine, &[0_u32; 4]);
        run(engine, "with_rand", &[Arg::Ptr(output.ptr()), Arg::U64(42)]);
        let numbers = read::<u32>(&output, 4);
        assert_eq!(numbers[..3], [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330]);
        assert!((1..=6).contains(&numbers[3]), "{}", numbers[3]);
    });
}

#[test]
fn containers_hold_what_is_put_in() {
    let many: Vec<u32> = (0..100).map(|i| i * i % 7).collect();
    let few = [5_u32, 1, 9, 2, 8, 3];
    on_every_engine(|engine| {
        let (from, output) = (buffer(engine, &many), buffer(engine, &[0_u32; 2]));
        let args = [Arg::Ptr(from.ptr()), Arg::U64(100), Arg::Ptr(output.ptr())];
        run(engine, "with_hashbrown", &args);
        let mut counts = HashMap::new();
        many.iter()
            .for_each(|value| *counts.entry(value).or_insert(0_u32) += 1);
        let most = *counts.values().max().unwrap();
        assert_eq!(read::<u32>(&output, 2), [most, counts.len() as u32]);

        let (from, output) = (buffer(engine, &few), buffer(engine, &[0_u32; 3]));
        let args = [Arg::Ptr(from.ptr()), Arg::U64(6), Arg::Ptr(output.ptr())];
        run(engine, "with_vectors", &args);
        let weighted = 9 + 2 * 8 + 3 * 5 + 4 * 3 + 5 * 2 + 6;
        assert_eq!(read::<u32>(&output, 3), [weighted; 3]);
    });
}
