//! The emulator's counters against the hardware's, as Nsight Compute read them on an H200
//! (`results/h200/ncu.csv`, which `host/lab/tests/lab/ncu/record` makes), and the table of both in
//! `docs/counters.md`.
//!
//! `WARPLADDER_UPDATE=1 cargo test -p warpladder-lab --test lab ncu` writes the table.

use ptx_emulator::Counters;
use ptx_emulator::InstructionClass::{self, Float32, Fma32, Fma64, Integer};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue;
use warpladder_lab::problem::Shape;
use warpladder_lab::profile::profile;
use warpladder_lab::run::preflight;

/// The size that `record` runs.
const SHAPE: Shape = Shape {
    m: 256,
    n: 256,
    k: 256,
};

/// How a counter of the emulator must agree with the hardware's.
#[derive(Clone, Copy, PartialEq)]
enum Agreement {
    Exact,
    /// The hardware counts a wavefront again where its data path was busy with something else: up
    /// to this share more.
    UpTo(f64),
    /// SASS is not PTX: shown, and not compared.
    Shown,
}

/// One column of the table.
struct Quantity {
    name: &'static str,
    metric: &'static [&'static str],
    ours: fn(&Counters) -> u64,
    agreement: Agreement,
}

const QUANTITIES: &[Quantity] = &[
    Quantity {
        name: "load requests",
        metric: &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
        ours: |counters| counters.total().global_loads.requests,
        agreement: Agreement::Exact,
    },
    Quantity {
        name: "load sectors",
        metric: &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"],
        ours: |counters| counters.total().global_loads.sectors,
        agreement: Agreement::Exact,
    },
    Quantity {
        name: "store requests",
        metric: &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
        ours: |counters| counters.total().global_stores.requests,
        agreement: Agreement::Exact,
    },
    Quantity {
        name: "store sectors",
        metric: &["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
        ours: |counters| counters.total().global_stores.sectors,
        agreement: Agreement::Exact,
    },
    Quantity {
        name: "shared load wavefronts",
        metric: &["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
        ours: |counters| counters.total().shared_loads.wavefronts,
        agreement: Agreement::UpTo(0.01),
    },
    Quantity {
        name: "shared store wavefronts",
        metric: &["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
        ours: |counters| counters.total().shared_stores.wavefronts,
        agreement: Agreement::UpTo(0.07),
    },
    Quantity {
        name: "f32 multiply-adds",
        metric: &["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"],
        ours: |counters| threads(counters, &[Fma32]),
        agreement: Agreement::Exact,
    },
    Quantity {
        name: "f64 multiply-adds",
        metric: &["smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"],
        ours: |counters| threads(counters, &[Fma64]),
        agreement: Agreement::Exact,
    },
    Quantity {
        name: "other f32",
        metric: &[
            "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
            "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
        ],
        ours: |counters| threads(counters, &[Float32]),
        agreement: Agreement::Exact,
    },
    Quantity {
        name: "integer",
        metric: &["smsp__sass_thread_inst_executed_op_integer_pred_on.sum"],
        ours: |counters| threads(counters, &[Integer, InstructionClass::Compare]),
        agreement: Agreement::Shown,
    },
    Quantity {
        name: "warp instructions",
        metric: &["smsp__inst_executed.sum"],
        ours: |counters| counters.total().warp_instructions,
        agreement: Agreement::Shown,
    },
];

fn threads(counters: &Counters, classes: &[InstructionClass]) -> u64 {
    let of = counters.by_class();
    let of = of.iter().filter(|count| classes.contains(&count.class));
    of.map(|count| count.thread_instructions).sum()
}

fn root() -> PathBuf {
    PathBuf::from(warpladder::SOURCE_ROOT)
}

/// What the hardware counted: metrics by name, for each kernel in the file's order.
fn recorded(file: &Path) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

#[test]
fn counters_are_those_of_the_hardware() {
    let rows = recorded(&root().join("results/h200/ncu.csv"));
    assert!(rows.len() >= 10);
    let emulator = EmulatorEngine::new();
    let mut table = String::new();
    let mut differences = Vec::new();
    let names = QUANTITIES.iter().map(|quantity| quantity.name);
    let header: Vec<&str> = names.collect();
    writeln!(table, "| kernel | {} |", header.join(" | ")).unwrap();
    writeln!(table, "|---|{}", "--:|".repeat(QUANTITIES.len())).unwrap();
    for row in &rows {
        let rung = catalogue::find(&row["kernel"]).unwrap_or_else(|| panic!("{row:?}"));
        let admitted = preflight(&emulator, rung, SHAPE).unwrap();
        let profile = profile(&emulator, &admitted, 1).unwrap();
        write!(table, "| `{}` |", rung.name).unwrap();
        for quantity in QUANTITIES {
            let metric = quantity.metric.iter().map(|&name| &row[name]);
            let theirs: u64 = metric.map(|value| value.parse::<u64>().unwrap()).sum();
            let ours = (quantity.ours)(&profile.counters);
            let most = match quantity.agreement {
                Agreement::Exact => ours,
                Agreement::UpTo(share) => (ours as f64 * (1.0 + share)) as u64,
                Agreement::Shown => u64::MAX,
            };
            let least = if quantity.agreement == Agreement::Shown {
                0
            } else {
                ours
            };
            if !(least..=most).contains(&theirs) {
                let (kernel, name) = (rung.name, quantity.name);
                differences.push(format!("{kernel}: {name}: {ours} here, {theirs} there"));
            }
            let cell = match theirs == ours {
                true => ours.to_string(),
                false => format!("{ours} ({theirs})"),
            };
            write!(table, " {cell} |").unwrap();
        }
        table.push('\n');
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));

    let path = root().join("docs/counters.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- table -->\n", "<!-- /table -->");
    let start = document.find(begin).unwrap() + begin.len();
    let stop = document.find(end).unwrap();
    let expected = format!("\n{table}\n");
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        let written = format!("{}{expected}{}", &document[..start], &document[stop..]);
        std::fs::write(&path, written).unwrap();
        return;
    }
    assert_eq!(
        &document[start..stop],
        expected,
        "run `WARPLADDER_UPDATE=1 cargo test -p warpladder-lab --test lab ncu`"
    );
}
