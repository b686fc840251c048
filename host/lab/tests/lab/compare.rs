//! Kernels beside their peers. Needs a GPU, and cuBLAS for products.

use std::time::Duration;
use warpladder::engine::Engine;
use warpladder::engine::gpu::GpuEngine;
use warpladder::ptx;
use warpladder_lab::catalogue;
use warpladder_lab::compare::Layout::{Nn, Nt, Tn, Tt};
use warpladder_lab::compare::{CompareError, Comparer, Options, Peer};
use warpladder_lab::peer::library::LibraryError;
use warpladder_lab::problem::Shape;

const SHAPE: Shape = Shape {
    m: 96,
    n: 160,
    k: 32,
};

#[test]
fn both_results_are_right_and_the_ratio_is_that_of_the_times() {
    let engine = match GpuEngine::new(0) {
        Ok(engine) => engine,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    let options = Options {
        reps: 5,
        rest: Duration::ZERO,
        seed: 1,
        retime_below: None,
        generation: None,
    };
    let comparer = Comparer::new(&engine, options);
    for (name, layout, peer) in [
        ("naive", Nn, Peer::Cublas),
        ("naive_f64", Nn, Peer::Cublas),
        ("wolfe_k4_guarded", Nn, Peer::Cublas),
        ("sgemm", Nt, Peer::Cublas),
        ("sgemm", Tn, Peer::Cublas),
        ("dgemm", Tt, Peer::Cublas),
        ("wgmma_bf16", Nn, Peer::Cublas),
        ("wgmma_f16", Tn, Peer::Cublas),
        ("wgmma_tf32", Tt, Peer::Cublas),
        ("wgmma_bf16_narrow", Nn, Peer::Cublas),
        ("wgmma_f16_narrow", Nt, Peer::Cublas),
        ("sgemm", Tn, Peer::CublasLt),
        ("dgemm", Nn, Peer::CublasLt),
        ("wgmma_bf16", Nn, Peer::CublasLt),
        ("wgmma_f16", Tt, Peer::CublasLt),
        ("wgmma_tf32", Nt, Peer::CublasLt),
        ("wgmma_bf16_narrow", Tn, Peer::CublasLt),
        ("wgmma_f16_narrow", Nn, Peer::Best),
        ("sgemm", Nn, Peer::Best),
        ("transpose_padded", Nn, Peer::Copy),
        ("transpose_padded", Nn, Peer::Memcpy),
    ] {
        let rung = catalogue::find(name).unwrap();
        let needed = rung.compute_capability();
        if !needed.is_none_or(|needed| ptx::module(needed).runs_on(engine.compute_capability())) {
            println!("{name} skipped: it is not for this GPU");
            continue;
        }
        let compared = match comparer.compare(rung, SHAPE, layout, peer) {
            Err(CompareError::Library(why @ LibraryError::Missing { .. })) => {
                println!("{name} skipped: {why}");
                continue;
            }
            other => other.unwrap(),
        };
        assert!(compared.ok, "{compared:?}");
        let ratio = compared.peer_ms / compared.median_ms;
        assert!(
            (0.5..2.0).contains(&(compared.ratio / ratio)),
            "{compared:?}"
        );
        assert!(compared.ratio_low <= compared.ratio && compared.ratio <= compared.ratio_high);
        let is_cublaslt = compared.peer.starts_with("cuBLASLt");
        assert_eq!(compared.heuristics.is_some(), is_cublaslt, "{compared:?}");
        if let Some(chosen) = compared.heuristics {
            assert!(
                chosen.best < 32 && (1..=32).contains(&chosen.tried),
                "{chosen:?}"
            );
            assert!(
                chosen.first_ms.is_none_or(|first| chosen.best_ms <= first),
                "{chosen:?}"
            );
        }
        match peer {
            Peer::Cublas => assert!(!is_cublaslt),
            Peer::CublasLt => assert!(is_cublaslt),
            // The two differ in how long they take.
            Peer::Best => assert!(
                compared
                    .other_peer
                    .as_ref()
                    .is_some_and(|other| other.ms > 0.0)
            ),
            _ => {}
        }
        if matches!(peer, Peer::Cublas | Peer::CublasLt | Peer::Best) {
            // A layout that is mixed up gives errors near 1.
            let error = compared.peer_error.unwrap();
            assert!(error <= compared.tolerance, "{compared:?}");
        }
    }
    let copy = catalogue::find("transpose_padded").unwrap();
    let refused = |rung, layout, peer| {
        let refused = comparer.compare(rung, SHAPE, layout, peer);
        refused.unwrap_err().to_string()
    };
    let by_cublas = refused(copy, Nn, Peer::Cublas);
    assert!(by_cublas.contains("only makes products"), "{by_cublas}");
    let naive = catalogue::find("naive").unwrap();
    let transposed = refused(naive, Tn, Peer::Cublas);
    assert!(transposed.contains("leave out --layout"), "{transposed}");
    // Nothing is a million times as fast as its peer: all rounds are taken.
    let again = Comparer::new(
        &engine,
        Options {
            retime_below: Some(1e6),
            ..options
        },
    );
    let again = again.compare(copy, SHAPE, Nn, Peer::Memcpy).unwrap();
    assert_eq!((again.rounds, again.samples), (4, 20));
    assert!(again.first_ratio.is_some());
}
