//! GPUs of one process that copy from each other by their links, beside NCCL.
//!
//! A rank tells the others where its elements lie, and each takes them with a copy of its own
//! (`cuMemcpyDtoDAsync` between devices with peer access, CUDA C++ programming guide, "Peer-to-Peer
//! Memory Access"). Copy engines do that beside kernels, where NCCL's exchanges are kernels that
//! take multiprocessors and L2 away from products. What adds elements of several ranks, and what
//! parts of the ranks do, is NCCL's.

use super::mailbox::{Key, Mailbox};
use super::nccl::{Nccl, address, starts, stream};
use super::{Communicator, Part, PartMut, Wire, check_counts, check_length, check_rank};
use crate::error::CommError;
use cuda_driver::{DriverError, Event, PrimaryContext, Stream, memory};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use warpladder::gpu::Gpu;

/// The steps of an exchange: elements may be read, and they were read.
const READY: u8 = 0;
const READ: u8 = 1;

/// What a rank tells another one.
struct Post {
    /// Where its elements lie, and how many bytes they have; nothing in the second step.
    address: u64,
    bytes: usize,
    /// What the other one's stream waits for.
    reached: Event,
    /// Keeps the context of the event alive.
    _gpu: Gpu,
}

/// A rank that is a GPU of this process.
pub struct Peer {
    nccl: Nccl,
    /// `None` for parts of the ranks.
    mailbox: Option<Arc<Mailbox<Post>>>,
    /// Exchanges so far, which all ranks count alike.
    sequence: AtomicU64,
}

/// Whether each of the GPUs with these numbers can access the memory of all others, which is then
/// enabled.
///
/// # Errors
/// [`CommError::Device`], with the GPU's number as the rank.
pub fn connect(ordinals: Range<u32>) -> Result<bool, CommError> {
    let failed = |rank: u32, reason: String| CommError::Device {
        rank: rank as usize,
        reason,
    };
    let driver = cuda_driver::load().map_err(|error| failed(0, error.to_string()))?;
    let mut contexts = Vec::new();
    for ordinal in ordinals {
        let open = || {
            let device = driver.device(ordinal)?;
            Ok((device, PrimaryContext::retain(device)?))
        };
        let opened = open().map_err(|error: DriverError| failed(ordinal, error.to_string()));
        contexts.push((ordinal, opened?));
    }
    for (rank, (device, context)) in &contexts {
        for (other, (peer, of_peer)) in &contexts {
            let enable = || match rank == other || device.can_access_peer(*peer)? {
                false => Ok(false),
                true if rank == other => Ok(true),
                true => context.enable_peer_access(of_peer).map(|()| true),
            };
            let enabled = enable().map_err(|error: DriverError| failed(*rank, error.to_string()));
            if !enabled? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The ranks of `all`, which are those of GPUs of this process that [`connect`] has connected.
pub fn ranks(all: Vec<Nccl>, limit: Duration) -> Vec<Peer> {
    let mailbox = Arc::new(Mailbox::new(limit));
    let of = |nccl| Peer {
        nccl,
        mailbox: Some(Arc::clone(&mailbox)),
        sequence: AtomicU64::new(0),
    };
    all.into_iter().map(of).collect()
}

impl Peer {
    fn failed(&self, error: &DriverError) -> CommError {
        CommError::Device {
            rank: self.rank(),
            reason: error.to_string(),
        }
    }

    /// An event behind what is on the stream.
    fn post(&self, on: &Gpu, address: u64, bytes: usize) -> Result<Post, CommError> {
        let stream = stream(on, self.rank())?.cast();
        // SAFETY: `stream` has made the context of the GPU current, which the post keeps alive;
        // the stream is one of it.
        let reached = unsafe {
            let event = Event::new().map_err(|error| self.failed(&error))?;
            event.record(stream).map_err(|error| self.failed(&error))?;
            event
        };
        Ok(Post {
            address,
            bytes,
            reached,
            _gpu: on.clone(),
        })
    }

    /// Copies what a rank has posted, behind its event.
    fn copy(&self, on: &Gpu, post: &Post, to: u64) -> Result<(), CommError> {
        let raw = stream(on, self.rank())?.cast();
        // SAFETY: the stream is valid as long as `on`. The rank that has posted keeps its elements
        // as they are until its stream has waited for the event of the second step, which is
        // behind this copy; `to` is borrowed by the caller, and used behind it on this stream.
        let copied = unsafe {
            let stream = Stream::from_raw(raw);
            post.reached
                .wait(raw)
                .and_then(|()| memory::copy_on(&stream, to, post.address, post.bytes))
        };
        copied.map_err(|error| self.failed(&error))
    }

    /// Sends elements to one rank and takes those of another one.
    fn exchange<T: Wire>(
        &self,
        mailbox: &Mailbox<Post>,
        on: &Gpu,
        send: &Part<'_, T>,
        receive: &Part<'_, T>,
        from: usize,
    ) -> Result<(), CommError> {
        const CALL: &str = "an exchange between GPUs";
        let rank = self.rank();
        self.nccl.check_alive(CALL)?;
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        let key = |rank, step| -> Key { (sequence, rank, step) };
        let bytes = send.len() * size_of::<T>();
        let sent = address(send, 0) as u64;
        mailbox.post(key(rank, READY), self.post(on, sent, bytes)?);
        let received = mailbox.take(key(from, READY), rank, CALL).and_then(|post| {
            // Whatever fails here, the other rank must not wait for it with its elements.
            let copied = check_length("send and receive", "bytes", post.bytes, {
                receive.len() * size_of::<T>()
            })
            .and_then(|()| self.copy(on, &post, address(receive, 0) as u64));
            let read = self.post(on, 0, 0);
            match read {
                Ok(read) => mailbox.post(key(from, READ), read),
                Err(error) => mailbox.fail(error),
            }
            copied
        });
        if let Err(error) = received {
            mailbox.fail(error.clone());
            // Elements that another rank may still read stay as they are until it has.
            if mailbox.withdraw(key(rank, READY)).is_none()
                && let Ok(read) = mailbox.take_after_failure(key(rank, READ), rank, CALL)
            {
                _ = read.reached.synchronize();
            }
            return Err(error);
        }
        let read = mailbox.take(key(rank, READ), rank, CALL)?;
        // SAFETY: the stream is valid as long as `on`.
        let waited = unsafe { read.reached.wait(stream(on, rank)?.cast()) };
        waited.map_err(|error| self.failed(&error))
    }
}

impl Communicator for Peer {
    fn rank(&self) -> usize {
        self.nccl.rank()
    }

    fn size(&self) -> usize {
        self.nccl.size()
    }

    fn all_gather<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError> {
        let Some(mailbox) = &self.mailbox else {
            return self.nccl.all_gather(on, send, receive, counts);
        };
        let (rank, size) = (self.rank(), self.size());
        check_counts(
            "all-gather",
            (rank, size),
            counts,
            send.len(),
            receive.len(),
        )?;
        let element = size_of::<T>() as u64;
        self.nccl
            .count(super::received::all_gather(counts, rank, element));
        let starts: Vec<usize> = starts(counts).collect();
        let all = receive.shared();
        let piece = |rank: usize| Part {
            array: all.array,
            range: {
                let start = all.range.start + starts[rank];
                start..start + counts[rank]
            },
        };
        // The own one as well, which is a copy on the device.
        for step in 0..size {
            let from = (rank + step) % size;
            self.exchange(mailbox, on, &send, &piece(from), from)?;
        }
        Ok(())
    }

    fn reduce_scatter<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        receive: PartMut<'_, T>,
        counts: &[usize],
    ) -> Result<(), CommError> {
        self.nccl.reduce_scatter(on, send, receive, counts)
    }

    fn all_reduce<T: Wire>(&self, on: &Gpu, buffer: PartMut<'_, T>) -> Result<(), CommError> {
        self.nccl.all_reduce(on, buffer)
    }

    fn broadcast<T: Wire>(
        &self,
        on: &Gpu,
        buffer: PartMut<'_, T>,
        root: usize,
    ) -> Result<(), CommError> {
        self.nccl.broadcast(on, buffer, root)
    }

    fn send_receive<T: Wire>(
        &self,
        on: &Gpu,
        send: Part<'_, T>,
        to: usize,
        receive: PartMut<'_, T>,
        from: usize,
    ) -> Result<(), CommError> {
        let Some(mailbox) = &self.mailbox else {
            return self.nccl.send_receive(on, send, to, receive, from);
        };
        check_rank(to, self.size())?;
        check_rank(from, self.size())?;
        if from != self.rank() {
            self.nccl.count((receive.len() * size_of::<T>()) as u64);
        }
        self.exchange(mailbox, on, &send, &receive.shared(), from)
    }

    fn split(&self, colour: usize, key: usize) -> Result<Self, CommError> {
        Ok(Peer {
            nccl: self.nccl.split(colour, key)?,
            mailbox: None,
            sequence: AtomicU64::new(0),
        })
    }

    fn synchronize(&self, on: &Gpu) -> Result<(), CommError> {
        self.nccl.synchronize(on)
    }

    fn abort(&self, reason: &str) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.fail(CommError::RankFailed {
                rank: self.rank(),
                operation: "its own work".to_owned(),
                reason: reason.to_owned(),
            });
        }
        self.nccl.abort(reason);
    }

    fn received_bytes(&self) -> u64 {
        self.nccl.received_bytes()
    }
}
