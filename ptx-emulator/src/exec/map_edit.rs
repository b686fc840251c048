//! `tensormap`, and the local memory that `alloca` takes.

use super::run::{Outcome, RawFault, Run};
use super::warp_ops::{lanes, read, write};
use crate::error::FaultKind;
use crate::ir::{ALLOCA_BYTES, AccessKind, Address, MapAction, Space};
use crate::observer::EventSink;
use crate::tensor_map::{TENSOR_MAP_BYTES, TensorMap};

/// Bytes that an edit reads or writes at a time.
const PART: u32 = 8;

impl<O: EventSink> Run<'_, '_, O> {
    /// `tensormap.replace` by each lane, or `tensormap.cp_fenceproxy` by the warp as one.
    #[inline(never)]
    pub(super) fn edit_tensor_map(&mut self, index: u32, mask: u32) -> Outcome {
        let edit = &self.program.map_edits[index as usize];
        match &edit.action {
            MapAction::Replace(field, ordinal, value) => {
                for lane in lanes(mask) {
                    let before = self.map_bytes(&edit.map, lane)?;
                    let value = read(&self.r, *value, lane);
                    let after = TensorMap::replaced(&before, *field, *ordinal, value);
                    let after = after.map_err(|message| {
                        Box::new(RawFault {
                            kind: FaultKind::BadTensor(message),
                            lane: Some(lane),
                        })
                    })?;
                    self.write_map(&edit.map, (Some(&before), &after), lane)?;
                }
            }
            MapAction::CopyFrom(from) => {
                let lane = mask.trailing_zeros() as usize % 32;
                let bytes = self.map_bytes(from, lane)?;
                self.write_map(&edit.map, (None, &bytes), lane)?;
            }
        }
        Ok(())
    }

    /// The part of a map that a lane accesses: its space and address.
    fn map_part(
        &mut self,
        map: &Address,
        (kind, at): (AccessKind, usize),
        lane: usize,
    ) -> Result<(Space, u64), Box<RawFault>> {
        let (space, mut addresses) = self.resolve(map, 1 << lane);
        addresses[lane] = addresses[lane].wrapping_add(at as u64);
        self.check(space, addresses[lane], PART, kind, lane)?;
        self.observe(space, kind, PART, (1 << lane, false), &addresses);
        Ok((space, addresses[lane]))
    }

    fn map_bytes(
        &mut self,
        map: &Address,
        lane: usize,
    ) -> Result<[u8; TENSOR_MAP_BYTES], Box<RawFault>> {
        let mut bytes = [0; TENSOR_MAP_BYTES];
        for (at, part) in bytes.chunks_exact_mut(PART as usize).enumerate() {
            let at = at * PART as usize;
            let (space, address) = self.map_part(map, (AccessKind::Load, at), lane)?;
            let value = self.read_memory(space, address, PART, lane, false);
            part.copy_from_slice(&value.to_le_bytes());
        }
        Ok(bytes)
    }

    /// Writes the parts of a map that differ from what was there.
    fn write_map(
        &mut self,
        map: &Address,
        (before, after): (Option<&[u8; TENSOR_MAP_BYTES]>, &[u8; TENSOR_MAP_BYTES]),
        lane: usize,
    ) -> Outcome {
        for (at, part) in after.chunks_exact(PART as usize).enumerate() {
            let at = at * PART as usize;
            if before.is_some_and(|before| before[at..at + PART as usize] == *part) {
                continue;
            }
            let mut value = [0; PART as usize];
            value.copy_from_slice(part);
            let (space, address) = self.map_part(map, (AccessKind::Store, at), lane)?;
            let value = u64::from_le_bytes(value);
            self.write_memory(space, address, PART, lane, value, false);
        }
        Ok(())
    }

    /// `alloca`: the next bytes of the frame that are set apart for it.
    pub(super) fn alloca(&mut self, index: u32, mask: u32) -> Outcome {
        let alloca = &self.program.allocas[index as usize];
        for lane in lanes(mask) {
            let bytes = read(&self.r, alloca.bytes, lane);
            let taken = self.r.regs32[alloca.taken.0 as usize][lane];
            let start = u64::from(taken).next_multiple_of(u64::from(alloca.align));
            let end = start.saturating_add(bytes);
            if end > u64::from(ALLOCA_BYTES) {
                return Err(Box::new(RawFault {
                    kind: FaultKind::StackOverflow,
                    lane: Some(lane),
                }));
            }
            self.r.regs32[alloca.taken.0 as usize][lane] = end as u32;
            let address = u64::from(self.local_base) + u64::from(alloca.start) + start;
            write(&mut self.r, alloca.destination, lane, address);
        }
        Ok(())
    }
}
