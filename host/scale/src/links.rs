//! Links between ranks, measured: the time of messages by their size, for
//! `warpladder_models::links::fit`.

use crate::comm::{Communicator, Part, PartMut};
use crate::error::ScaleError;
use std::time::Instant;
use warpladder::gpu::Gpu;

/// Messages of one size.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Sample {
    /// Bytes that each rank sends.
    pub bytes: u64,
    /// Median time in which every rank sends to the next and receives from the one before.
    pub exchange_seconds: f64,
    /// Median time of an all-gather of as many bytes from each rank.
    pub all_gather_seconds: f64,
    /// Bus bandwidth of the all-gather in GB/s: all bytes over the time, times (P − 1)/P
    /// (nccl-tests, "Performance reported by NCCL tests").
    pub all_gather_bus_gbs: f64,
}

/// Measures messages of these sizes, in bytes, between all ranks. All ranks call it.
///
/// # Errors
/// Those of the operations, and of the device.
pub fn measure<C: Communicator>(
    comm: &C,
    gpu: &Gpu,
    sizes: &[u64],
    repetitions: usize,
) -> Result<Vec<Sample>, ScaleError> {
    let (rank, size) = (comm.rank(), comm.size());
    let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut samples = Vec::new();
    for &bytes in sizes {
        let count = usize::try_from(bytes / 4).unwrap_or(usize::MAX).max(1);
        let sent = gpu.zeros::<f32>(count, 1)?.into_array();
        let all = count.saturating_mul(size);
        let mut received = gpu.zeros::<f32>(all, 1)?.into_array();
        let counts = vec![count; size];
        let mut times = [Vec::new(), Vec::new()];
        for repetition in 0..=repetitions.max(1) {
            for (operation, times) in times.iter_mut().enumerate() {
                comm.barrier(gpu)?;
                let start = Instant::now();
                let send = Part::new(&sent, 0..count)?;
                if operation == 0 {
                    let receive = PartMut::new(&mut received, 0..count)?;
                    comm.send_receive(gpu, send, to, receive, from)?;
                } else {
                    let receive = PartMut::new(&mut received, 0..all)?;
                    comm.all_gather(gpu, send, receive, &counts)?;
                }
                comm.synchronize(gpu)?;
                if repetition > 0 {
                    times.push(start.elapsed().as_secs_f64());
                }
            }
        }
        let [exchange_seconds, all_gather_seconds] = times.map(crate::trial::median);
        let bytes = 4 * count as u64;
        let moved = bytes as f64 * (size as f64 - 1.0);
        samples.push(Sample {
            bytes,
            exchange_seconds,
            all_gather_seconds,
            all_gather_bus_gbs: moved / all_gather_seconds * 1e-9,
        });
    }
    Ok(samples)
}
