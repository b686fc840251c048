//! Where variables in shared and in local memory lie.

use super::Builder;
use crate::decode::modifiers::Failure;
use crate::decode::scope::Binding;
use crate::ir::{
    Address, AddressBase, Constant, Op, Program, Reg32, Register, SharedVariable, Space, Special,
    Store,
};
use crate::memory::MAX_LOCAL_BYTES;
use ptx_syntax::ast::Variable;

impl Builder<'_, '_> {
    /// Allocates a variable in shared memory and returns what its name refers to.
    pub(crate) fn place_shared(&mut self, variable: &Variable) -> Result<Binding, Failure> {
        place_shared(self.program, variable, self.text)
    }

    /// Allocates a variable in the function's local memory.
    pub(crate) fn place_local(&mut self, variable: &Variable) -> Result<Binding, Failure> {
        let offset = self.place_local_bytes(variable.bytes, variable.align.max(1))?;
        Ok(Binding::Local { offset })
    }

    /// Stores words in the function's local memory, and returns what their name refers to.
    pub(crate) fn store_words(&mut self, words: &[Reg32], align: u32) -> Result<Binding, Failure> {
        let offset = self.place_local_bytes(4 * words.len() as u64, align.max(4))?;
        for (at, &word) in words.iter().enumerate() {
            self.program.stores.push(Store {
                address: Address {
                    space: Space::Local,
                    base: AddressBase::Frame,
                    offset: i64::from(offset) + 4 * at as i64,
                    offsets: 0,
                    has_rank: false,
                },
                bytes: 4,
                sources: vec![Register::Reg32(word)],
                strong: false,
                whole: false,
                plain: true,
                release: false,
            });
            self.emit(Op::Store(self.program.stores.len() as u32 - 1));
        }
        Ok(Binding::Local { offset })
    }

    /// Takes bytes of the function's local memory.
    pub(crate) fn place_local_bytes(&mut self, bytes: u64, align: u32) -> Result<u32, Failure> {
        let offset = u64::from(self.local_bytes).next_multiple_of(u64::from(align));
        let end = offset.saturating_add(bytes);
        if end > MAX_LOCAL_BYTES {
            return Err(format!(
                "local variables take {end} bytes, more than the {} of a thread",
                MAX_LOCAL_BYTES
            )
            .into());
        }
        self.local_bytes = end as u32;
        Ok(offset as u32)
    }
}

/// Groups of several warps have words of eight bytes there.
const RESERVED_ALIGN: u32 = 128;

/// Adds the shared memory that the system reserves, if the kernel asks where it is. Devices since
/// compute capability 8.0 have it in each block, and groups of several warps meet there.
pub(crate) fn reserve_shared(program: &mut Program) {
    program.own_shared = program.static_shared;
    let is_wanted =
        |constant: Constant| matches!(constant, Constant::Special(Special::ReservedShared(_)));
    let is_read = program.functions.iter().any(|function| {
        let in_words = function.constants32.iter().any(|of| is_wanted(of.1));
        in_words || function.constants64.iter().any(|of| is_wanted(of.1))
    });
    if !is_read {
        return;
    }
    let bytes = u32::from(crate::RESERVED_SHARED_BYTES);
    let offset = program.static_shared.next_multiple_of(RESERVED_ALIGN);
    program.static_shared = offset + bytes;
    program.reserved_shared = Some(offset);
    program.shared.push(SharedVariable {
        name: "reserved shared memory".to_string(),
        offset,
        bytes,
    });
}

/// Gives a shared variable its offset after the earlier ones.
pub(crate) fn place_shared(
    program: &mut Program,
    variable: &Variable,
    text: &str,
) -> Result<Binding, Failure> {
    if variable.bytes == 0 {
        program.dynamic_align = program.dynamic_align.max(variable.align);
        return Ok(Binding::DynamicShared);
    }
    let offset =
        u64::from(program.static_shared).next_multiple_of(u64::from(variable.align.max(1)));
    let end = offset + variable.bytes;
    if end > u64::from(crate::MAX_SHARED_BYTES) {
        return Err(format!(
            "static shared memory takes {end} bytes, more than the {} of a block",
            crate::MAX_SHARED_BYTES
        )
        .into());
    }
    program.static_shared = end as u32;
    program.shared.push(SharedVariable {
        name: variable.name.of(text).to_string(),
        offset: offset as u32,
        bytes: variable.bytes as u32,
    });
    Ok(Binding::Shared {
        offset: offset as u32,
    })
}
