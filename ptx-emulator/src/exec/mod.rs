//! Execution: a launch, its workers and the blocks that they run.

mod access;
mod access_pattern;
mod approximate;
mod arithmetic;
mod async_copy;
mod atomic;
mod atomic_rows;
mod barrier;
mod block;
mod bytes;
mod call;
mod channel;
mod clock;
mod cluster;
mod convert;
mod cooperative;
mod double;
mod element;
mod fast_access;
mod float;
mod gather;
mod integer_matrix;
mod lane;
mod lane_offsets;
mod launch;
mod line_products;
mod map_edit;
mod matrix;
mod matrix_descriptor;
mod matrix_move;
mod mbarrier;
mod mbarrier_object;
mod member_mask;
mod micro_ops;
mod parked;
mod product;
mod rare;
mod replaced_sum;
mod rows;
mod run;
mod simd;
mod sparse;
mod stepping;
mod surface;
mod system;
mod tensor;
mod tensor_memory;
mod tensor_sum;
mod texels;
mod texture;
mod transfer;
mod turn;
mod vector;
mod video;
mod warp;
mod warp_ops;
mod warpgroup;
mod wmma;
mod workers;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use crate::error::{Fault, LaunchError};
use crate::kernel::Kernel;
use crate::launch::{Args, LaunchConfig, Report};
use crate::memory::Memory;
use crate::observer::{
    Event, EventSink, Forks, Indirect, LaunchContext, NoObserver, ObservedLaunch, Observer,
};
use block::Worker;
pub(crate) use launch::{Fuel, Launch};
use parked::{Halt, Parked, Patience};
pub(crate) use simd::{Level, Vectorised, run_at};
use workers::{Others, Work, run_workers};

impl Kernel {
    /// Runs the kernel and waits for its end.
    ///
    /// # Errors
    /// [`LaunchError`] refuses a bad launch before anything runs, or reports what the kernel did
    /// wrong; device memory then holds whatever was stored until then.
    pub fn launch(
        &self,
        memory: &Memory,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<Report, LaunchError> {
        self.launch_observed(memory, config, args, &mut NoObserver)
    }

    /// Runs the kernel under an observer, which sees everything up to a fault.
    ///
    /// # Errors
    /// As [`Kernel::launch`].
    pub fn launch_observed<O: Observer>(
        &self,
        memory: &Memory,
        config: &LaunchConfig,
        args: &Args,
        observer: &mut O,
    ) -> Result<Report, LaunchError> {
        observer.launch(ObservedLaunch {
            kernel: self,
            memory,
            config,
            args,
        })
    }
}

impl ObservedLaunch<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Kernel::launch_observed`].
    pub fn run<O: Observer>(self, observer: &mut O) -> Result<Report, LaunchError> {
        launch_at(simd::Level::detect(), self, observer, work)
    }

    /// Runs it on the executor that is compiled with this crate, which calls the observer through
    /// a table of functions; see [`Observer::launch`].
    ///
    /// # Errors
    /// As [`Kernel::launch_observed`].
    pub fn run_indirect<O: Observer>(self, observer: &mut O) -> Result<Report, LaunchError> {
        launch_at(
            simd::Level::detect(),
            self,
            observer,
            |launch, own, fault, mut others| {
                let mut forks = Forks::new(own);
                let others = others.as_mut().map(Others::reborrow);
                work_indirectly(launch, &mut Indirect::new(&mut forks), fault, others)
            },
        )
    }
}

fn launch_at<O: Observer>(
    level: simd::Level,
    observed: ObservedLaunch<'_>,
    observer: &mut O,
    work: Work<O>,
) -> Result<Report, LaunchError> {
    let ObservedLaunch {
        kernel,
        memory,
        config,
        args,
    } = observed;
    let launch = Launch::new(level, kernel, memory, config, args)?;
    let fault: Mutex<Option<(u64, Fault)>> = Mutex::new(None);
    let context = LaunchContext {
        kernel,
        memory,
        grid: config.grid,
        block: config.block,
        cluster: launch.cluster,
        shared_bytes: launch.shared_bytes,
        cooperative: launch.is_cooperative(),
        workspace: launch.workspace(),
    };
    Observer::notify(observer, Event::LaunchStart(&context));
    let issued = run_workers(&launch, config.workers, observer, &fault, work);
    if !O::MARKS_WRITTEN {
        memory.assume_written();
    }
    let fault = fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    memory.print(launch.all_printed(fault.as_ref().map(|(group, _)| *group)));
    let end = Event::LaunchEnd {
        launch: &context,
        fault: fault.as_ref().map(|(_, fault)| fault),
    };
    Observer::notify(observer, end);
    let (warp_instructions, workers) = issued?;
    if launch.is_stepped_out() {
        return Err(LaunchError::Stopped);
    }
    match fault {
        Some((_, fault)) => Err(LaunchError::Fault(Box::new(fault))),
        None => Ok(Report {
            blocks: launch.blocks(),
            warp_instructions,
            workers,
        }),
    }
}

/// Runs groups of blocks until none is left; returns the instructions issued.
fn work<'s, O: EventSink>(
    launch: &'s Launch<'_>,
    observer: &'s mut O,
    fault: &Mutex<Option<(u64, Fault)>>,
    others: Option<Others<'s>>,
) -> u64 {
    let mut worker = Worker::new(launch, observer);
    worker.others = others;
    let mut parked = Parked::of(launch, worker.observer);
    worker.patience = parked.as_ref().map(|_| Patience::of::<O>());
    loop {
        let has_room = parked.as_ref().is_none_or(Parked::has_room);
        let (index, outcome) = match has_room.then(|| launch.next_group()).flatten() {
            Some((index, first)) => (index, worker.run_group(index, first)),
            None => match parked.as_mut().and_then(|parked| worker.run_parked(parked)) {
                Some(halted) => halted,
                None => break,
            },
        };
        if let (Ok(Halt::PutAside), Some(parked)) = (&outcome, &mut parked) {
            worker.park(parked);
            continue;
        }
        if worker.observer.steps()
            && let Err(fault) = &outcome
        {
            worker.pause_at_fault(fault);
        }
        launch.keep_printed(index, std::mem::take(&mut worker.printed));
        if let Err(found) = outcome {
            let mut first = fault.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                *first = Some((index, *found));
            }
            launch.failed_group.fetch_min(index, Ordering::Relaxed);
            // Of the blocks that were put aside, only earlier ones run on.
            if parked.is_none() {
                break;
            }
        }
    }
    if let Some(parked) = parked {
        parked.end(worker.observer);
    }
    worker.issued()
}

/// [`work`] for observers of all types, in one compiled form.
#[inline(never)]
fn work_indirectly<'s>(
    launch: &'s Launch<'_>,
    observer: &'s mut Indirect<'_>,
    fault: &Mutex<Option<(u64, Fault)>>,
    others: Option<Others<'s>>,
) -> u64 {
    work(launch, observer, fault, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Module;
    use crate::observer::NoObserver;

    /// The portable loop and the one for the processor's vector instructions give the same bits.
    #[test]
    fn every_vector_level_computes_the_same() {
        let text = include_str!("../../tests/data/lines.ptx");
        let module = Module::parse(text).expect("well formed");
        let tiled = module.kernel("tiled").expect("known");
        let size = 64u32;
        let count = u64::from(size * size);
        let values: Vec<u8> = (0..count)
            .flat_map(|index| ((index * 7919 % 1013) as f32 / 1013.0 - 0.4).to_le_bytes())
            .collect();
        let product = |level| {
            let memory = Memory::with_capacity(1 << 20);
            let matrix = memory.alloc(4 * count).expect("room");
            memory.write(matrix, &values).expect("in bounds");
            let c = memory.alloc(4 * count).expect("room");
            let mut args = Args::new();
            args.push_u64(matrix).push_u64(count);
            args.push_u64(matrix).push_u64(count);
            args.push_u64(c).push_u32(size).push_u32(size);
            let config = LaunchConfig::new([size / 16, size / 16, 1], [16, 16, 1]);
            let launch = ObservedLaunch {
                kernel: &tiled,
                memory: &memory,
                config: &config,
                args: &args,
            };
            launch_at(level, launch, &mut NoObserver, work).expect("runs");
            let mut bytes = vec![0; values.len()];
            memory.read(c, &mut bytes).expect("in bounds");
            bytes
        };
        let portable = product(simd::Level::Portable);
        assert!(portable.iter().any(|&byte| byte != 0));
        for level in simd::Level::available() {
            assert_eq!(portable, product(level), "{level:?}");
        }
    }
}
