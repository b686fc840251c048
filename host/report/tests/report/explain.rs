//! Explanations: of every rung, at a small size.

use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::check_shape;
use warpladder_models::devices;
use warpladder_report::explain::{Explainer, Explanation, page};

fn cube(size: u32) -> Shape {
    Shape {
        m: size,
        n: size,
        k: size,
    }
}

fn explainer(size: u32) -> Explainer {
    Explainer::new(devices::find("H200").unwrap().clone(), cube(size))
}

fn is_kernel(rung: &&'static Rung) -> bool {
    !matches!(rung.implementation, Implementation::Cpu(_))
}

fn check(rung: &Rung, explanation: &Explanation) {
    let name = rung.name;
    assert!(explanation.predicted_ms > 0.0, "{name}");
    assert!(!explanation.launches.is_empty(), "{name}");
    for launch in &explanation.launches {
        assert!(launch.occupancy.blocks > 0, "{name}");
        assert!(!launch.times.is_empty(), "{name}");
    }
    let shares: f64 = explanation
        .listing
        .iter()
        .flat_map(|file| &file.lines)
        .filter_map(|line| Some(line.counters.as_ref()?.share))
        .sum();
    // Lines with few instructions are left out: of loops that the compiler unrolls by hundreds
    // those are many.
    assert!((0.4..1.001).contains(&shares), "{name}: {shares}");
    let change = &explanation.change;
    assert!(change.at_most >= 1.0, "{name}: {change:?}");
    if let Some(other) = &change.rung {
        assert!(
            other.gain > 1.0 && other.kernel != name,
            "{name}: {other:?}"
        );
    }
    let page = page(explanation);
    for part in [
        format!("# {name}: "),
        "\n## Idea\n".to_owned(),
        "Predicted: ".to_owned(),
        "% occupancy), limited by ".to_owned(),
        "\n## Counted: ".to_owned(),
        "\n## What would help most\n".to_owned(),
    ] {
        assert!(page.contains(&part), "{part} in\n{page}");
    }
    let json = serde_json::to_value(explanation).unwrap();
    assert_eq!(json["kernel"], name);
}

#[test]
fn every_rung_is_explained() {
    let explainers = [64, 128, 256].map(|size| (size, explainer(size)));
    for rung in catalogue::rungs().filter(is_kernel) {
        // The least size that it takes.
        let takes = |(size, _): &&(u32, Explainer)| check_shape(rung, cube(*size)).is_ok();
        let (_, explainer) = explainers.iter().find(takes).unwrap();
        let explanation = explainer.explain(rung);
        check(
            rung,
            &explanation.unwrap_or_else(|error| panic!("{}: {error}", rung.name)),
        );
    }
}

#[test]
fn the_change_that_would_help_is_that_of_the_ladder() {
    let explainer = explainer(2048);
    for (kernel, change) in [
        ("naive_uncoalesced", "naive"),
        ("transpose_naive", "transpose_coalesced"),
        ("transpose_coalesced", "transpose_padded"),
        ("copy_1", "copy_2"),
    ] {
        let explanation = explainer.explain(catalogue::find(kernel).unwrap()).unwrap();
        let other = explanation.change.rung.as_ref();
        assert_eq!(other.map(|other| other.kernel), Some(change), "{kernel}");
        // These sizes were measured.
        assert!(explanation.measured_ms.is_some(), "{kernel}");
        assert!(other.is_some_and(|other| other.measured_gain.is_some_and(|gain| gain > 1.0)));
    }
}

#[test]
fn the_source_stands_beside_its_counters() {
    let explanation = explainer(128)
        .explain(catalogue::find("tiled_32").unwrap())
        .unwrap();
    assert_eq!(
        explanation.file.as_deref(),
        Some("kernels-gpu/src/ladder/matmul/tiled.rs")
    );
    let own = &explanation.listing[0];
    assert_eq!(Some(&own.file), explanation.file.as_ref());
    let line = own
        .lines
        .iter()
        .find(|line| line.text.contains("tile_b.add(ty * TILE + tx) ="));
    let counters = line.unwrap().counters.as_ref().unwrap();
    // A warp loads 32 neighbours, and stores them without a conflict.
    assert_eq!(counters.sectors_per_request, [4.0]);
    assert_eq!(counters.wavefronts_per_ideal, [1.0]);
}
