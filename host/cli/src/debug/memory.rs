//! Elements of shared and of global memory.

use super::command::{Base, Elements, Format, Space};
use super::debugger::{Debugger, State};
use super::value;
use warpladder_lab::emulate::Scalar;

impl Debugger {
    /// Prints elements of memory.
    pub(super) fn print(
        &mut self,
        elements: &Elements,
        format: Option<Format>,
        state: State<'_>,
    ) -> Result<(), String> {
        let (address, element) = self.locate(elements, state)?;
        let bytes = self.bytes(elements, (address, element), state)?;
        let cells = bytes.chunks(element.bytes());
        let cells = cells.map(|bytes| value::show(bytes, element, format));
        let cells = cells.collect::<Result<Vec<String>, String>>()?;
        let text = &elements.text;
        match &cells[..] {
            [one] => self.say(&format!("{text} = {one}")),
            all => {
                let rows = value::rows("", elements.first, all);
                self.say(&format!("{text}, {element}:\n{rows}"));
            }
        }
        Ok(())
    }

    /// The address of the first element, and the type of all.
    pub(super) fn locate(
        &self,
        elements: &Elements,
        state: State<'_>,
    ) -> Result<(u64, Scalar), String> {
        let base = match &elements.base {
            Base::Start => 0,
            Base::Address(address) => *address,
            Base::Register(name) => {
                let (rank, group) = self.group(state.paused()?)?;
                let (warp, lane) = (self.focus.warp, self.focus.lane);
                let found = state.paused()?.register(rank, warp, &group, name);
                let found = found.ok_or_else(|| format!("there is no register {name} here"))?;
                let value = found.lane(lane);
                value.ok_or_else(|| format!("lane {lane} has not written {name}"))?
            }
            Base::Param(index) => self.pointer(usize::try_from(*index).ok(), state, index)?,
            Base::Name(name) if elements.space == Space::Shared => {
                let mut known = state.kernel.shared_variables();
                let found = known.find(|(variable, ..)| variable == name);
                let missing = || format!("there is no shared variable {name:?}: see info shared");
                u64::from(found.ok_or_else(missing)?.1)
            }
            Base::Name(name) => {
                let params = state.kernel.params();
                let index = params.iter().position(|param| param.name == *name);
                self.pointer(index, state, name)?
            }
        };
        let known = self.arrays.iter().find(|(address, _)| *address == base);
        let known = known.filter(|_| elements.space == Space::Global);
        let known = known.map_or(Scalar::F32, |(_, element)| *element);
        let element = elements.element.unwrap_or(known);
        let offset = elements.first.checked_mul(element.bytes() as u64);
        let address = offset.and_then(|offset| base.checked_add(offset));
        let address = address.ok_or_else(|| format!("{} lies behind all memory", elements.text))?;
        Ok((address, element))
    }

    /// The value of a parameter that is a pointer.
    fn pointer(
        &self,
        index: Option<usize>,
        state: State<'_>,
        name: &dyn std::fmt::Display,
    ) -> Result<u64, String> {
        let params = state.kernel.params();
        let param = index.and_then(|index| params.get(index)).ok_or_else(|| {
            let count = params.len();
            format!("there is no parameter {name}: the kernel has {count}, see info launch")
        })?;
        let at = param.offset as usize;
        let bytes = self.params.get(at..at + param.bytes as usize);
        let bytes: Option<[u8; 8]> = bytes.and_then(|bytes| bytes.try_into().ok());
        let value = bytes.map(u64::from_le_bytes);
        value.ok_or_else(|| format!("parameter {name} has {} bytes, no pointer", param.bytes))
    }

    /// The bytes of elements.
    pub(super) fn bytes(
        &self,
        elements: &Elements,
        (address, element): (u64, Scalar),
        state: State<'_>,
    ) -> Result<Vec<u8>, String> {
        // At most 1024 elements of 8 bytes.
        let mut bytes = vec![0; element.bytes() * elements.count as usize];
        if elements.space == Space::Global {
            let read = state.memory.read(address, &mut bytes);
            return match read {
                Ok(()) => Ok(bytes),
                Err(error) => Err(format!("{}: {error}", elements.text)),
            };
        }
        let paused = state.paused()?;
        let rank = self.rank(paused)?;
        for (at, byte) in (0..).zip(&mut bytes) {
            let at = address
                .checked_add(at)
                .and_then(|at| u32::try_from(at).ok());
            let found = at.and_then(|at| paused.shared_byte(rank, at));
            *byte = found.ok_or_else(|| {
                let size = paused.shared_bytes();
                format!(
                    "{} lies outside of the {size} bytes of shared memory",
                    elements.text
                )
            })?;
        }
        Ok(bytes)
    }
}
