//! Each safe kernel beside the one with `unsafe`: the same results, and how long each takes.

use crate::PTX;
use crate::kernels::{tiled, transpose_padded, vecadd};
use serde_json::{Value, json};
use warpladder::device::ComputeCapability;
use warpladder::gpu::{DeviceArray, Error, Gpu, Grid, Kernel, Layout, Slice};
use warpladder::timing::{Quartiles, median_interval};

/// Launches of each form before any is timed.
const WARM_UP: usize = 5;

/// Elements of a product that are compared with one computed on the host.
const SAMPLES: usize = 2000;

/// The sizes that are compared.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Elements of the vectors.
    pub vecadd: Vec<usize>,
    /// Height and width of the matrices that are transposed: multiples of 32.
    pub transpose: Vec<[usize; 2]>,
    /// m, n and k of the products: multiples of 32.
    pub product: Vec<[usize; 3]>,
}

impl Sizes {
    /// Sizes that fill a large GPU.
    pub fn large() -> Self {
        Sizes {
            vecadd: vec![1 << 26],
            transpose: vec![[8192, 8192], [4096, 12288]],
            product: vec![[4096; 3]],
        }
    }

    /// Sizes for the emulator.
    pub fn small() -> Self {
        Sizes {
            vecadd: vec![1 << 12],
            transpose: vec![[64, 96]],
            product: vec![[64, 96, 32]],
        }
    }
}

/// What was measured of a kernel and a size.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The kernel.
    pub kernel: &'static str,
    /// Its size.
    pub size: String,
    /// Milliseconds of the launches of the safe form, in their order.
    pub safe_ms: Vec<f64>,
    /// Those of the other form: each beside the one of the same index.
    pub unsafe_ms: Vec<f64>,
    /// What is wrong with the results, if anything is.
    pub complaint: Option<String>,
}

impl Comparison {
    /// Times of the safe form over those of the other: the median of the pairs, and where it lies
    /// with 95 % confidence, for six pairs or more.
    pub fn ratio(&self) -> Option<(f64, Option<(f64, f64)>)> {
        let pairs = self.safe_ms.iter().zip(&self.unsafe_ms);
        let ratios: Vec<f64> = pairs.map(|(safe, other)| safe / other).collect();
        let median = Quartiles::of(&ratios)?.median;
        Some((median, median_interval(&ratios)))
    }

    /// The measurement as JSON.
    pub fn to_json(&self) -> Value {
        let times = |times: &[f64]| {
            let quartiles = Quartiles::of(times);
            json!({
                "median": quartiles.map(|quartiles| quartiles.median),
                "quartiles": quartiles.map(|quartiles| [quartiles.low, quartiles.high]),
                "all": times,
            })
        };
        let ratio = self.ratio();
        let interval = ratio.and_then(|(_, interval)| interval);
        json!({
            "kernel": self.kernel,
            "size": self.size,
            "safe_ms": times(&self.safe_ms),
            "unsafe_ms": times(&self.unsafe_ms),
            "safe_over_unsafe": {
                "median": ratio.map(|(median, _)| median),
                "interval_95": interval.map(|(low, high)| [low, high]),
            },
            "right": self.complaint.is_none(),
            "complaint": self.complaint,
        })
    }
}

/// Compares all kernels, `rounds` launches of each form.
///
/// # Errors
/// What the device refuses.
pub fn all(gpu: &Gpu, sizes: &Sizes, rounds: usize) -> Result<Vec<Comparison>, Error> {
    let mut found = Vec::new();
    for &len in &sizes.vecadd {
        found.push(compare_vecadd(gpu, len, rounds)?);
    }
    for &size in &sizes.transpose {
        found.push(compare_transpose(gpu, size, rounds)?);
    }
    for &size in &sizes.product {
        found.push(compare_tiled_16(gpu, size, rounds)?);
        found.push(compare_tiled_32(gpu, size, rounds)?);
    }
    Ok(found)
}

fn compare_vecadd(gpu: &Gpu, len: usize, rounds: usize) -> Result<Comparison, Error> {
    let (a, b) = (values(len, 1), values(len, 2));
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let (a, b) = (gpu.upload(&a)?, gpu.upload(&b)?);
    let mut outputs = poisoned(gpu, len)?;

    let safe = gpu.typed_kernel::<vecadd::vecadd>(&PTX)?;
    let other = gpu.module(PTX.text())?.kernel("vecadd_with_unsafe")?;
    let [safe_ms, unsafe_ms] = times(gpu, rounds, &mut outputs, |is_safe, c| {
        if is_safe {
            return safe.launch(gpu, (&a, &b, c));
        }
        let grid = Grid::covering(len, 256);
        // SAFETY: all three have `len` elements, and the grid covers them.
        unsafe { gpu.launch(&other, grid, (Slice(&a), Slice(&b), c)) }
    })?;
    Ok(Comparison {
        kernel: "vecadd",
        size: len.to_string(),
        safe_ms,
        unsafe_ms,
        complaint: complaint(&outputs, |c| differs(c, &expected))?,
    })
}

fn compare_transpose(
    gpu: &Gpu,
    [height, width]: [usize; 2],
    rounds: usize,
) -> Result<Comparison, Error> {
    let input = values(height * width, 3);
    let mut expected = vec![0.0; input.len()];
    for row in 0..height {
        for column in 0..width {
            expected[column * height + row] = input[row * width + column];
        }
    }
    let input = gpu.upload(&input)?;
    let mut outputs = poisoned(gpu, height * width)?;

    let safe =
        gpu.typed_kernel::<transpose_padded::transpose_padded<{ transpose_padded::TILE }>>(&PTX)?;
    let other = ladder(gpu, "transpose_padded")?;
    let [safe_ms, unsafe_ms] = times(gpu, rounds, &mut outputs, |is_safe, output| {
        if is_safe {
            let from = input.matrix(Layout::row_major(height, width))?;
            let to = output.matrix_mut(Layout::row_major(width, height))?;
            return safe.launch(gpu, (from, to));
        }
        let grid = Grid::new([width as u32 / 32, height as u32 / 32], [32, 32]);
        let args = (Slice(&input), output, width as u32, height as u32);
        // SAFETY: both have height · width elements, and both extents are multiples of 32.
        unsafe { gpu.launch(&other, grid, args) }
    })?;
    Ok(Comparison {
        kernel: "transpose_padded",
        size: format!("{height} x {width}"),
        safe_ms,
        unsafe_ms,
        complaint: complaint(&outputs, |output| differs(output, &expected))?,
    })
}

/// The comparison of a product by tiles of `$tile`.
macro_rules! compare_tiled {
    ($function:ident, $name:literal, $tile:literal) => {
        fn $function(gpu: &Gpu, size: [usize; 3], rounds: usize) -> Result<Comparison, Error> {
            let [m, n, k] = size;
            let (a, b) = (values(m * k, 4), values(k * n, 5));
            let (on_host_a, on_host_b) = (a.clone(), b.clone());
            let (a, b) = (gpu.upload(&a)?, gpu.upload(&b)?);
            let mut outputs = poisoned(gpu, m * n)?;

            let safe = gpu.typed_kernel::<tiled::tiled<$tile, $tile>>(&PTX)?;
            let other = ladder(gpu, $name)?;
            let [safe_ms, unsafe_ms] = times(gpu, rounds, &mut outputs, |is_safe, c| {
                if is_safe {
                    let a = a.matrix(Layout::row_major(m, k))?;
                    let b = b.matrix(Layout::row_major(k, n))?;
                    return safe.launch(gpu, (a, b, c.matrix_mut(Layout::row_major(m, n))?));
                }
                let grid = Grid::new([n as u32 / $tile, m as u32 / $tile], [$tile, $tile]);
                let [m, n, k] = size.map(|extent| extent as u32);
                let args = (Slice(&a), Slice(&b), c, m, n, k);
                // SAFETY: the arrays have m · k, k · n and m · n elements, and the extents are
                // multiples of the tile's.
                unsafe { gpu.launch(&other, grid, args) }
            })?;
            Ok(Comparison {
                kernel: $name,
                size: format!("{m} x {n} x {k}"),
                safe_ms,
                unsafe_ms,
                complaint: complaint(&outputs, |c| wrong_product(&on_host_a, &on_host_b, c, size))?,
            })
        }
    };
}

compare_tiled!(compare_tiled_16, "tiled_16", 16);
compare_tiled!(compare_tiled_32, "tiled_32", 32);

/// A kernel of warpladder's ladder.
fn ladder(gpu: &Gpu, name: &str) -> Result<Kernel, Error> {
    let module = warpladder::ptx::module(ComputeCapability::V7_0);
    gpu.module(&module.only(name))?.kernel(name)
}

/// Values between -1 and 1 that differ from place to place, and from seed to seed.
fn values(len: usize, seed: u32) -> Vec<f32> {
    let value = |i: usize| {
        let hash = (i as u32 ^ seed.rotate_left(24)).wrapping_mul(0x9e37_79b9);
        let hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b);
        (hash >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(value).collect()
}

/// Two outputs that hold NaN.
fn poisoned(gpu: &Gpu, len: usize) -> Result<[DeviceArray<f32>; 2], Error> {
    let nan = vec![f32::NAN; len];
    Ok([gpu.upload(&nan)?, gpu.upload(&nan)?])
}

/// Milliseconds of the launches of both forms, which alternate; which one comes first alternates
/// from round to round, and so does which array it writes: some lie better in memory than others.
/// `launch` starts the safe form where its argument is true. At the end the first array is the safe
/// form's, the second the other's.
fn times(
    gpu: &Gpu,
    rounds: usize,
    outputs: &mut [DeviceArray<f32>; 2],
    mut launch: impl FnMut(bool, &mut DeviceArray<f32>) -> Result<(), Error>,
) -> Result<[Vec<f64>; 2], Error> {
    for _ in 0..WARM_UP {
        launch(true, &mut outputs[0])?;
        launch(false, &mut outputs[1])?;
    }
    gpu.synchronize()?;
    let (start, stop) = (gpu.event()?, gpu.event()?);
    let mut times = [const { Vec::new() }; 2];
    for round in 0..rounds {
        let safe_first = round % 2 == 0;
        let swapped = round / 2 % 2 == 1;
        for is_safe in [safe_first, !safe_first] {
            // The launch before the timed one keeps the GPU busy until that is in the stream, and
            // leaves the caches as that does.
            let output = &mut outputs[usize::from(is_safe == swapped)];
            launch(is_safe, output)?;
            gpu.record(&start)?;
            launch(is_safe, output)?;
            gpu.record(&stop)?;
            times[usize::from(!is_safe)].push(stop.elapsed_ms_since(&start)?);
        }
    }
    for (output, is_safe) in outputs.iter_mut().zip([true, false]) {
        *output = gpu.upload(&vec![f32::NAN; output.len()])?;
        launch(is_safe, output)?;
    }
    Ok(times)
}

/// What is wrong: an output is not right, or they differ.
fn complaint(
    [safe, other]: &[DeviceArray<f32>; 2],
    wrong: impl Fn(&[f32]) -> Option<String>,
) -> Result<Option<String>, Error> {
    let (safe, other) = (safe.download()?, other.download()?);
    Ok(wrong(&safe)
        .map(|what| format!("the safe form: {what}"))
        .or_else(|| wrong(&other).map(|what| format!("the form with unsafe: {what}")))
        .or_else(|| differs(&safe, &other).map(|what| format!("the two forms: {what}"))))
}

/// The first element whose bits are not those expected.
fn differs(found: &[f32], expected: &[f32]) -> Option<String> {
    let mut pairs = found.iter().zip(expected).enumerate();
    let (index, (found, expected)) =
        pairs.find(|(_, (found, expected))| found.to_bits() != expected.to_bits())?;
    Some(format!("element {index} is {found}, expected {expected}"))
}

/// The first of [`SAMPLES`] elements of a product that is further from the one computed in double
/// precision than rounding explains.
fn wrong_product(a: &[f32], b: &[f32], c: &[f32], [m, n, k]: [usize; 3]) -> Option<String> {
    let tolerance = k as f64 * f64::from(f32::EPSILON);
    (0..SAMPLES).find_map(|sample| {
        let element = sample * 7919 % (m * n);
        let (row, column) = (element / n, element % n);
        let terms = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column]));
        let (expected, found) = (terms.sum::<f64>(), f64::from(c[element]));
        // Not "greater": NaN must fail.
        let is_near = (found - expected).abs() <= tolerance;
        (!is_near).then(|| format!("element {element} is {found}, expected {expected}"))
    })
}
