//! Operands: registers, constants, special registers, symbols and addresses.

use std::borrow::Cow;

use super::builder::{Builder, is_reg32};
use super::modifiers::Failure;
use super::scope::Binding;
use crate::ir::{
    Address, AddressBase, Binary, Comparison, Constant, Half, LaneMask, Op, Predicate, Reg32,
    Reg64, Register, Space, Special,
};
use ptx_syntax::ast::{Elements, Operand, Span, Type};

impl<'p> Builder<'_, 'p> {
    pub(super) fn elements(&self, (first, end): Elements) -> &'p [Operand] {
        &self.elements[first as usize..end as usize]
    }

    /// The elements of a vector operand, or the operand itself.
    pub(super) fn parts<'o>(&mut self, operand: &'o Operand) -> Cow<'o, [Operand]>
    where
        'p: 'o,
    {
        match operand {
            Operand::Vector(elements) => Cow::Borrowed(self.elements(*elements)),
            // `%tid` as a whole: its components.
            Operand::Name(name) if is_special_vector(name.of(self.text)) => {
                let components = (0..4).map(|at| Operand::Component(*name, at));
                Cow::Owned(components.collect())
            }
            Operand::Name(name) if self.has_vectors => match self.lookup(name.of(self.text)) {
                Ok(Some(Binding::Vector(registers, _))) => {
                    let components = 0..registers.len() as u32;
                    let components = components.map(|at| Operand::Component(*name, at));
                    Cow::Owned(components.collect())
                }
                _ => Cow::Borrowed(std::slice::from_ref(operand)),
            },
            other => Cow::Borrowed(std::slice::from_ref(other)),
        }
    }

    /// The register of an element of a vector.
    fn component(&mut self, name: Span, at: u32) -> Result<(Register, Type), Failure> {
        let text = name.of(self.text);
        if let Some(special) = special_component(text, at as usize)
            && self.lookup(text)?.is_none()
        {
            let register = self.constant(Constant::Special(special), Type::U32)?;
            return Ok((register, Type::U32));
        }
        match self.resolve(name)? {
            Binding::Vector(registers, ty) => match registers.get(at as usize) {
                Some(&register) => Ok((register, ty)),
                None => Err("this vector has fewer elements".into()),
            },
            _ => Err(format!("`{}` is not a vector", name.of(self.text)).into()),
        }
    }

    /// An operand that is read, in a register of the type's width.
    pub(crate) fn source(&mut self, operand: &Operand, ty: Type) -> Result<Register, Failure> {
        let register = self.source_any(operand, ty)?;
        self.check_width(register, operand, ty)?;
        Ok(register)
    }

    fn check_width(
        &mut self,
        register: Register,
        operand: &Operand,
        ty: Type,
    ) -> Result<(), Failure> {
        let fits = match register {
            Register::Predicate(_) => ty == Type::Pred,
            Register::Reg32(_) => is_reg32(ty),
            Register::Reg64(_) => !is_reg32(ty) && ty != Type::Pred && ty != Type::B128,
        };
        let is_half = matches!(register, Register::Reg32(_)) && self.is_half_as_wide(operand, ty);
        if fits && !is_half {
            return Ok(());
        }
        let name = match operand {
            Operand::Name(name) => name.of(self.text),
            _ => "operand",
        };
        let wanted = match ty {
            Type::Pred => "a predicate".to_string(),
            _ => format!("{} bits", 8 * ty.bytes()),
        };
        Err(format!("`{name}` is not as wide as the instruction's type ({wanted})").into())
    }

    /// Whether one of a register and a type has 16 bits and the other one 32: both are held in
    /// words.
    fn is_half_as_wide(&mut self, operand: &Operand, ty: Type) -> bool {
        let &Operand::Name(name) = operand else {
            return false;
        };
        let text = name.of(self.text);
        let declared = match (self.lookup_numbered(text), self.lookup(text)) {
            (Ok(Some((_, declared))), _) => declared,
            (_, Ok(Some(Binding::Register(_, declared)))) => declared,
            _ => return false,
        };
        matches!((declared.bytes(), ty.bytes()), (2, 4) | (4, 2))
    }

    /// An operand that is read; a register may have another width than the type.
    pub(crate) fn source_any(&mut self, operand: &Operand, ty: Type) -> Result<Register, Failure> {
        match *operand {
            Operand::Integer(bits) => self.constant(Constant::Bits(bits), ty),
            Operand::Float32(bits) => match ty {
                Type::F64 => {
                    let wide = f64::from(f32::from_bits(bits)).to_bits();
                    self.constant(Constant::Bits(wide), ty)
                }
                _ => self.constant(Constant::Bits(u64::from(bits)), ty),
            },
            Operand::Float64(bits) => match ty {
                Type::F32 => {
                    let narrow = (f64::from_bits(bits) as f32).to_bits();
                    self.constant(Constant::Bits(u64::from(narrow)), ty)
                }
                _ => self.constant(Constant::Bits(bits), ty),
            },
            Operand::Name(name) => self.named_source(name, ty),
            Operand::Component(name, at) => Ok(self.component(name, at)?.0),
            Operand::NameOffset(name, offset) => match self.lookup(name.of(self.text))? {
                Some(Binding::Register(register, _)) => self.sum(register, offset),
                _ => self.symbol(name, offset, ty),
            },
            Operand::Element(name, index) => {
                let offset = self.element_offset(name, index)?;
                self.symbol(name, offset, ty)
            }
            Operand::IndexedElement {
                array,
                register,
                index,
            } => {
                let element = self.indexed_element(array, register)?;
                let element = match is_reg32(ty) {
                    true => self.low_half(Register::Reg64(element)),
                    false => Register::Reg64(element),
                };
                self.sum(element, self.element_offset(array, index)?)
            }
            Operand::Not(name) => {
                let predicate = self.predicate(name)?;
                let negated = self.new_predicate();
                self.emit_unguarded(Op::PredicateNot(negated, predicate));
                Ok(Register::Predicate(negated))
            }
            // A constant in parentheses.
            Operand::List(elements) => match self.elements(elements) {
                [Operand::Integer(bits)] => self.constant(Constant::Bits(*bits), ty),
                _ => Err("this operand cannot be read".into()),
            },
            _ => Err("this operand cannot be read".into()),
        }
    }

    /// A register plus a constant, as an operand.
    fn sum(&mut self, register: Register, addend: i64) -> Result<Register, Failure> {
        let bits = Constant::Bits(addend as u64);
        match register {
            Register::Reg32(register) => {
                let sum = self.new_reg32();
                let addend = self.reg32_constant(Constant::Bits(addend as u64 & 0xffff_ffff));
                self.emit_unguarded(Op::Binary32(Binary::Add, sum, register, addend));
                Ok(Register::Reg32(sum))
            }
            Register::Reg64(register) => {
                let sum = self.new_reg64();
                let addend = self.reg64_constant(bits);
                self.emit_unguarded(Op::Binary64(Binary::Add, sum, register, addend));
                Ok(Register::Reg64(sum))
            }
            Register::Predicate(_) => Err("nothing can be added to a predicate".into()),
        }
    }

    fn named_source(&mut self, name: Span, ty: Type) -> Result<Register, Failure> {
        let text = name.of(self.text);
        if let Some((register, _)) = self.lookup_numbered(text)? {
            return Ok(register);
        }
        if let Some(Binding::Register(register, _)) = self.lookup(text)? {
            return Ok(register);
        }
        if let Some(special) = special_register(text) {
            if ty == Type::Pred {
                return self.special_predicate(special);
            }
            let wide = Type::U64 == ty || ty == Type::B64 || ty == Type::S64;
            return self.constant(
                Constant::Special(special),
                if wide { Type::U64 } else { Type::U32 },
            );
        }
        if text == "WARP_SZ" && self.lookup(text)?.is_none() {
            return self.constant(Constant::Bits(32), ty);
        }
        self.symbol(name, 0, ty)
    }

    /// A special register that is a predicate.
    fn special_predicate(&mut self, special: Special) -> Result<Register, Failure> {
        if special != Special::IsExplicitCluster {
            return Err("this special register is no predicate".into());
        }
        let reg = self.reg32_constant(Constant::Special(special));
        let zero = self.reg32_constant(Constant::Bits(0));
        let predicate = self.new_predicate();
        self.emit_unguarded(Op::Compare32(Comparison::Equal, true, predicate, reg, zero));
        Ok(Register::Predicate(predicate))
    }

    /// The state-space address of a symbol.
    pub(crate) fn symbol(
        &mut self,
        name: Span,
        addend: i64,
        ty: Type,
    ) -> Result<Register, Failure> {
        match self.resolve(name)? {
            Binding::Shared { offset } if self.program.has_ranks => {
                let offset = i64::from(offset).wrapping_add(addend);
                self.constant(Constant::OwnShared(false, offset), ty)
            }
            Binding::DynamicShared if self.program.has_ranks => {
                self.constant(Constant::OwnShared(true, addend), ty)
            }
            Binding::Shared { offset } => {
                let bits = (i64::from(offset).wrapping_add(addend)) as u64;
                self.constant(Constant::Bits(bits), ty)
            }
            Binding::DynamicShared => self.constant(Constant::DynamicShared(addend), ty),
            Binding::Variable(index, start) => {
                let addend = addend.wrapping_add_unsigned(start);
                self.constant(Constant::Variable(index, addend), ty)
            }
            Binding::KernelParam { offset, .. } => {
                let bits = crate::address_space::PARAM_BASE
                    .wrapping_add(u64::from(offset))
                    .wrapping_add_signed(addend);
                self.constant(Constant::Bits(bits), ty)
            }
            Binding::Function(index) => {
                self.indirect = true;
                self.constant(
                    Constant::Bits(crate::address_space::code_address(index)),
                    ty,
                )
            }
            Binding::Local { offset } => {
                let address = self.new_reg64();
                let offset = i64::from(offset).wrapping_add(addend) as u32;
                self.emit_unguarded(Op::LocalAddress(address, offset));
                match is_reg32(ty) {
                    false => Ok(Register::Reg64(address)),
                    true => {
                        let low = self.new_reg32();
                        self.emit_unguarded(Op::Narrow(low, address));
                        Ok(Register::Reg32(low))
                    }
                }
            }
            _ => Err(format!("`{}` has no address", name.of(self.text)).into()),
        }
    }

    pub(crate) fn reg32(&mut self, operand: &Operand, ty: Type) -> Result<Reg32, Failure> {
        match self.source(operand, ty)? {
            Register::Reg32(reg) => Ok(reg),
            _ => Err("expected a 32-bit operand".into()),
        }
    }

    pub(crate) fn reg64(&mut self, operand: &Operand, ty: Type) -> Result<Reg64, Failure> {
        match self.source(operand, ty)? {
            Register::Reg64(reg) => Ok(reg),
            _ => Err("expected a 64-bit operand".into()),
        }
    }

    /// A predicate operand, `p` or `!p`.
    pub(crate) fn predicate_source(&mut self, operand: &Operand) -> Result<Predicate, Failure> {
        match self.source(operand, Type::Pred)? {
            Register::Predicate(predicate) => Ok(predicate),
            _ => Err("expected a predicate".into()),
        }
    }

    /// An operand that is written, in a register of the type's width.
    pub(crate) fn destination(&mut self, operand: &Operand, ty: Type) -> Result<Register, Failure> {
        match operand {
            Operand::Sink => self.new_register(ty),
            Operand::Component(name, at) => {
                let (register, _) = self.component(*name, *at)?;
                self.check_width(register, operand, ty)?;
                Ok(register)
            }
            Operand::Name(name) => {
                let (register, _) = self.register(*name)?;
                self.check_width(register, operand, ty)?;
                Ok(register)
            }
            _ => Err("this operand cannot be written".into()),
        }
    }

    /// An operand that is written, whatever its width: the register and its bits.
    pub(crate) fn destination_any(
        &mut self,
        operand: &Operand,
        ty: Type,
    ) -> Result<(Register, u32), Failure> {
        match operand {
            Operand::Sink => Ok((self.new_register(ty)?, 8 * ty.bytes())),
            Operand::Component(name, at) => {
                let (register, declared) = self.component(*name, *at)?;
                Ok((register, 8 * declared.bytes()))
            }
            Operand::Name(name) => {
                let (register, declared) = self.register(*name)?;
                Ok((register, 8 * declared.bytes()))
            }
            _ => Err("this operand cannot be written".into()),
        }
    }

    pub(crate) fn reg32_destination(&mut self, operand: &Operand) -> Result<Reg32, Failure> {
        match self.destination(operand, Type::B32)? {
            Register::Reg32(reg) => Ok(reg),
            _ => Err("expected a 32-bit register".into()),
        }
    }

    pub(crate) fn reg64_destination(&mut self, operand: &Operand) -> Result<Reg64, Failure> {
        match self.destination(operand, Type::B64)? {
            Register::Reg64(reg) => Ok(reg),
            _ => Err("expected a 64-bit register".into()),
        }
    }

    pub(crate) fn predicate_destination(
        &mut self,
        operand: &Operand,
    ) -> Result<Predicate, Failure> {
        match self.destination(operand, Type::Pred)? {
            Register::Predicate(predicate) => Ok(predicate),
            _ => Err("expected a predicate register".into()),
        }
    }

    /// Whether an address in a space has the rank of the block, whose own it is.
    fn has_rank(&self, space: Space) -> bool {
        self.program.has_ranks && space == Space::Shared
    }

    /// `[base+offset]`
    pub(crate) fn address(&mut self, operand: &Operand, space: Space) -> Result<Address, Failure> {
        let (base, offset) = match *operand {
            Operand::Address { base, offset } => (base, offset),
            Operand::Element(name, index) => (Some(name), self.element_offset(name, index)?),
            Operand::IndexedElement {
                array,
                register,
                index,
            } => {
                let base = AddressBase::Reg64(self.indexed_element(array, register)?);
                let space = own_space(space, &self.resolve(array)?);
                let offset = self.element_offset(array, index)?;
                return Ok(Address {
                    space,
                    base,
                    offset,
                    offsets: 0,
                    has_rank: self.has_rank(space),
                });
            }
            _ => return Err("expected an address in brackets".into()),
        };
        let has_rank = self.has_rank(space);
        let plain = |base, offset| Address {
            space,
            base,
            offset,
            offsets: 0,
            has_rank,
        };
        let Some(name) = base else {
            return Ok(plain(AddressBase::None, offset));
        };
        if let Some((Register::Reg64(reg), _)) = self.lookup_numbered(name.of(self.text))? {
            return Ok(plain(AddressBase::Reg64(reg), offset));
        }
        let binding = self.resolve(name)?;
        let space = own_space(space, &binding);
        let has_rank = self.has_rank(space);
        let plain = |base, offset| Address {
            space,
            base,
            offset,
            offsets: 0,
            has_rank,
        };
        Ok(match binding {
            Binding::Register(Register::Reg32(reg), _) => plain(AddressBase::Reg32(reg), offset),
            Binding::Register(Register::Reg64(reg), _) => plain(AddressBase::Reg64(reg), offset),
            Binding::Local { offset: place } => {
                plain(AddressBase::Frame, offset.wrapping_add(i64::from(place)))
            }
            Binding::Shared { offset: place } => {
                plain(AddressBase::None, offset.wrapping_add(i64::from(place)))
            }
            _ => match self.symbol(name, 0, Type::U64)? {
                Register::Reg64(reg) => plain(AddressBase::Reg64(reg), offset),
                _ => return Err("expected an address".into()),
            },
        })
    }
}

/// A variable has a space of its own, whether the instruction names it or not.
fn own_space(named: Space, binding: &Binding) -> Space {
    match (named, binding) {
        // A function's parameter that has an address is a local variable.
        (Space::Generic | Space::Param, Binding::Local { .. }) => Space::Local,
        (Space::Generic, Binding::Shared { .. } | Binding::DynamicShared) => Space::Shared,
        (space, _) => space,
    }
}

/// Special registers that hold one value for the whole run of a thread.
pub(crate) fn special_register(name: &str) -> Option<Special> {
    let name = name.strip_prefix('%')?;
    if let Some((base, axis)) = name.split_once('.') {
        let at = ["x", "y", "z", "w"].iter().position(|name| *name == axis)?;
        return special_of_axis(base, at);
    }
    special_scalar(name)
}

/// Whether this is a special register of four components. Most registers end with a digit.
fn is_special_vector(name: &str) -> bool {
    name.ends_with('d') && special_component(name, 0).is_some()
}

/// A component of a special register that is a vector, by the vector's name.
fn special_component(name: &str, at: usize) -> Option<Special> {
    special_of_axis(name.strip_prefix('%')?, at)
}

fn special_of_axis(base: &str, at: usize) -> Option<Special> {
    let axis = at as u8;
    let special = match base {
        "tid" => Special::ThreadId(axis),
        "ntid" => Special::ThreadCount(axis),
        "ctaid" => Special::BlockId(axis),
        "nctaid" => Special::BlockCount(axis),
        "cluster_ctaid" => Special::ClusterBlockId(axis),
        "cluster_nctaid" => Special::ClusterBlockCount(axis),
        "clusterid" => Special::ClusterId(axis),
        "nclusterid" => Special::ClusterCount(axis),
        _ => return None,
    };
    // The fourth component of all of them is zero.
    Some(if at < 3 { special } else { Special::Zero })
}

fn special_scalar(name: &str) -> Option<Special> {
    Some(match name {
        "laneid" => Special::Lane,
        "warpid" => Special::Warp,
        "nwarpid" => Special::WarpCount,
        "lanemask_eq" => Special::LaneMask(LaneMask::Equal),
        "lanemask_lt" => Special::LaneMask(LaneMask::Less),
        "lanemask_le" => Special::LaneMask(LaneMask::LessEqual),
        "lanemask_gt" => Special::LaneMask(LaneMask::Greater),
        "lanemask_ge" => Special::LaneMask(LaneMask::GreaterEqual),
        "dynamic_smem_size" => Special::DynamicSharedBytes,
        "total_smem_size" => Special::TotalSharedBytes,
        "cluster_ctarank" => Special::ClusterRank,
        "cluster_nctarank" => Special::ClusterBlocks,
        "is_explicit_cluster" => Special::IsExplicitCluster,
        "aggr_smem_size" => Special::AggregateSharedBytes,
        // As NVIDIA's driver defines them (`cooperative_groups/details/driver_abi.h`).
        "envreg1" => Special::GridWorkspace(Half::Upper),
        "envreg2" => Special::GridWorkspace(Half::Lower),
        "smid" | "gridid" | "current_graph_exec" => Special::Zero,
        "nsmid" => Special::One,
        "reserved_smem_offset_begin" | "reserved_smem_offset_0" => Special::ReservedShared(0),
        // The second half is for groups of several warps (`cooperative_groups/details/memory.h`).
        "reserved_smem_offset_1" => Special::ReservedShared(crate::RESERVED_SHARED_BYTES / 2),
        "reserved_smem_offset_end" => Special::ReservedShared(crate::RESERVED_SHARED_BYTES),
        "reserved_smem_offset_cap" => Special::ReservedSharedBytes,
        _ if has_number(name, "envreg", 32) || has_number(name, "pm", 8) => Special::Zero,
        _ => {
            let counter = name.strip_suffix("_64")?;
            return has_number(counter, "pm", 8).then_some(Special::Zero);
        }
    })
}

/// Whether a name is `prefix` and a number below `count`: environment registers, which the driver
/// defines, and performance counters are zero.
fn has_number(name: &str, prefix: &str, count: u32) -> bool {
    let number = name
        .strip_prefix(prefix)
        .and_then(|number| number.parse().ok());
    number.is_some_and(|number: u32| number < count)
}
