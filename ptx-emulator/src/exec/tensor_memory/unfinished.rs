//! For observers: operations on words of tensor memory that another operation has not finished
//! with. An mbarrier tells of MMAs and copies, `tcgen05.wait` of loads and stores.

use super::columns::TensorAddress;
use super::moves;
use super::queue::{Issued, Work};
use super::shape::bands;
use crate::exec::block::Worker;
use crate::ir::{InstructionId, TensorMove};
use crate::observer::{Event, EventSink};

/// A load or store that no `tcgen05.wait` of its warp has followed.
#[derive(Debug)]
pub(super) struct UnfinishedMove {
    pub(super) warp: usize,
    pub(super) stores: bool,
    info: u32,
    reach: Reach,
}

/// Words of tensor memory: lanes, and columns of them.
#[derive(Clone, Debug)]
struct Reach {
    lanes: (u32, u32),
    columns: Vec<(u32, u32)>,
}

impl Reach {
    fn of_move(moved: &TensorMove, at: TensorAddress) -> Self {
        let areas = moves::areas(moved, at).into_iter();
        Reach {
            lanes: (at.lane, moves::lanes(moved.shape)),
            columns: areas.map(|(at, count)| (at.column, count)).collect(),
        }
    }

    fn meets(&self, lanes: (u32, u32), columns: (u32, u32)) -> bool {
        let cross = |(a, of_a): (u32, u32), (b, of_b): (u32, u32)| a < b + of_b && b < a + of_a;
        let in_columns = |&own: &(u32, u32)| cross(own, columns);
        cross(self.lanes, lanes) && self.columns.iter().any(in_columns)
    }

    fn meets_other(&self, other: &Reach) -> bool {
        let of_other = |&columns: &(u32, u32)| self.meets(other.lanes, columns);
        other.columns.iter().any(of_other)
    }

    /// Whether an operation writes these words, or reads them and a move stores to them.
    fn meets_issued(&self, stores: bool, issued: &Issued) -> bool {
        match &issued.work {
            Work::Mma(product) => {
                let form = (issued.pair, product.stationary, product.metadata.is_some());
                let bands = bands(&product.shape, form, product.d.lane).unwrap_or_default();
                bands.iter().any(|band| {
                    let rows = (band.lane, band.rows);
                    let a = product.a_place.filter(|_| stores);
                    let columns_of_a = product.shape.depth / product.shape.inputs[0].packed();
                    self.meets(rows, (product.d.column, band.columns))
                        || a.is_some_and(|a| self.meets(rows, (a.column, columns_of_a)))
                })
            }
            Work::Copy(copy) => self.meets((0, 128), (copy.place.column, copy.bytes / 4)),
            Work::Commit(_) => false,
        }
    }
}

/// An operation that is not complete, and its thread.
struct Unfinished {
    info: u32,
    rank: u32,
    warp: usize,
    lane: usize,
}

impl<O: EventSink> Worker<'_, '_, O> {
    /// A warp is about to move words.
    pub(super) fn observe_move(
        &mut self,
        index: usize,
        moved: &TensorMove,
        at: TensorAddress,
        info: u32,
    ) {
        let stores = moved.stores;
        let rank = self.rank;
        let unfinished = |info: u32| Unfinished {
            info,
            rank,
            warp: index,
            lane: 0,
        };
        let reach = Reach::of_move(moved, at);
        let own = self.tensor.iter().flat_map(|tensor| &tensor.moves);
        // Loads do not disturb each other.
        let before = own
            .filter(|other| other.warp == index && (stores || other.stores))
            .find(|other| other.reach.meets_other(&reach));
        let found = match before {
            Some(other) => Some(unfinished(other.info)),
            None => self.unfinished_issue(&reach, stores),
        };
        if let Some(other) = found {
            self.notify_conflict((index, 0), info, other);
        }
        self.tensor_mut().moves.push(UnfinishedMove {
            warp: index,
            stores,
            info,
            reach,
        });
    }

    /// An MMA or a copy that has not ended, of this block or of a pair.
    fn unfinished_issue(&self, reach: &Reach, stores: bool) -> Option<Unfinished> {
        let peer = self.peers.get((self.rank ^ 1) as usize);
        let of_peer = peer.and_then(|peer| peer.tensor.as_ref()).into_iter();
        let of_peer = of_peer.flat_map(|tensor| &tensor.queue);
        let of_peer = of_peer.filter(|issued| issued.pair);
        let own = self.tensor.iter().flat_map(|tensor| &tensor.queue);
        let own = own.map(|issued| (self.rank, issued));
        let all = own.chain(of_peer.map(|issued| (self.rank ^ 1, issued)));
        let mut met = all.filter(|(_, issued)| reach.meets_issued(stores, issued));
        met.next().map(|(rank, issued)| Unfinished {
            info: issued.reads.info,
            rank,
            warp: issued.reads.warp,
            lane: issued.reads.lane,
        })
    }

    /// A thread has issued an MMA or a copy.
    pub(super) fn observe_issue(&mut self, issued: &Issued) {
        let own = self.tensor.iter().flat_map(|tensor| &tensor.moves);
        let own = own.map(|moved| (self.rank, moved));
        let peer = self.peers.get((self.rank ^ 1) as usize);
        let of_peer = peer.filter(|_| issued.pair);
        let of_peer = of_peer.and_then(|peer| peer.tensor.as_ref()).into_iter();
        let of_peer = of_peer.flat_map(|tensor| &tensor.moves);
        let mut all = own.chain(of_peer.map(|moved| (self.rank ^ 1, moved)));
        let met = all.find(|(_, moved)| moved.reach.meets_issued(moved.stores, issued));
        let Some((rank, moved)) = met else { return };
        let other = Unfinished {
            info: moved.info,
            rank,
            warp: moved.warp,
            lane: 0,
        };
        let reads = &issued.reads;
        self.notify_conflict((reads.warp, reads.lane), reads.info, other);
    }

    fn notify_conflict(&mut self, (warp, lane): (usize, usize), info: u32, other: Unfinished) {
        let context = self.context(warp);
        let event = Event::TensorConflict {
            warp: &context,
            lane: lane as u32,
            id: InstructionId(info),
            other: InstructionId(other.info),
            block: self.block_of(other.rank),
            thread: (32 * other.warp + other.lane) as u32,
        };
        self.observer.notify(event);
    }
}
