//! Kernels beside their peers. Needs a GPU, and cuBLAS for products.
#![cfg(target_os = "linux")]

use std::time::Duration;
use warpladder::catalogue;
use warpladder::compare::{CompareError, Comparer, Options, Peer};
use warpladder::engine::gpu::GpuEngine;
use warpladder::peer::cublas::CublasError;
use warpladder::problem::Shape;

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
    };
    let comparer = Comparer::new(&engine, options);
    for (name, peer) in [
        ("naive", Peer::Cublas),
        ("naive_f64", Peer::Cublas),
        ("wolfe_k4_guarded", Peer::Cublas),
        ("transpose_padded", Peer::Copy),
        ("transpose_padded", Peer::Memcpy),
    ] {
        let rung = catalogue::find(name).unwrap();
        let compared = match comparer.compare(rung, SHAPE, peer) {
            Err(CompareError::Cublas(CublasError::Missing(why))) => {
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
        if peer == Peer::Cublas {
            // A layout that is mixed up gives errors near 1.
            let error = compared.peer_error.unwrap();
            assert!(error <= compared.tolerance, "{compared:?}");
        }
    }
    let copy = catalogue::find("transpose_padded").unwrap();
    let refused = comparer.compare(copy, SHAPE, Peer::Cublas).unwrap_err();
    assert!(
        refused.to_string().contains("only makes products"),
        "{refused}"
    );
}
