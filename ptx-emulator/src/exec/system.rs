//! System calls: `vprintf`, `malloc`, `free` and `__assertfail`.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::Launch;
use super::run::{Outcome, RawFault, Run};
use super::warp_ops::lanes;
use crate::address_space::{RANK_SHIFT, space_of, window};
use crate::error::FaultKind;
use crate::heap::{FreeError, HeapSite};
use crate::ir::{AccessKind, InstructionId, Reg32, Space, SystemFunction};
use crate::observer::EventSink;
use crate::printf;

/// Most bytes of a string that a call reads.
const MAX_TEXT: usize = 1 << 16;

/// Most bytes that a launch prints; what comes behind them is dropped.
pub(super) const MAX_PRINTED: usize = 16 << 20;

/// What the groups of blocks of a launch have printed.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    by_group: BTreeMap<u64, Vec<u8>>,
    /// Of all of them.
    bytes: usize,
}

/// Reads the arguments of one lane's `vprintf`.
struct PrintArguments<'a, 'r, 'l, O> {
    run: &'a Run<'r, 'l, O>,
    at: u64,
    lane: usize,
}

impl<O: EventSink> PrintArguments<'_, '_, '_, O> {
    fn next(&mut self, bytes: u32) -> Result<u64, Box<RawFault>> {
        let address = self.at.checked_next_multiple_of(u64::from(bytes));
        let address = address.unwrap_or(u64::MAX - 7);
        self.at = address.wrapping_add(u64::from(bytes));
        self.run.read_generic(address, bytes, self.lane)
    }
}

impl<O: EventSink> printf::Arguments for PrintArguments<'_, '_, '_, O> {
    type Error = Box<RawFault>;

    fn word(&mut self) -> Result<u32, Self::Error> {
        Ok(self.next(4)? as u32)
    }

    fn double_word(&mut self) -> Result<u64, Self::Error> {
        self.next(8)
    }

    fn text(&mut self, address: u64, limit: usize) -> Result<Vec<u8>, Self::Error> {
        self.run.read_text(address, limit, self.lane)
    }
}

impl<O: EventSink> Run<'_, '_, O> {
    /// A call of a function that the driver provides, lane by lane.
    pub(super) fn system_call(&mut self, index: u32, mask: u32) -> Outcome {
        let program = self.program;
        let call = &program.system_calls[index as usize];
        for lane in lanes(mask) {
            let argument = |at: usize| {
                let word = |Reg32(reg): Reg32| u64::from(self.r.regs32[reg as usize][lane]);
                let high = call.arguments.get(at + 1).copied();
                word(call.arguments[at]) | high.map_or(0, word) << 32
            };
            let result = match call.function {
                SystemFunction::Print => self.print(argument(0), argument(2), lane)?,
                SystemFunction::Allocate => self.allocate(argument(0), lane),
                SystemFunction::Free => {
                    self.free(argument(0), lane)?;
                    0
                }
                SystemFunction::AssertFail => {
                    let line = argument(4) as u32;
                    let (message, file, function) = (argument(0), argument(2), argument(5));
                    return Err(self.assertion(message, (file, line), function, lane));
                }
            };
            for (word, &Reg32(reg)) in call.results.iter().enumerate() {
                self.r.regs32[reg as usize][lane] = (result >> (32 * word)) as u32;
            }
        }
        Ok(())
    }

    /// `vprintf`: the number of arguments, or -1 without a format.
    fn print(&mut self, format: u64, arguments: u64, lane: usize) -> Result<u64, Box<RawFault>> {
        if format == 0 {
            return Ok(u64::from(u32::MAX));
        }
        let format = self.read_text(format, MAX_TEXT, lane)?;
        let mut text = Vec::new();
        let mut arguments = PrintArguments {
            run: self,
            at: arguments,
            lane,
        };
        // By a table of functions: it is compiled once, not for each type of observer.
        let arguments: &mut dyn printf::Arguments<Error = Box<RawFault>> = &mut arguments;
        let count = printf::format(&format, arguments, &mut text)?;
        if self.printed.len() < MAX_PRINTED {
            self.printed.extend_from_slice(&text);
        }
        Ok(u64::from(count))
    }

    fn allocate(&mut self, bytes: u64, lane: usize) -> u64 {
        let Some(launch) = &self.launch.heap_launch else {
            return 0;
        };
        let site = HeapSite {
            launch: launch.clone(),
            instruction: InstructionId(self.info),
            block: self.context.block,
            thread: 32 * self.context.warp + lane as u32,
        };
        self.launch.memory.heap_alloc(bytes, site).unwrap_or(0)
    }

    fn free(&mut self, address: u64, lane: usize) -> Outcome {
        if address == 0 {
            return Ok(());
        }
        let kind = match self.launch.memory.heap_free(address) {
            Ok(()) => return Ok(()),
            Err(FreeError::Freed(bytes)) => FaultKind::DoubleFree { address, bytes },
            Err(FreeError::NoBlock(nearest)) => FaultKind::BadFree { address, nearest },
        };
        Err(Box::new(RawFault {
            kind,
            lane: Some(lane),
        }))
    }

    fn assertion(
        &self,
        message: u64,
        (file, line): (u64, u32),
        function: u64,
        lane: usize,
    ) -> Box<RawFault> {
        let text = |address| {
            let text = match address {
                0 => Ok(Vec::new()),
                _ => self.read_text(address, MAX_TEXT, lane),
            };
            text.map(|text| String::from_utf8_lossy(&text).into_owned())
        };
        let texts = || Ok((text(message)?, text(file)?, text(function)?));
        match texts() {
            Err(fault) => fault,
            Ok((message, file, function)) => Box::new(RawFault {
                kind: FaultKind::Assertion {
                    message,
                    file,
                    line,
                    function,
                },
                lane: Some(lane),
            }),
        }
    }

    /// A value of 1, 4 or 8 bytes at a generic address.
    pub(super) fn read_generic(
        &self,
        address: u64,
        bytes: u32,
        lane: usize,
    ) -> Result<u64, Box<RawFault>> {
        let mut space = space_of(address);
        let base = match (space, window(space)) {
            (Space::Shared | Space::Local | Space::Param, Some((base, _))) => base,
            _ => 0,
        };
        let mut address = address - base;
        if space == Space::Shared && address >> RANK_SHIFT != 0 {
            space = Space::Cluster;
            address = self.launch.resolve_cluster(address, self.context.rank);
        }
        self.check(space, address, bytes, AccessKind::Load, lane)?;
        Ok(self.read_memory(space, address, bytes, lane, false))
    }

    /// The bytes in front of the zero at the end of a string.
    fn read_text(&self, address: u64, limit: usize, lane: usize) -> Result<Vec<u8>, Box<RawFault>> {
        let mut text = Vec::new();
        while text.len() < limit.min(MAX_TEXT) {
            let at = address.wrapping_add(text.len() as u64);
            match self.read_generic(at, 1, lane)? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}

impl Launch<'_> {
    /// Keeps what a group of blocks has printed. Of more than [`MAX_PRINTED`] bytes, those of the
    /// first groups are kept.
    pub(super) fn keep_printed(&self, group: u64, text: Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let Printed { by_group, bytes } = &mut *printed;
        *bytes += text.len();
        by_group.insert(group, text);
        while let Some(last) = by_group.last_entry()
            && *bytes - last.get().len() >= MAX_PRINTED
        {
            *bytes -= last.remove().len();
        }
    }

    /// What the groups up to the first one that failed have printed, in their order.
    pub(super) fn all_printed(&self, failed: Option<u64>) -> Vec<u8> {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let until = printed.by_group.range(..=failed.unwrap_or(u64::MAX));
        let mut all: Vec<u8> = until.flat_map(|(_, text)| text).copied().collect();
        if all.len() >= MAX_PRINTED {
            all.truncate(MAX_PRINTED);
            all.extend_from_slice(b"\n(the launch printed more than is kept)\n");
        }
        all
    }
}
