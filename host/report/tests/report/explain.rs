//! Explanations: of every rung, at a small size.

use test_sample::Sample;
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::check_shape;
use warpladder_models::devices;
use warpladder_report::explain::{Explainer, Explanation, page, terminal};

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
    // Each predicts all rungs that compute the same: few sizes.
    let explainers = [64, 256].map(|size| (size, explainer(size)));
    let sample = Sample::from_env();
    let rungs: Vec<&'static Rung> = catalogue::rungs().filter(is_kernel).collect();
    let all = rungs.len();
    let drawn = sample.draw(rungs, all.div_ceil(4), |rung| rung.name.to_owned());
    sample.report(drawn.len(), all, "kernels explained");
    for rung in drawn {
        // The least size that it takes.
        let takes = |(size, _): &&(u32, Explainer)| check_shape(rung, cube(*size)).is_ok();
        let (_, explainer) = explainers.iter().find(takes).unwrap();
        let explanation = explainer.explain(rung);
        check(
            rung,
            &explanation.unwrap_or_else(|error| panic!("{} ({sample}): {error}", rung.name)),
        );
    }
}

#[test]
fn the_change_that_would_help_is_that_of_the_ladder() {
    let explainer = explainer(2048);
    let sample = Sample::from_env();
    for (kernel, change) in [
        ("naive_uncoalesced", "naive"),
        ("transpose_naive", "transpose_coalesced"),
        ("transpose_coalesced", "transpose_padded"),
        ("copy_1", "copy_2"),
    ] {
        // All products of f32 are predicted for it.
        if kernel == "naive_uncoalesced" && !sample.takes("the best f32 product of an H200", 3) {
            continue;
        }
        let explanation = explainer.explain(catalogue::find(kernel).unwrap()).unwrap();
        let other = explanation.change.rung.as_ref();
        assert_eq!(other.map(|other| other.kernel), Some(change), "{kernel}");
        let best = explanation.best.as_ref().unwrap();
        assert!(
            other.is_some_and(|other| other.gain <= best.gain),
            "{kernel}: {best:?}"
        );
        // These sizes were measured.
        assert!(explanation.measured_ms.is_some(), "{kernel}");
        assert!(other.is_some_and(|other| other.measured_gain.is_some_and(|gain| gain > 1.0)));
    }
}

/// Kernel, size, GPU, and the fastest rung that computes the same.
const BEST: [(&str, u32, &str, Option<&str>); 4] = [
    ("tiled_32", 2048, "A100", Some("gemm_f32_split")),
    (
        "matvec_thread_per_element_32",
        4096,
        "H200",
        Some("matvec_lcs_32"),
    ),
    // The GPU does not run what is faster elsewhere.
    ("naive_f64", 1024, "V100", Some("tiled_16_f64")),
    ("mma_bf16", 1024, "A100", None),
];

#[test]
fn the_best_rung_is_the_fastest_that_the_gpu_can_run() {
    let sample = Sample::from_env();
    // For the first, all products of f32 are predicted at a large size.
    let (first, others) = BEST.split_first().unwrap();
    let mut drawn = sample.draw(others.to_vec(), others.len(), |best| best.0.to_owned());
    drawn.extend(sample.takes("the best f32 product", 8).then_some(*first));
    sample.report(drawn.len(), BEST.len(), "fastest rungs");
    for (kernel, size, device, best) in drawn {
        let device = devices::find(device).unwrap().clone();
        let explainer = Explainer::new(device, cube(size));
        let explanation = explainer.explain(catalogue::find(kernel).unwrap()).unwrap();
        let found = explanation.best.as_ref();
        assert_eq!(found.map(|best| best.kernel), best, "{kernel}");
        let text = terminal(&page(&explanation), 80);
        for mark in ["```", "|--", "\n#", "`"] {
            assert!(!text.contains(mark), "{mark} in\n{text}");
        }
        let Some(found) = found else {
            assert!(text.contains("No kernel that computes the same"), "{text}");
            continue;
        };
        assert!(found.gain > 1.0);
        let chapter = found.chapter.as_ref().unwrap();
        assert!(page(&explanation).contains(&chapter.file));
        if let Some(step) = &explanation.change.rung {
            assert!(step.gain <= found.gain, "{kernel}: {step:?}");
        }
    }
}

#[test]
fn a_kernel_that_the_gpu_cannot_run_is_not_explained() {
    let a100 = devices::find("A100").unwrap().clone();
    let explainer = Explainer::new(a100, cube(1024));
    let rung = catalogue::find("wgmma_bf16").unwrap();
    let message = explainer.explain(rung).unwrap_err().to_string();
    assert!(
        message.contains("cannot run on A100") && message.contains("mma_bf16"),
        "{message}"
    );
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
