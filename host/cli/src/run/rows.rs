//! The table of a run, row by row, and what stands below it.

use super::cases::{RunCase, Selection};
use crate::estimate::about;
use crate::table::{Column, Rows, figure};
use std::io::{self, Write};
use warpladder::engine::EngineKind;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::run::{Record, Step, describe};

/// A row's parts.
pub(super) struct Row<'a> {
    pub case: &'a RunCase,
    pub record: &'a Record,
    pub step: Option<&'a Step>,
}

/// What a cell shows, and its column.
type Cell = fn(&Row<'_>) -> String;

/// The table.
pub(super) struct RunTable {
    rows: Rows,
    cells: Vec<Cell>,
    verdict: usize,
}

fn measured_or_predicted(record: &Record) -> (Option<f64>, Option<f64>, Option<f64>) {
    match record.median_ms {
        Some(ms) => (Some(ms), record.gflops, record.gbs),
        None => (
            record.predicted_ms,
            record.predicted_gflops,
            record.predicted_gbs,
        ),
    }
}

/// A rate: of arithmetic for products and chains of it, of data for everything else.
fn rate(case: &RunCase, gflops: Option<f64>, gbs: Option<f64>) -> String {
    let (value, units) = match (case.rung().operation.uses_k(), gflops, gbs) {
        (true, Some(gflops), _) => (gflops, ["MFLOP/s", "GFLOP/s", "TFLOP/s"]),
        (_, _, Some(gbs)) => (gbs, ["MB/s", "GB/s", "TB/s"]),
        _ => return "-".to_owned(),
    };
    let (value, unit) = match value {
        1000.0.. => (value / 1e3, units[2]),
        1.0.. => (value, units[1]),
        _ => (value * 1e3, units[0]),
    };
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

fn times(step: Option<&Step>) -> String {
    step.map_or("-".to_owned(), |step| match step.times {
        100.0.. => format!("{:.0}", step.times),
        10.0.. => format!("{:.1}", step.times),
        _ => format!("{:.2}", step.times),
    })
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |percent| match percent {
        10.0.. => format!("{percent:.0}"),
        _ => format!("{percent:.1}"),
    })
}

fn verdict(row: &Row<'_>) -> String {
    match row.record.ok {
        true => "ok".to_owned(),
        false => "FAIL".to_owned(),
    }
}

/// Columns of the table that fits 80 columns, but for the time.
const KERNEL: Cell = |row| row.record.kernel.clone();
const RATE: Cell = |row| {
    let (_, gflops, gbs) = measured_or_predicted(row.record);
    // Products on the CPU of a run without a GPU have no place beside the predictions.
    match (row.record.engine, row.record.median_ms) {
        (EngineKind::Cpu, Some(_)) => "-".to_owned(),
        _ => rate(row.case, gflops, gbs),
    }
};

impl RunTable {
    /// The table of these cases. Without a GPU the predictions for `device` lead, and what the CPU
    /// took comes last.
    pub(super) fn new(
        selection: &Selection,
        device: Option<&str>,
        on_gpu: bool,
        wide: bool,
    ) -> Self {
        let names = selection.run.iter().map(|case| case.rung().name.len());
        let name = names.max().unwrap_or_default();
        let mut table = Builder::default();
        table.add(Column::text("kernel", name, 0), KERNEL);
        if wide {
            table.add(Column::text("element", 7, 0), |row| {
                row.record.element.to_string()
            });
            let sizes = selection.run.iter().map(|case| size(case).len());
            let width = sizes.max().unwrap_or_default();
            table.add(Column::text("size", width, 0), |row| size(row.case));
        }
        let verdict_at = table.columns.len();
        table.add(Column::text("check", 5, 0), verdict);
        if wide {
            table.add(Column::number("error", 8, 0), |row| {
                figure(row.record.error)
            });
            table.add(Column::number("tolerance", 9, 0), |row| {
                figure(row.record.tolerance)
            });
        }
        if on_gpu {
            table.add(Column::number("ms", 8, 0), |row| {
                figure(row.record.median_ms)
            });
            table.add(Column::number("rate", 12, 1), |row| {
                rate(row.case, row.record.gflops, row.record.gbs)
            });
        } else if let Some(device) = device {
            let title = format!("{device} ms");
            table.add(Column::number(&title, 7, 0), |row| {
                figure(row.record.predicted_ms)
            });
            table.add(Column::number("rate", 12, 1), RATE);
        }
        if on_gpu || device.is_some() {
            table.add(Column::number("x", 5, 2), |row| times(row.step));
            table.add(Column::number("roof %", 6, 3), |row| {
                percent(row.record.roof_pct.or(row.record.predicted_roof_pct))
            });
        }
        if wide {
            table.add_details(on_gpu);
        }
        if !on_gpu {
            table.add(Column::number("CPU ms", 7, 4), |row| {
                figure(row.record.own_median_ms())
            });
        }
        RunTable {
            rows: match wide {
                true => Rows::wide(table.columns),
                false => Rows::new(table.columns),
            },
            cells: table.cells,
            verdict: verdict_at,
        }
    }

    pub(super) fn header(&self) -> String {
        self.rows.header()
    }

    pub(super) fn row(&self, row: &Row<'_>) -> String {
        let cells: Vec<String> = self.cells.iter().map(|cell| cell(row)).collect();
        self.rows.line(&cells, Some(self.verdict))
    }
}

#[derive(Default)]
struct Builder {
    columns: Vec<Column>,
    cells: Vec<Cell>,
}

impl Builder {
    fn add(&mut self, column: Column, cell: Cell) {
        self.columns.push(column);
        self.cells.push(cell);
    }

    /// What `--wide` shows of times.
    fn add_details(&mut self, on_gpu: bool) {
        if !on_gpu {
            self.add(Column::text("bound by", 14, 0), |row| {
                let bound = row.record.predicted_bound;
                bound.map_or("-".to_owned(), |bound| bound.to_string())
            });
        }
        self.add(Column::number("samples", 7, 0), |row| {
            row.record.samples.to_string()
        });
        self.add(Column::number("min ms", 8, 0), |row| {
            figure(row.record.min_ms)
        });
        self.add(Column::number("max ms", 8, 0), |row| {
            figure(row.record.max_ms)
        });
        self.add(Column::number("noise %", 8, 0), |row| {
            figure(row.record.noise_pct)
        });
        self.add(Column::number("GFLOP/s", 8, 0), |row| {
            figure(row.record.gflops)
        });
        self.add(Column::number("GB/s", 8, 0), |row| figure(row.record.gbs));
        self.add(Column::number("host-to-host ms", 8, 0), |row| {
            figure(row.record.host_to_host_ms)
        });
    }
}

/// The size of a case in words.
pub(super) fn size(case: &RunCase) -> String {
    describe(case.rung().operation, case.admitted.shape())
}

/// Prints which kernels are left out, and why; a kernel that is left out at several sizes once.
pub(super) fn print_left_out(to: &mut dyn Write, selection: &Selection) -> io::Result<()> {
    let left_out: [(&[&'static Rung], &str); 3] = [
        (
            &selection.unsupported,
            "take other sizes only, see `warpladder list --wide`",
        ),
        (
            &selection.incapable,
            "need another compute capability than the device's, or the one asked for",
        ),
        (&selection.slow, "would take long, ask for them by name"),
    ];
    for (rungs, why) in left_out.into_iter().filter(|(rungs, _)| !rungs.is_empty()) {
        let mut names: Vec<&str> = rungs.iter().map(|rung| rung.name).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(*name));
        let line = format!("left out ({why}): {}", names.join(", "));
        writeln!(to, "{}", crate::table::wrapped(&line, 2))?;
    }
    for (rung, seconds) in &selection.over_limit {
        let (name, long) = (rung.name, about(*seconds));
        writeln!(
            to,
            "left out: {name} would take about {long}, longer than --time-limit"
        )?;
    }
    Ok(())
}
