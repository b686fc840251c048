//! `warpladder scale gemm`.

use crate::interrupt::{self, Ending, Results};
use crate::outcome::Outcome;
use crate::output::{Destination, human_output};
use crate::shape::ShapeArg;
use crate::{progress, units};
use anyhow::{Context, bail};
use half::{bf16, f16};
use std::io::Write;
use std::path::{Path, PathBuf};
use warpladder::check::Verdict;
use warpladder::element::{Element, ElementType};
use warpladder::gemm::{GemmInput, GemmInto};
use warpladder::gpu::{Gpu, PinnedArray};
use warpladder_scale::ScaleError;
use warpladder_scale::stream::{
    self, HostMatrix, HostMatrixMut, MappedMatrix, MappedMatrixMut, Moved, Options, Order, Progress,
};

/// Random vectors of the check.
const VECTORS: usize = 2;

#[derive(clap::Args)]
#[command(after_help = "\
Files that end with .npy are NumPy's, others hold elements alone, row by row, and need --shape and \
--element. Files are mapped to memory: no other program may change them meanwhile. C is checked by \
random vectors (Freivalds).

Examples:
  warpladder scale gemm --random 300x200x400 --device-memory 256KiB --emulate --out c.npy
  warpladder scale gemm --random 31x33x100 --element bf16 --device-memory 8KiB --emulate
  warpladder scale gemm --random 200 --pinned --device-memory 256KiB --emulate")]
pub(super) struct Args {
    /// File of A
    #[arg(
        long,
        value_name = "FILE",
        requires = "b",
        required_unless_present = "random"
    )]
    a: Option<PathBuf>,
    /// File of B
    #[arg(long, value_name = "FILE", requires = "a")]
    b: Option<PathBuf>,
    /// A and B of random numbers, of this size, instead of files
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["a", "b", "shape"])]
    random: Option<ShapeArg>,
    /// Keep random A and B, and C, in page-locked memory, which the device reads and writes itself
    #[arg(long, requires = "random", conflicts_with = "out")]
    pinned: bool,
    /// File of C, which is replaced; without one C is checked and dropped
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Size of matrices in raw files
    #[arg(long, value_name = "SIZE")]
    shape: Option<ShapeArg>,
    /// Element type of raw files and of random numbers, if not f32
    #[arg(long, value_parser = super::element)]
    element: Option<ElementType>,
    /// Store C in 16 bits where A and B have them
    #[arg(long)]
    c_16bit: bool,
    /// Device memory for tiles; 9 tenths of what is free if it is not given
    #[arg(long, value_parser = super::bytes, value_name = "BYTES")]
    device_memory: Option<u64>,
    /// Use the emulator even where there is a GPU
    #[arg(long)]
    emulate: bool,
    /// Do not check C
    #[arg(long)]
    no_check: bool,
    /// Write the results as JSON as well; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

#[derive(serde::Serialize)]
struct Record {
    kind: &'static str,
    device: String,
    emulated: bool,
    m: usize,
    n: usize,
    k: usize,
    element: ElementType,
    c_element: ElementType,
    pinned: bool,
    moved: Moved,
    moved_elements: u64,
    tflops: f64,
    ok: Option<bool>,
    error: Option<f64>,
    tolerance: Option<f64>,
    complaint: Option<String>,
}

/// What the thread that computes hands over.
enum Message {
    Progress(Progress),
    Done(Box<Record>),
}

/// What the thread that computes takes with it.
struct Job {
    inputs: Inputs,
    out: Option<PathBuf>,
    c_16bit: bool,
    device_memory: Option<u64>,
    emulate: bool,
    pinned: bool,
    check: bool,
}

enum Inputs {
    Files(Box<[MappedMatrix; 2]>),
    Random([usize; 3], ElementType),
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let job = Job {
        inputs: inputs(args)?,
        out: args.out.clone(),
        c_16bit: args.c_16bit,
        device_memory: args.device_memory,
        emulate: args.emulate,
        pinned: args.pinned,
        check: !args.no_check,
    };
    let mut bar = None;
    let mut record = None;
    let work = move |results: &Results<Message>| job.run(results);
    let ending = interrupt::attend(None, work, |message| {
        match message {
            Message::Progress(Progress { done, steps }) => {
                if bar.is_none() {
                    bar = Some(progress::of_pieces(usize::try_from(steps)?)?);
                }
                if let Some(bar) = &bar {
                    bar.set_position(done);
                }
            }
            Message::Done(done) => record = Some(done),
        }
        Ok(())
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let Some(record) = record else {
        return match ending? {
            Ending::Complete => bail!("the product has no result"),
            Ending::Interrupted | Ending::TimeUp => Ok(Outcome::Interrupted),
        };
    };
    ending?;
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    print(&mut human, &record)?;
    let is_wrong = record.ok == Some(false);
    if let Some(json) = json {
        json.write_records("scale", true, &[record])?;
    }
    Ok(match is_wrong {
        true => Outcome::ChecksFailed,
        false => Outcome::Done,
    })
}

fn inputs(args: &Args) -> anyhow::Result<Inputs> {
    if let Some(ShapeArg(shape)) = args.random {
        let extents = [shape.m, shape.n, shape.k].map(|extent| extent as usize);
        return Ok(Inputs::Random(
            extents,
            args.element.unwrap_or(ElementType::F32),
        ));
    }
    let [Some(a), Some(b)] = [&args.a, &args.b] else {
        bail!("give the files of A and B");
    };
    let shape = args
        .shape
        .map(|ShapeArg(shape)| [shape.m, shape.n, shape.k]);
    let shape = shape.map(|shape| shape.map(|extent| extent as usize));
    let open = |path: &Path, extents: Option<[usize; 2]>| -> anyhow::Result<MappedMatrix> {
        if is_npy(path) {
            return Ok(MappedMatrix::npy(path)?);
        }
        let raw = || {
            format!(
                "{} is a raw file: give --shape and --element",
                path.display()
            )
        };
        let extents = extents.with_context(raw)?;
        Ok(MappedMatrix::raw(
            path,
            extents,
            args.element.with_context(raw)?,
        )?)
    };
    let a = open(a, shape.map(|[m, _, k]| [m, k]))?;
    let b = open(b, shape.map(|[_, n, k]| [k, n]))?;
    if a.element() != b.element() {
        bail!(
            "A is of {} and B of {}: give one type",
            a.element(),
            b.element()
        );
    }
    Ok(Inputs::Files(Box::new([a, b])))
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

/// The elements of a matrix that is stored by rows.
enum Elements<T> {
    Pageable(Vec<T>),
    Pinned(PinnedArray<T>),
}

impl<T: Element> Elements<T> {
    fn new(gpu: &Gpu, count: usize, pinned: bool) -> anyhow::Result<Self> {
        Ok(match pinned {
            true => Elements::Pinned(gpu.pinned(count)?),
            false => Elements::Pageable(vec![T::zeroed(); count]),
        })
    }

    fn as_slice_mut(&mut self) -> &mut [T] {
        match self {
            Elements::Pageable(values) => values,
            Elements::Pinned(array) => array,
        }
    }

    fn matrix(&self, rows: usize, columns: usize) -> Result<HostMatrix<'_, T>, ScaleError> {
        match self {
            Elements::Pageable(values) => HostMatrix::row_major(values, rows, columns),
            Elements::Pinned(array) => HostMatrix::pinned(array, rows, columns, Order::RowMajor),
        }
    }

    fn matrix_mut(
        &mut self,
        rows: usize,
        columns: usize,
    ) -> Result<HostMatrixMut<'_, T>, ScaleError> {
        match self {
            Elements::Pageable(values) => HostMatrixMut::row_major(values, rows, columns),
            Elements::Pinned(array) => HostMatrixMut::pinned(array, rows, columns, Order::RowMajor),
        }
    }
}

impl Job {
    fn run(&self, results: &Results<Message>) -> anyhow::Result<()> {
        let element = match &self.inputs {
            Inputs::Files(files) => files[0].element(),
            Inputs::Random(_, element) => *element,
        };
        match (element, self.c_16bit) {
            (ElementType::F16, false) => self.of::<f16, f32>(results),
            (ElementType::F16, true) => self.of::<f16, f16>(results),
            (ElementType::Bf16, false) => self.of::<bf16, f32>(results),
            (ElementType::Bf16, true) => self.of::<bf16, bf16>(results),
            (ElementType::F32, _) => self.of::<f32, f32>(results),
            (ElementType::F64, _) => self.of::<f64, f64>(results),
        }
    }

    fn of<T, O>(&self, results: &Results<Message>) -> anyhow::Result<()>
    where
        T: Element + GemmInto<<T as GemmInput>::Output>,
        O: Element,
    {
        let gpu = match self.emulate {
            true => Gpu::emulated(),
            false => Gpu::new_or_emulated(),
        };
        match &self.inputs {
            Inputs::Files(files) => {
                let [a, b] = &**files;
                self.multiply::<T, O>(&gpu, [a.view()?, b.view()?], results)
            }
            Inputs::Random([m, n, k], _) => {
                let count = |a: &usize, b: &usize| a.checked_mul(*b).context("it is too large");
                let (of_a, of_b) = (count(m, k)?, count(k, n)?);
                let mut a = Elements::<T>::new(&gpu, of_a, self.pinned)?;
                let mut b = Elements::<T>::new(&gpu, of_b, self.pinned)?;
                stream::fill(a.as_slice_mut(), 1);
                stream::fill(b.as_slice_mut(), 2);
                let (a, b) = (a.matrix(*m, *k)?, b.matrix(*k, *n)?);
                self.multiply::<T, O>(&gpu, [a, b], results)
            }
        }
    }

    fn multiply<T, O>(
        &self,
        gpu: &Gpu,
        [a, b]: [HostMatrix<'_, T>; 2],
        results: &Results<Message>,
    ) -> anyhow::Result<()>
    where
        T: Element + GemmInto<<T as GemmInput>::Output>,
        O: Element,
    {
        let ([m, k], [_, n]) = (a.extents(), b.extents());
        let options = Options {
            device_memory: self.device_memory,
        };
        let tell = |progress| results.hand(Message::Progress(progress));
        let (moved, verdict) = match &self.out {
            Some(path) => {
                let mut file = match is_npy(path) {
                    true => MappedMatrixMut::create_npy(path, [m, n], O::TYPE)?,
                    false => MappedMatrixMut::create_raw(path, [m, n], O::TYPE)?,
                };
                let moved = stream::gemm(gpu, a, b, file.view_mut::<O>()?, &options, tell)?;
                file.flush()?;
                (moved, self.check(a, b, file.view::<O>()?)?)
            }
            None => {
                let elements = m.checked_mul(n).context("C is too large")?;
                let mut c = Elements::<O>::new(gpu, elements, self.pinned)?;
                c.as_slice_mut().fill(O::NAN);
                let moved = stream::gemm(gpu, a, b, c.matrix_mut(m, n)?, &options, tell)?;
                (moved, self.check(a, b, c.matrix(m, n)?)?)
            }
        };
        let flops = 2.0 * m as f64 * n as f64 * k as f64;
        let of_verdict = verdict.as_ref();
        _ = results.hand(Message::Done(Box::new(Record {
            kind: "out_of_core",
            device: gpu.name().to_owned(),
            emulated: gpu.is_emulated(),
            m,
            n,
            k,
            element: T::TYPE,
            c_element: O::TYPE,
            pinned: self.pinned,
            moved,
            moved_elements: moved.elements(),
            tflops: flops / moved.seconds * 1e-12,
            ok: of_verdict.map(|verdict| verdict.ok),
            error: of_verdict.map(|verdict| verdict.error),
            tolerance: of_verdict.map(|verdict| verdict.tolerance),
            complaint: verdict.and_then(|verdict| verdict.complaint),
        })));
        Ok(())
    }

    fn check<T: Element, O: Element>(
        &self,
        a: HostMatrix<'_, T>,
        b: HostMatrix<'_, T>,
        c: HostMatrix<'_, O>,
    ) -> Result<Option<Verdict>, ScaleError> {
        match self.check {
            true => stream::check(a, b, c, VECTORS, 1).map(Some),
            false => Ok(None),
        }
    }
}

fn print(to: &mut dyn Write, record: &Record) -> anyhow::Result<()> {
    let Record { m, n, k, moved, .. } = record;
    writeln!(
        to,
        "{m} x {n} x {k} of {} on {}: {} of {} x {}, pieces of {}",
        record.element,
        record.device,
        units::count(usize::try_from(moved.tiles)?, "tile"),
        moved.tiling.rows,
        moved.tiling.columns,
        moved.tiling.depth
    )?;
    let over = moved.elements() as f64 / moved.least_elements.max(1.0);
    writeln!(
        to,
        "{} elements moved, {over:.2} times the bound of {:.0}",
        moved.elements(),
        moved.least_elements
    )?;
    writeln!(
        to,
        "{} of tiles within {}, {} at most with what kernels take",
        units::bytes(moved.tile_bytes),
        units::bytes(moved.limit_bytes),
        units::bytes(moved.peak_bytes)
    )?;
    let unit = if record.emulated {
        "CPU seconds"
    } else {
        "seconds"
    };
    writeln!(to, "{:.3} {unit}", moved.seconds)?;
    match (record.ok, &record.complaint) {
        (Some(true), _) => writeln!(to, "right, by {VECTORS} random vectors")?,
        (Some(false), complaint) => {
            writeln!(
                to,
                "wrong: {}",
                complaint.as_deref().unwrap_or("an element")
            )?;
        }
        (None, _) => writeln!(to, "not checked")?,
    }
    Ok(())
}
