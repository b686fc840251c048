//! Products on several GPUs: how long one takes whose matrices are divided, and with which
//! algorithm.
//!
//! A message of B bytes takes α + B/β (Hockney 1994, "The communication challenge for MPP"), with
//! the latency α and the bandwidth β of a GPU's link in one direction. Each algorithm works in
//! chunks, and exchanges one while it computes another. With t_p for the products of a chunk, t_x
//! for its exchange and c chunks:
//!
//! | algorithm on P ranks | t_x of a chunk | time |
//! |---|---|---|
//! | all-gather + GEMM | α + k (n/P) e/β, P − 1 of them | t_p + (P − 1) max(t_p, t_x) |
//! | GEMM + reduce-scatter | (P − 1) (α + (m/(P c)) n a/β) | t_p + (c − 1) max(t_p, t_x) + t_x |
//! | SUMMA on p × q | (p + q) α + (m/p + n/q) (k/L) e/β, L panels | t_x + (L − 1) max(t_p, t_x) + t_p |
//!
//! e and a are the bytes of an element and of an accumulator, L = c · max(p, q). The product of a
//! chunk runs at the rate that was measured of a product with as many operations ([`Rates`]). What
//! an exchange takes from a product that runs beside it (multiprocessors, memory bandwidth) is not
//! in the model: [`Range`]s of link figures stand for what is not known.

use super::figure::{Basis, Figure};

/// A GPU's link, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Link {
    /// α, in microseconds.
    pub latency_us: f64,
    /// β, in GB/s.
    pub gbs: f64,
}

impl Link {
    /// Seconds of messages of `bytes` together, `messages` latencies in all.
    fn seconds(self, messages: f64, bytes: f64) -> f64 {
        messages * self.latency_us * 1e-6 + bytes / (self.gbs * 1e9)
    }
}

/// What is known of a link: its vendor's figure, and between which parts of it messages reach.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Range {
    /// Bandwidth in one direction, in GB/s.
    pub gbs: Figure<f64>,
    /// The part of it that large messages reach, at least and at most.
    pub reached: [f64; 2],
    /// Latency of a message, at least and at most, in microseconds.
    pub latency_us: [f64; 2],
}

impl Range {
    /// The slowest and the fastest link that this may be.
    pub fn bounds(self) -> [Link; 2] {
        [(0, 1), (1, 0)].map(|(reached, latency)| Link {
            latency_us: self.latency_us[latency],
            gbs: self.gbs.value * self.reached[reached],
        })
    }
}

/// GPUs with links between them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Cluster {
    /// Name with which it is asked for.
    pub name: &'static str,
    /// GPUs of a machine.
    pub gpus_per_machine: usize,
    /// Links of GPUs of one machine.
    pub inside: Range,
    /// Links of GPUs of different machines.
    pub between: Range,
}

/// Machines of 8 H200s with NVLink, and 400 Gb/s of network for each GPU.
pub const HGX_H200: Cluster = Cluster {
    name: "H200",
    gpus_per_machine: 8,
    inside: Range {
        gbs: Figure {
            value: 450.0,
            basis: Basis::Datasheet,
            source: "NVIDIA H200 datasheet: NVLink 900 GB/s, both directions together",
        },
        reached: [0.55, 0.85],
        latency_us: [5.0, 20.0],
    },
    between: Range {
        gbs: Figure {
            value: 50.0,
            basis: Basis::Datasheet,
            source: "NVIDIA DGX H200 user guide: one ConnectX-7 of 400 Gb/s for each GPU",
        },
        reached: [0.7, 0.95],
        latency_us: [10.0, 40.0],
    },
};

/// Rates of products on one GPU, by their work.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates(Vec<[f64; 2]>);

impl Rates {
    /// Floating-point operations of products, and the GFLOP/s that each ran at; `None` where there
    /// are none, or one is not above 0.
    pub fn new(mut points: Vec<[f64; 2]>) -> Option<Self> {
        let is_known = points
            .iter()
            .flatten()
            .all(|&number| number > 0.0 && number.is_finite());
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        (is_known && !points.is_empty()).then_some(Rates(points))
    }

    /// Seconds of a product: between measured ones by the logarithm of the work; with the rate of
    /// the largest beyond it; and as long as the smallest, at least, in proportion below it.
    pub fn seconds(&self, flops: f64) -> f64 {
        if flops <= 0.0 {
            return 0.0;
        }
        let points = &self.0;
        let above = points.iter().position(|point| point[0] >= flops);
        let gflops = match above {
            None => points[points.len() - 1][1],
            // A small product takes as long per wave as the smallest that was measured.
            Some(0) => points[0][1] * (flops / points[0][0]).powf(1.0 / 3.0),
            Some(index) => {
                let ([x0, y0], [x1, y1]) = (points[index - 1], points[index]);
                let part = (flops / x0).ln() / (x1 / x0).ln();
                y0 + part * (y1 - y0)
            }
        };
        flops / (gflops * 1e9)
    }
}

/// A product to be divided: m, n and k, and the bytes of an element and of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// m, n and k.
    pub extents: [usize; 3],
    /// Bytes of an element of A and B.
    pub element_bytes: usize,
    /// Bytes of an accumulator.
    pub accumulator_bytes: usize,
}

impl Product {
    fn flops(self) -> f64 {
        2.0 * self
            .extents
            .iter()
            .map(|&extent| extent as f64)
            .product::<f64>()
    }
}

/// How a product is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// B goes to all ranks.
    AllGather,
    /// Partial sums of C are added.
    ReduceScatter,
    /// On a grid of p × q ranks.
    Summa([usize; 2]),
}

/// How long a product takes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Prediction {
    /// GPUs.
    pub gpus: usize,
    /// How it is divided.
    pub method: Method,
    /// Chunks of a block.
    pub chunks: usize,
    /// All of it, in seconds.
    pub seconds: f64,
    /// The products alone.
    pub products_seconds: f64,
    /// The exchanges alone.
    pub exchange_seconds: f64,
    /// The bound of this division: all operations at one GPU's rate, or all exchanges, whichever
    /// takes longer.
    pub least_seconds: f64,
    /// t₁ / (P · t_P).
    pub efficiency: f64,
    /// The part of the exchanges that products hide.
    pub hidden: f64,
}

/// Chunks that are tried.
const CHUNKS: [usize; 4] = [1, 2, 4, 8];

/// The fastest way to divide a product among `gpus` GPUs with these links: `inside` a machine of
/// `per_machine` GPUs, and `between` machines.
pub fn fastest(
    product: Product,
    gpus: usize,
    rates: &Rates,
    [inside, between]: [Link; 2],
    per_machine: usize,
) -> Prediction {
    let gpus = gpus.max(1);
    let mut methods = vec![Method::AllGather, Method::ReduceScatter];
    let rows = (1..=gpus).filter(|p| gpus.is_multiple_of(*p));
    methods.extend(rows.map(|p| Method::Summa([p, gpus / p])));
    let links = [inside, between];
    let predicted = |method| {
        let of = move |chunks| predict(product, gpus, method, chunks, rates, links, per_machine);
        CHUNKS.map(of)
    };
    let first = predict(
        product,
        gpus,
        Method::AllGather,
        1,
        rates,
        links,
        per_machine,
    );
    methods
        .into_iter()
        .flat_map(predicted)
        .fold(first, |best, next| {
            if next.seconds < best.seconds {
                next
            } else {
                best
            }
        })
}

/// How long a product takes that is divided so.
pub fn predict(
    product: Product,
    gpus: usize,
    method: Method,
    chunks: usize,
    rates: &Rates,
    [inside, between]: [Link; 2],
    per_machine: usize,
) -> Prediction {
    let (gpus, chunks) = (gpus.max(1), chunks.max(1));
    let [m, n, k] = product.extents.map(|extent| extent as f64);
    let (ranks, pieces) = (gpus as f64, chunks as f64);
    let element = product.element_bytes as f64;
    let flops = product.flops();
    let link = |spans: usize| {
        if spans > per_machine.max(1) {
            between
        } else {
            inside
        }
    };
    // Products and exchanges of a chunk, how many there are of each, and the exchanges that no
    // product hides.
    let (of_products, of_exchange, products, exchanges, alone) = match method {
        Method::AllGather => {
            let block = k * n / ranks * element;
            let messages = pieces;
            let products = rates.seconds(flops / ranks / ranks / pieces) * pieces;
            (
                products,
                link(gpus).seconds(messages, block),
                ranks,
                ranks - 1.0,
                0.0,
            )
        }
        Method::ReduceScatter => {
            let piece = m / ranks / pieces * n * product.accumulator_bytes as f64;
            let others = ranks - 1.0;
            let products = rates.seconds(flops / ranks / ranks / pieces) * ranks;
            let exchange = link(gpus).seconds(others, others * piece);
            (products, exchange, pieces, pieces, 1.0)
        }
        Method::Summa([p, q]) => {
            let panels = pieces * p.max(q) as f64;
            let [rows, columns] = [p, q].map(|extent| extent as f64);
            let of_a = m / rows * k / panels * element;
            let of_b = n / columns * k / panels * element;
            // A row of the grid is neighbours; a column spans all machines.
            let along_row = if q > 1 {
                link(q).seconds(columns, of_a)
            } else {
                0.0
            };
            let along_column = if p > 1 {
                link(p * q).seconds(rows, of_b)
            } else {
                0.0
            };
            let products = rates.seconds(flops / ranks / panels);
            (products, along_row + along_column, panels, panels, 1.0)
        }
    };
    let overlapped = if method == Method::AllGather {
        exchanges
    } else {
        exchanges - 1.0
    };
    let (exchange_alone, of_exchange) = match gpus {
        1 => (0.0, 0.0),
        _ => (alone * of_exchange, of_exchange),
    };
    let seconds = of_products + overlapped * of_products.max(of_exchange) + exchange_alone;
    let products_seconds = of_products * products;
    let exchange_seconds = of_exchange * exchanges;
    let of_one = rates.seconds(flops);
    let exposed = seconds - products_seconds;
    Prediction {
        gpus,
        method,
        chunks,
        seconds,
        products_seconds,
        exchange_seconds,
        least_seconds: (of_one / ranks).max(exchange_seconds),
        efficiency: of_one / (ranks * seconds),
        hidden: match exchange_seconds > 0.0 {
            true => (1.0 - exposed / exchange_seconds).clamp(0.0, 1.0),
            false => 1.0,
        },
    }
}

/// The link that messages of these bytes took these seconds over: least squares of the relative
/// error. `None` where there are fewer than two sizes, or the fit has no such link.
pub fn fit(messages: &[[f64; 2]]) -> Option<Link> {
    // Weights of 1/seconds²: a fit of absolute errors would see the longest messages alone.
    let [mut w, mut x, mut y, mut xx, mut xy] = [0.0; 5];
    for &[bytes, seconds] in messages {
        let weight = (seconds > 0.0).then(|| 1.0 / (seconds * seconds))?;
        w += weight;
        x += weight * bytes;
        y += weight * seconds;
        xx += weight * bytes * bytes;
        xy += weight * bytes * seconds;
    }
    let spread = w * xx - x * x;
    let slope = (w * xy - x * y) / spread;
    let latency = (y - slope * x) / w;
    let link = Link {
        latency_us: latency.max(0.0) * 1e6,
        gbs: 1e-9 / slope,
    };
    (spread > 0.0 && slope > 0.0 && link.gbs.is_finite()).then_some(link)
}
