//! Products on several GPUs: the formulas by hand, and what must hold of any prediction.

use crate::assert_close;
use warpladder_models::links::{
    HGX_H200, Link, Method, Prediction, Product, Rates, fastest, fit, predict,
};

/// 100 TFLOP/s for every product.
fn flat() -> Rates {
    Rates::new(vec![[1.0, 1e5]]).unwrap()
}

const LINK: Link = Link {
    latency_us: 10.0,
    gbs: 100.0,
};

const PRODUCT: Product = Product {
    extents: [8000, 4000, 2000],
    element_bytes: 2,
    accumulator_bytes: 4,
};

fn of(gpus: usize, method: Method, chunks: usize) -> Prediction {
    predict(PRODUCT, gpus, method, chunks, &flat(), [LINK; 2], 8)
}

#[test]
fn the_formulas_are_those_of_the_documentation() {
    // 1.28e11 operations: 1.28 ms on one GPU.
    let of_one = 1.28e-3;
    assert_close(of(1, Method::AllGather, 1).seconds, of_one, 1e-12);
    // A block of B has 2000 x 1000 elements of 2 bytes: 40 us and the latency.
    let gathered = of(4, Method::AllGather, 1);
    let (products, exchange) = (of_one / 16.0, 50e-6);
    assert_close(
        gathered.seconds,
        products + 3.0 * products.max(exchange),
        1e-12,
    );
    assert_close(gathered.exchange_seconds, 150e-6, 1e-12);
    assert_close(gathered.hidden, 1.0, 1e-9);
    // Two chunks of 1000 x 4000 sums of 4 bytes, of three ranks.
    let scattered = of(4, Method::ReduceScatter, 2);
    let (products, exchange) = (of_one / 8.0, 30e-6 + 3.0 * 1.6e7 / 1e11);
    assert_close(
        scattered.seconds,
        products + products.max(exchange) + exchange,
        1e-12,
    );
    // A grid of 2 x 2 with two panels: 4000 rows and 2000 columns of 1000.
    let summa = of(4, Method::Summa([2, 2]), 1);
    let (products, exchange) = (of_one / 8.0, 40e-6 + 1.2e7 / 1e11);
    assert_close(
        summa.seconds,
        products + products.max(exchange) + exchange,
        1e-12,
    );
    assert!(summa.hidden > 0.4 && summa.hidden < 0.6, "{summa:?}");
}

#[test]
fn predictions_keep_their_bounds_up_to_16384_gpus() {
    let rates = Rates::new(vec![[2e9, 3e5], [1.6e10, 6e5], [1e12, 8e5]]).unwrap();
    let [slow, fast] =
        [0, 1].map(|bound| [HGX_H200.inside, HGX_H200.between].map(|link| link.bounds()[bound]));
    for extent in [1000, 8192, 1 << 20] {
        let product = Product {
            extents: [extent; 3],
            ..PRODUCT
        };
        for doublings in 0..=14 {
            let gpus = 1 << doublings;
            let per_machine = HGX_H200.gpus_per_machine;
            let [slow, fast] =
                [slow, fast].map(|links| fastest(product, gpus, &rates, links, per_machine));
            assert!(fast.seconds <= slow.seconds, "{gpus}");
            for prediction in [slow, fast] {
                assert!(prediction.seconds.is_finite() && prediction.seconds > 0.0);
                assert!(
                    prediction.seconds >= prediction.least_seconds * 0.999,
                    "{prediction:?}"
                );
                assert!(prediction.efficiency <= 1.001, "{prediction:?}");
                assert!((0.0..=1.0).contains(&prediction.hidden), "{prediction:?}");
            }
        }
    }
    // A product of a square million is worth 1024 GPUs; one of 1000 is not worth two machines.
    let large = Product {
        extents: [1 << 20; 3],
        ..PRODUCT
    };
    assert!(fastest(large, 1024, &rates, slow, 8).efficiency > 0.8);
    let small = Product {
        extents: [1000; 3],
        ..PRODUCT
    };
    assert!(fastest(small, 16, &rates, fast, 8).efficiency < 0.3);
}

#[test]
fn rates_are_those_that_were_measured() {
    let rates = Rates::new(vec![[8e9, 200.0], [1e9, 100.0]]).unwrap();
    assert_close(rates.seconds(1e9), 1e9 / 1e11, 1e-12);
    assert_close(rates.seconds(8e9), 8e9 / 2e11, 1e-12);
    assert_close(rates.seconds(8e12), 8e12 / 2e11, 1e-12);
    // Half of the logarithm between them.
    assert_close(
        rates.seconds(8f64.sqrt() * 1e9),
        8f64.sqrt() * 1e9 / 1.5e11,
        1e-12,
    );
    assert!(rates.seconds(1e6) > 1e6 / 1e11);
    assert_eq!(rates.seconds(0.0), 0.0);
    for wrong in [vec![], vec![[0.0, 1.0]], vec![[1.0, f64::NAN]]] {
        assert!(Rates::new(wrong).is_none());
    }
}

#[test]
fn a_link_is_found_from_its_messages() {
    let messages: Vec<[f64; 2]> = [1e4, 1e6, 1e8, 1e9]
        .into_iter()
        .map(|bytes| [bytes, 12e-6 + bytes / 250e9])
        .collect();
    let link = fit(&messages).unwrap();
    assert_close(link.latency_us, 12.0, 1e-6);
    assert_close(link.gbs, 250.0, 1e-6);
    assert!(fit(&messages[..1]).is_none() && fit(&[]).is_none());
    assert!(fit(&[[1e3, 2.0], [1e6, 1.0]]).is_none());
}
