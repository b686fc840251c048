//! `warpladder scale predict`.

use crate::outcome::Outcome;
use crate::output::{Destination, human_output};
use crate::shape::ShapeArg;
use crate::table;
use anyhow::{Context, bail};
use std::io::Write;
use warpladder::element::ElementType;
use warpladder_lab::results;
use warpladder_models::links::{
    Cluster, HGX_H200, Link, Method, Prediction, Product, Rates, fastest,
};
use warpladder_results::h200;
use warpladder_scale::dist::Shape;

/// The most GPUs that are predicted.
const MAX_GPUS: usize = 1 << 20;

#[derive(clap::Args)]
#[command(after_help = "\
A, B and C are divided among the GPUs before and after. Rates of one GPU are those that an H200 \
measured; links are the vendor's figures, and what messages reach of them is a range.

Examples:
  warpladder scale predict --shape 32768 --element bf16 --gpus 1,2,4,8
  warpladder scale predict --shape 1048576 --gpus 8,64,1024,16384")]
pub(super) struct Args {
    /// Size of the product: N, MxN or MxNxK
    #[arg(long, default_value = "16384", value_name = "SIZE")]
    shape: ShapeArg,
    /// Element type of A and B
    #[arg(long, default_value = "bf16", value_parser = super::element)]
    element: ElementType,
    /// Numbers of GPUs
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,2,4,8",
        value_name = "LIST"
    )]
    gpus: Vec<usize>,
    /// GPUs of a machine, if not 8
    #[arg(long, value_name = "GPUS")]
    per_machine: Option<usize>,
    /// Bandwidth of a GPU's link inside a machine in one direction, in GB/s, as measured
    #[arg(long, value_name = "GBS", value_parser = crate::choices::positive)]
    link_gbs: Option<f64>,
    /// Bandwidth of a GPU's link between machines in one direction, in GB/s, as measured
    #[arg(long, value_name = "GBS", value_parser = crate::choices::positive)]
    network_gbs: Option<f64>,
    /// Write the predictions as JSON as well; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

#[derive(serde::Serialize)]
struct Record {
    kind: &'static str,
    device: &'static str,
    m: usize,
    n: usize,
    k: usize,
    element: ElementType,
    gpus: usize,
    slowest: Prediction,
    fastest: Prediction,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let ShapeArg(size) = args.shape;
    let [m, n, k] = [size.m, size.n, size.k].map(|extent| extent as usize);
    let rates = rates(args.element)?;
    let mut cluster = HGX_H200;
    if let Some(gpus) = args.per_machine {
        cluster.gpus_per_machine = gpus.max(1);
    }
    let product = product(Shape { m, n, k }, args.element);
    let mut records = Vec::new();
    for &gpus in &args.gpus {
        if !(1..=MAX_GPUS).contains(&gpus) {
            bail!("{gpus} GPUs cannot be predicted: give 1 to {MAX_GPUS}");
        }
        let [slowest, fastest] = [0, 1].map(|bound| {
            let given = [args.link_gbs, args.network_gbs];
            let per_machine = cluster.gpus_per_machine;
            fastest(
                product,
                gpus,
                &rates,
                links(&cluster, bound, given),
                per_machine,
            )
        });
        records.push(Record {
            kind: "prediction",
            device: cluster.name,
            m,
            n,
            k,
            element: args.element,
            gpus,
            slowest,
            fastest,
        });
    }
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    print(&mut human, &records)?;
    if let Some(json) = json {
        json.write_records("scale", true, &records)?;
    }
    Ok(Outcome::Done)
}

/// The links at a bound, with the bandwidths that were measured.
fn links(cluster: &Cluster, bound: usize, given: [Option<f64>; 2]) -> [Link; 2] {
    let ranges = [cluster.inside, cluster.between];
    let mut links = ranges.map(|range| range.bounds()[bound]);
    for (link, given) in links.iter_mut().zip(given) {
        link.gbs = given.unwrap_or(link.gbs);
    }
    links
}

fn product(shape: Shape, element: ElementType) -> Product {
    let element_bytes = element.bytes() as usize;
    Product {
        extents: [shape.m, shape.n, shape.k],
        element_bytes,
        accumulator_bytes: element_bytes.max(4),
    }
}

/// What is predicted with the slowest links.
pub(super) fn slowest(
    shape: Shape,
    element: ElementType,
    gpus: usize,
) -> anyhow::Result<Prediction> {
    let links = links(&HGX_H200, 0, [None; 2]);
    let per_machine = HGX_H200.gpus_per_machine;
    let product = product(shape, element);
    Ok(fastest(product, gpus, &rates(element)?, links, per_machine))
}

/// A row of what `warpladder compare` wrote.
#[derive(serde::Deserialize)]
struct Measured {
    kernel: String,
    m: f64,
    n: f64,
    k: f64,
    gflops: f64,
}

/// The rates that an H200 measured.
fn rates(element: ElementType) -> anyhow::Result<Rates> {
    let (file, kernel) = match element {
        ElementType::F16 => (h200::COMPARE_WGMMA, "wgmma_f16"),
        ElementType::Bf16 => (h200::COMPARE_WGMMA, "wgmma_bf16"),
        ElementType::F32 => (h200::COMPARE_SGEMM, "sgemm"),
        ElementType::F64 => (h200::COMPARE_DGEMM, "dgemm"),
    };
    let rows: Vec<Measured> = results::read(file)?;
    let rows = rows.into_iter().filter(|row| row.kernel == kernel);
    let points = rows.map(|row| [2.0 * row.m * row.n * row.k, row.gflops]);
    Rates::new(points.collect()).context("the H200's results have no such kernel")
}

fn print(to: &mut dyn Write, records: &[Record]) -> anyhow::Result<()> {
    if let Some(Record {
        m,
        n,
        k,
        element,
        device,
        ..
    }) = records.first()
    {
        writeln!(to, "{m} x {n} x {k} of {element} on {device}, predicted")?;
    }
    let mut rows = table::new(&["GPUs", "divided by", "ms", "efficiency", "exchanges hidden"]);
    for record in records {
        let (slow, fast) = (&record.slowest, &record.fastest);
        let range = |of: fn(&Prediction) -> f64, digits: usize| {
            let (slow, fast) = (of(slow), of(fast));
            let [slow, fast] = [slow, fast].map(|number| format!("{number:.digits$}"));
            if slow == fast {
                slow
            } else {
                format!("{slow} to {fast}")
            }
        };
        let percent = |of: &Prediction| 100.0 * of.hidden;
        let hidden = match record.gpus {
            1 => "-".to_owned(),
            _ => format!("{} %", range(percent, 0)),
        };
        let methods = match slow.method == fast.method {
            true => method(slow.method),
            false => format!("{} or {}", method(slow.method), method(fast.method)),
        };
        rows.add_row([
            record.gpus.to_string(),
            if record.gpus == 1 {
                "-".to_owned()
            } else {
                methods
            },
            range(|of| of.seconds * 1e3, 3),
            range(|of| of.efficiency, 3),
            hidden,
        ]);
    }
    writeln!(to, "{rows}")?;
    Ok(())
}

fn method(method: Method) -> String {
    match method {
        Method::AllGather => "all-gather".to_owned(),
        Method::ReduceScatter => "reduce-scatter".to_owned(),
        Method::Summa([p, q]) => format!("summa:{p}x{q}"),
    }
}
