//! Which ranks a command runs on: emulated ones, those of a launcher, or the GPUs of this machine.

use anyhow::{Context, bail};
use std::time::Duration;
use warpladder::gpu::Gpu;
use warpladder_scale::ScaleError;
use warpladder_scale::comm::emulated::{self, Emulated};
use warpladder_scale::comm::launch::Launch;
use warpladder_scale::comm::{Communicator, run_ranks};

/// The most ranks that are emulated: each is a thread.
const MAX_EMULATED: usize = 256;

/// Seconds that ranks wait for each other, where nothing is given.
const TIME_LIMIT: f64 = 120.0;

#[derive(clap::Args, Debug)]
pub(super) struct RankArgs {
    /// Emulate this many ranks, each with an emulated device, instead of using GPUs
    #[arg(long, value_name = "RANKS")]
    emulate: Option<usize>,
    /// The most seconds that ranks wait for each other
    #[arg(long, value_name = "SECONDS", default_value_t = TIME_LIMIT)]
    #[arg(value_parser = crate::choices::positive)]
    time_limit: f64,
    /// The most blocks of an exchange of NCCL: the fewer, the more multiprocessors are left to
    /// products
    #[arg(long, value_name = "BLOCKS")]
    max_ctas: Option<u32>,
    /// How GPUs of one process exchange blocks
    #[arg(long, value_enum, default_value_t)]
    exchange: Transfer,
}

/// How GPUs of one process exchange blocks.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Transfer {
    /// By copies where each can access the memory of all others, else by NCCL
    #[default]
    Auto,
    /// By copies from each other's memory
    Copies,
    /// By NCCL, as GPUs of several processes do
    Nccl,
}

/// What is done on each rank, with any communicator.
pub(super) trait Work: Sync {
    type Outcome: Send;

    fn of_rank<C: Communicator>(&self, comm: &C, gpu: &Gpu) -> Result<Self::Outcome, ScaleError>;
}

/// What came of it where this process speaks for all ranks.
pub(super) struct Done<R> {
    /// What rank 0 says; `None` in the processes of the other ranks.
    pub of_first: Option<R>,
    /// The device of the first rank of this process.
    pub device: String,
    /// Whether ranks are emulated.
    pub emulated: bool,
}

impl Default for RankArgs {
    fn default() -> Self {
        RankArgs {
            emulate: None,
            time_limit: TIME_LIMIT,
            max_ctas: None,
            exchange: Transfer::Auto,
        }
    }
}

impl RankArgs {
    /// Whether ranks are emulated.
    pub(super) fn is_emulated(&self) -> bool {
        self.emulate.is_some()
    }

    fn limit(&self) -> Duration {
        Duration::try_from_secs_f64(self.time_limit).unwrap_or(Duration::MAX / 4)
    }

    /// How many ranks there will be.
    pub(super) fn count(&self) -> anyhow::Result<usize> {
        if let Some(ranks) = self.emulate {
            if !(1..=MAX_EMULATED).contains(&ranks) {
                bail!("{ranks} ranks cannot be emulated: give 1 to {MAX_EMULATED}");
            }
            return Ok(ranks);
        }
        if let Some(launch) = Launch::of_environment()? {
            return Ok(launch.size);
        }
        let devices = warpladder::device::devices();
        let devices = devices.context("without a GPU, give --emulate RANKS")?;
        match devices.len() {
            0 => bail!("the driver lists no GPU: give --emulate RANKS"),
            count => Ok(count),
        }
    }

    /// Does the work on all ranks.
    pub(super) fn run<W: Work>(&self, work: &W) -> anyhow::Result<Done<W::Outcome>> {
        let count = self.count()?;
        if self.emulate.is_some() {
            let ranks = emulated::ranks(count, self.limit(), &[]);
            let outcomes = run_ranks(ranks, |rank: &Emulated| {
                work.of_rank(rank, &Gpu::emulated())
            });
            return Ok(Done {
                of_first: Some(first(outcomes)?),
                device: format!("{count} emulated devices"),
                emulated: true,
            });
        }
        self.on_gpus(count, work)
    }

    #[cfg(all(target_os = "linux", feature = "gpu"))]
    fn on_gpus<W: Work>(&self, count: usize, work: &W) -> anyhow::Result<Done<W::Outcome>> {
        use warpladder_scale::comm::nccl::{Library, Nccl, Options};
        use warpladder_scale::comm::peer::{self, Peer};
        use warpladder_scale::comm::rendezvous::UniqueId;
        let options = Options {
            limit: self.limit(),
            max_ctas: self.max_ctas,
        };
        let library = Library::load()?;
        if let Some(launch) = Launch::of_environment()? {
            // A launcher may show each process its own GPU alone.
            let shown = warpladder::device::devices()?.len();
            let gpu = open(if shown == 1 { 0 } else { launch.local_rank })?;
            let (rank, place) = (launch.rank, &launch.rendezvous);
            let id = place.exchange(rank, count, options.limit, || library.unique_id())?;
            let comm = Nccl::join(&gpu, id, rank, count, options)?;
            // All ranks have the identifier.
            place.clear(rank);
            let done = work.of_rank(&comm, &gpu);
            if let Err(error) = &done {
                comm.abort(&error.to_string());
            }
            return Ok(Done {
                of_first: Some(done?).filter(|_| rank == 0),
                device: gpu.name().to_owned(),
                emulated: false,
            });
        }
        let gpus: Vec<Gpu> = (0..count).map(open).collect::<Result<_, _>>()?;
        let id: UniqueId = library.unique_id()?;
        // Ranks join at the same time.
        let joined: Vec<_> = std::thread::scope(|scope| {
            let gpus = gpus.iter().enumerate();
            let threads: Vec<_> = gpus
                .map(|(rank, gpu)| scope.spawn(move || Nccl::join(gpu, id, rank, count, options)))
                .collect();
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(joined) => joined,
                Err(panicked) => std::panic::resume_unwind(panicked),
            });
            joined.collect()
        });
        let comms = joined.into_iter().collect::<Result<Vec<_>, _>>()?;
        let outcomes = if self.copies(count)? {
            let peers = peer::ranks(comms, options.limit);
            run_ranks(peers, |comm: &Peer| work.of_rank(comm, &gpus[comm.rank()]))
        } else {
            run_ranks(comms, |comm: &Nccl| work.of_rank(comm, &gpus[comm.rank()]))
        };
        Ok(Done {
            of_first: Some(first(outcomes)?),
            device: gpus
                .first()
                .map_or(String::new(), |gpu| gpu.name().to_owned()),
            emulated: false,
        })
    }

    /// Whether the first `count` GPUs exchange blocks by copies.
    #[cfg(all(target_os = "linux", feature = "gpu"))]
    fn copies(&self, count: usize) -> anyhow::Result<bool> {
        if self.exchange == Transfer::Nccl {
            return Ok(false);
        }
        let connected = warpladder_scale::comm::peer::connect(0..u32::try_from(count)?)?;
        if self.exchange == Transfer::Copies && !connected {
            bail!("these GPUs cannot access each other's memory: give --exchange nccl");
        }
        Ok(connected)
    }

    #[cfg(not(all(target_os = "linux", feature = "gpu")))]
    fn on_gpus<W: Work>(&self, _: usize, _: &W) -> anyhow::Result<Done<W::Outcome>> {
        bail!("this build has no GPU engine: give --emulate RANKS")
    }
}

#[cfg(all(target_os = "linux", feature = "gpu"))]
fn open(ordinal: usize) -> anyhow::Result<Gpu> {
    let ordinal = u32::try_from(ordinal).context("there is no such GPU")?;
    let engine = warpladder::engine::gpu::GpuEngine::new(ordinal)?;
    Ok(Gpu::on(Box::new(engine)))
}

/// What the first rank says; where ranks failed, the error of the first of them, with how many.
fn first<R>(outcomes: Vec<Result<R, ScaleError>>) -> anyhow::Result<R> {
    let count = outcomes.len();
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    let all: Result<Vec<R>, ScaleError> = outcomes.into_iter().collect();
    let mut all = all.with_context(|| format!("on {failed} of {count} ranks"))?;
    match all.is_empty() {
        true => bail!("there are no ranks"),
        false => Ok(all.swap_remove(0)),
    }
}
