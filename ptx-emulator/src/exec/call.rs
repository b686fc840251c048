//! Calls, returns and indexed branches.

use super::block::Worker;
use super::run::{Outcome, RawFault};
use super::vector::LANES;
use super::warp_ops::lanes;
use crate::address_space;
use crate::error::FaultKind;
use crate::ir::{Call, CallTarget, Calls, InstructionId, Terminator};
use crate::observer::{Event, EventSink, WarpContext};

impl<O: EventSink> Worker<'_, '_, O> {
    /// The calls that lead to the function of a frame of a warp.
    pub(super) fn calls(&self, index: usize, frame: u32) -> Calls {
        let frames = &self.warps[index].frames;
        let blocks = &self.program().blocks;
        let mut at = frame;
        Calls::of(std::iter::from_fn(|| {
            let frame = frames.get(at as usize).filter(|_| at != 0)?;
            at = frame.parent;
            let info = blocks[frame.call_block as usize].terminator_info;
            Some(info.unwrap_or(u32::MAX))
        }))
    }

    /// `ret`: back to the caller with the results; from the kernel itself it ends the threads.
    pub(super) fn return_from_call(&mut self, index: usize, at: usize) {
        let program = self.program();
        let warp = &mut self.warps[index];
        let split = warp.splits[at];
        if split.frame == 0 {
            return self.exit(index, at);
        }
        let frame = warp.frames[split.frame as usize];
        let caller = warp.frames[frame.parent as usize];
        let callee = &program.functions[frame.function as usize];
        if let Terminator::Call(call) = &program.blocks[frame.call_block as usize].terminator {
            for (&from, &to) in callee.results.iter().zip(&call.results) {
                let value = warp.regs32[frame.regs32 + from.0 as usize];
                let to = &mut warp.regs32[caller.regs32 + to.0 as usize];
                for lane in lanes(split.mask) {
                    to[lane] = value[lane];
                }
            }
            warp.splits[at].block = call.next;
        }
        warp.splits[at].frame = frame.parent;
        warp.pop_frames();
    }

    /// `brx.idx`: one split per target.
    pub(super) fn switch(
        &mut self,
        index: usize,
        at: usize,
        index_register: u32,
        targets: &[u32],
        info: Option<u32>,
    ) -> Outcome {
        let warp = &mut self.warps[index];
        let all = warp.splits[at].mask;
        let frame = warp.frames[warp.splits[at].frame as usize];
        let values = warp.regs32[frame.regs32 + index_register as usize];
        // Where the first lane goes, and the lanes that go there too.
        let mut taken = (None, 0);
        for part in warp.partition(at, &values) {
            let split = &mut warp.splits[part];
            let first = split.mask.trailing_zeros() as usize % LANES;
            let Some(&block) = targets.get(values[first] as usize) else {
                return Err(Box::new(RawFault {
                    kind: FaultKind::BadBranchIndex(values[first]),
                    lane: Some(first),
                }));
            };
            split.block = block;
            if *taken.0.get_or_insert(block) == block {
                taken.1 |= split.mask;
            }
        }
        if let Some(info) = info {
            let context = WarpContext {
                kernel: self.launch.kernel,
                block: self.block,
                warp: index as u32,
                rank: self.rank,
                calls: Calls::NONE,
            };
            self.observer.notify(Event::Branch {
                warp: &context,
                id: InstructionId(info),
                taken: taken.1,
                not_taken: all & !taken.1,
            });
        }
        Ok(())
    }

    /// A call: one frame per function that the lanes call.
    pub(super) fn call(&mut self, index: usize, at: usize, block: u32, call: &Call) -> Outcome {
        let split = self.warps[index].splits[at];
        let first = split.mask.trailing_zeros() as usize % LANES;
        match &call.target {
            CallTarget::Function(function) => self.enter(index, at, block, *function, call),
            CallTarget::External(name) => Err(Box::new(RawFault {
                kind: FaultKind::ExternalCall(name.clone()),
                lane: Some(first),
            })),
            CallTarget::Indirect(address) => {
                let warp = &mut self.warps[index];
                let frame = warp.frames[split.frame as usize];
                let targets = warp.regs64[frame.regs64 + address.0 as usize];
                for part in warp.partition(at, &targets) {
                    let lane =
                        self.warps[index].splits[part].mask.trailing_zeros() as usize % LANES;
                    let function = self.function_at(targets[lane], call).ok_or_else(|| {
                        Box::new(RawFault {
                            kind: FaultKind::BadCall(targets[lane]),
                            lane: Some(lane),
                        })
                    })?;
                    self.enter(index, part, block, function, call)?;
                }
                Ok(())
            }
        }
    }

    /// The function at an address, where its parameters fit the call.
    pub(super) fn function_at(&self, address: u64, call: &Call) -> Option<u32> {
        let program = self.program();
        let named = u32::try_from(address_space::function_at(address)?).ok()?;
        let function = program.addresses.get(&named).copied();
        function.filter(|&function| {
            let callee = &program.functions[function as usize];
            callee.params.len() == call.arguments.len()
                && callee.results.len() == call.results.len()
        })
    }

    pub(super) fn enter(
        &mut self,
        index: usize,
        at: usize,
        block: u32,
        function: u32,
        call: &Call,
    ) -> Outcome {
        let callee = &self.program().functions[function as usize];
        let warp = &mut self.warps[index];
        let split = warp.splits[at];
        let frame = warp.push_frame(self.launch, split.frame, function, block, self.block)?;
        let from_base = warp.frames[split.frame as usize].regs32;
        let to_base = warp.frames[frame as usize].regs32;
        for (&from, &to) in call.arguments.iter().zip(&callee.params) {
            warp.regs32[to_base + to.0 as usize] = warp.regs32[from_base + from.0 as usize];
        }
        let split = &mut warp.splits[at];
        split.frame = frame;
        split.block = callee.entry;
        Ok(())
    }
}
