//! Loads, stores and atomics.

use std::borrow::Cow;

use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use super::scope::Binding;
use crate::ir::{
    ALLOCA_BYTES, Address, Alloca, Atomic, AtomicFunction, Constant, LaneFunction, Load, Op, Reg32,
    Reg64, Register, Space, Store, WideAtomic, WideFunction,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// Refuses halves of 128 bits in braces where one register is asked for.
fn whole(operand: &Operand) -> Outcome {
    match operand {
        Operand::Vector(_) => {
            Err("expected a `.b128` register: pack its halves with `mov.b128` first".into())
        }
        _ => Ok(()),
    }
}

/// The state space of an access; generic where none is named.
pub(super) fn take_space(mods: &mut Modifiers<'_>) -> Space {
    const NAMES: [(&str, Space); 10] = [
        ("global", Space::Global),
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("local", Space::Local),
        ("const", Space::Const),
        ("param", Space::Param),
        ("param::entry", Space::Param),
        ("param::func", Space::Param),
        ("shared::cluster", Space::Cluster),
        ("generic", Space::Generic),
    ];
    NAMES
        .into_iter()
        .find(|(name, _)| mods.take(name))
        .map_or(Space::Generic, |(_, space)| space)
}

/// Cache hints and scopes change no result.
pub(super) fn is_hint(name: &str) -> bool {
    matches!(
        name,
        "ca" | "cg"
            | "cs"
            | "lu"
            | "cv"
            | "wb"
            | "wt"
            | "weak"
            | "unified"
            | "cta"
            | "cluster"
            | "gpu"
            | "sys"
            | "mmio"
    ) || name.starts_with("L1::")
        || name.starts_with("L2::")
}

pub(super) struct Order {
    strong: bool,
    acquire: bool,
    release: bool,
}

pub(super) fn take_order(mods: &mut Modifiers<'_>) -> Order {
    let both = mods.take("acq_rel") | mods.take("sc");
    let acquire = mods.take("acquire") || both;
    let release = mods.take("release") || both;
    let strong = mods.take("volatile") | mods.take("relaxed");
    Order {
        strong: strong || acquire || release,
        acquire,
        release,
    }
}

/// Whether a cache operator leads past the L1 cache, as those do by which blocks tell each other a
/// word.
fn is_in_l2(mods: &Modifiers<'_>) -> bool {
    let operators = ["cg", "cv", "wt"];
    mods.rest().iter().any(|name| operators.contains(name))
}

/// The order of a load or a store. A scope belongs to one that is strong and not volatile, and to
/// no other.
fn take_scoped_order(mods: &mut Modifiers<'_>) -> Result<Order, Failure> {
    let has = |names: &[&str]| mods.rest().iter().any(|name| names.contains(name));
    let (is_volatile, has_scope) = (has(&["volatile"]), has(&["cta", "cluster", "gpu", "sys"]));
    let order = take_order(mods);
    match (order.strong && !is_volatile) == has_scope {
        true => Ok(order),
        false => Err(Failure::Unknown),
    }
}

pub(super) fn take_elements(mods: &mut Modifiers<'_>) -> usize {
    [("v2", 2), ("v4", 4), ("v8", 8)]
        .into_iter()
        .find(|(name, _)| mods.take(name))
        .map_or(1, |(_, count)| count)
}

impl<'p> Builder<'_, 'p> {
    /// The elements of an operand, which must be `count`.
    pub(super) fn parts_of<'o>(
        &mut self,
        operand: &'o Operand,
        count: usize,
    ) -> Result<Cow<'o, [Operand]>, Failure>
    where
        'p: 'o,
    {
        let parts = self.parts(operand);
        if parts.len() == count {
            Ok(parts)
        } else {
            Err(format!("expected {count} elements, found {}", parts.len()).into())
        }
    }

    pub(super) fn load(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let (to, from) = match operands {
            [to, from] => (to, from),
            // A cache policy may follow.
            [to, from, _] if mods.take("L2::cache_hint") => (to, from),
            _ => return Err("expected two operands".into()),
        };
        let ty = mods.ty()?;
        let elements = take_elements(&mut mods);
        let of_entry = self.in_entry || mods.rest().contains(&"param::entry");
        let space = take_space(&mut mods);
        let order = take_scoped_order(&mut mods)?;
        if mods.take("nc") && space != Space::Global {
            return Err(Failure::Unknown);
        }
        let in_l2 = is_in_l2(&mods) && elements == 1 && ty.bytes() == 8;
        mods.drop_known(is_hint);
        mods.finish()?;
        let (ty, elements) = match (ty, elements) {
            (Type::Pred, _) => return Err(Failure::Unknown),
            (Type::B128, 1) if order.strong => {
                let address = self.address(from, space)?;
                let destination = Some(self.halves_destination(to)?);
                let load = (WideFunction::Load, address);
                self.emit_wide(load, [None, None], destination);
                return Ok(());
            }
            (Type::B128, 1) => {
                whole(to)?;
                (Type::B64, 2)
            }
            (Type::B128, _) => return Err(Failure::Unknown),
            other => other,
        };
        let to = &*self.parts_of(to, elements)?;
        if space == Space::Param
            && let Some(done) = self.load_parameter(ty, to, from)?
        {
            return Ok(done);
        }
        // The parameters of functions that have addresses lie in local memory.
        let space = match space {
            Space::Param if !of_entry => Space::Local,
            space => space,
        };
        let mut register_bits = 0;
        let mut destinations = Vec::new();
        for operand in to {
            if matches!(operand, Operand::Sink) {
                destinations.push(None);
                continue;
            }
            let (register, bits) = self.destination_any(operand, ty)?;
            if matches!(register, Register::Predicate(_)) || bits < 8 * ty.bytes() {
                return Err("the destination is narrower than the loaded value".into());
            }
            register_bits = bits;
            destinations.push(Some(register));
        }
        let load = Load {
            address: self.address(from, space)?,
            bytes: ty.bytes(),
            signed: ty.is_signed(),
            single: match destinations.as_slice() {
                &[single] => single,
                _ => None,
            },
            destinations,
            register_bits,
            strong: order.strong,
            whole: order.strong || in_l2,
            plain: !order.strong && !in_l2 && ty.bytes() >= 4 && space != Space::Cluster,
            acquire: order.acquire,
            used: u32::MAX,
        };
        let index = self.program.loads.len() as u32;
        self.program.loads.push(load);
        self.emit(Op::Load(index));
        Ok(())
    }

    /// A parameter at a constant address is a constant (of a kernel) or a register (of a call).
    fn load_parameter(
        &mut self,
        ty: Type,
        to: &[Operand],
        from: &Operand,
    ) -> Result<Option<()>, Failure> {
        let Operand::Address {
            base: Some(name),
            offset,
        } = *from
        else {
            return Ok(None);
        };
        let binding = self.resolve(name)?;
        for (index, operand) in to.iter().enumerate() {
            let at = offset.wrapping_add(i64::from(ty.bytes()) * index as i64);
            match &binding {
                Binding::KernelParam { offset, bytes } => {
                    let at = u32::try_from(at)
                        .ok()
                        .filter(|&at| u64::from(at) + u64::from(ty.bytes()) <= *bytes)
                        .and_then(|at| at.checked_add(*offset))
                        .ok_or("this offset lies outside the parameter")?;
                    let (register, bits) = self.destination_any(operand, ty)?;
                    let constant = Constant::Param {
                        offset: at,
                        bytes: ty.bytes(),
                        signed: ty.is_signed(),
                    };
                    let source = match register {
                        Register::Reg64(_) => Register::Reg64(self.reg64_constant(constant)),
                        _ => Register::Reg32(self.reg32_constant(constant)),
                    };
                    if bits < 8 * ty.bytes() {
                        return Err("the destination is narrower than the parameter".into());
                    }
                    self.emit_move(register, source)?;
                }
                Binding::Registers(registers) => {
                    self.load_call_parameter(ty, operand, registers, at)?
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(()))
    }

    fn load_call_parameter(
        &mut self,
        ty: Type,
        to: &Operand,
        registers: &[Reg32],
        at: i64,
    ) -> Outcome {
        let (to, bits) = self.destination_any(to, ty)?;
        let (reg, next, shift) = locate(registers, ty, at)?;
        match (ty.bytes(), to) {
            (8, Register::Reg64(to)) => self.emit(Op::Pack(to, reg, next)),
            (4, Register::Reg32(to)) => self.emit(Op::Move32(to, reg)),
            (4, Register::Reg64(to)) => self.emit(Op::Widen(ty.is_signed(), to, reg)),
            (8, _) => return Err("the destination is narrower than the parameter".into()),
            _ => {
                let extract = LaneFunction::ExtractBits {
                    shift,
                    bits: 8 * ty.bytes(),
                    signed: ty.is_signed() && bits > 8 * ty.bytes(),
                };
                self.emit_lane(extract, to, vec![Register::Reg32(reg)]);
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        if mods.take("async") {
            return self.async_store(false, mods, operands);
        }
        let (to, from) = match operands {
            [to, from] => (to, from),
            [to, from, _] if mods.take("L2::cache_hint") => (to, from),
            _ => return Err("expected two operands".into()),
        };
        let ty = mods.ty()?;
        let elements = take_elements(&mut mods);
        let space = take_space(&mut mods);
        let order = take_scoped_order(&mut mods)?;
        let in_l2 = is_in_l2(&mods) && elements == 1 && ty.bytes() == 8;
        mods.drop_known(is_hint);
        mods.finish()?;
        let (ty, elements) = match (ty, elements) {
            (Type::Pred, _) => return Err(Failure::Unknown),
            (Type::B128, 1) if order.strong => {
                let address = self.address(to, space)?;
                let operand = Some(self.halves(from)?);
                self.emit_wide((WideFunction::Store, address), [operand, None], None);
                return Ok(());
            }
            (Type::B128, 1) => {
                whole(from)?;
                (Type::B64, 2)
            }
            (Type::B128, _) => return Err(Failure::Unknown),
            other => other,
        };
        let from = &*self.parts_of(from, elements)?;
        let mut sources = Vec::new();
        for operand in from {
            let register = self.source_any(operand, ty)?;
            let narrow = match register {
                Register::Reg32(_) => ty.bytes() > 4,
                Register::Reg64(_) => false,
                Register::Predicate(_) => true,
            };
            if narrow {
                return Err("the source is narrower than the stored value".into());
            }
            sources.push(register);
        }
        if space == Space::Param {
            return self.store_parameter(ty, to, &sources);
        }
        let store = Store {
            address: self.address(to, space)?,
            bytes: ty.bytes(),
            sources,
            strong: order.strong,
            whole: order.strong || in_l2,
            plain: !order.strong && !in_l2 && ty.bytes() >= 4 && space != Space::Cluster,
            release: order.release,
        };
        let index = self.program.stores.len() as u32;
        self.program.stores.push(store);
        self.emit(Op::Store(index));
        Ok(())
    }

    fn store_parameter(&mut self, ty: Type, to: &Operand, sources: &[Register]) -> Outcome {
        let Operand::Address {
            base: Some(name),
            offset,
        } = *to
        else {
            return Err("expected a parameter's address".into());
        };
        let Binding::Registers(registers) = self.resolve(name)? else {
            return Err("kernel parameters cannot be written".into());
        };
        for (index, &source) in sources.iter().enumerate() {
            let at = offset.wrapping_add(i64::from(ty.bytes()) * index as i64);
            let (reg, next, shift) = locate(&registers, ty, at)?;
            match (ty.bytes(), source) {
                (8, Register::Reg64(source)) => self.emit(Op::Unpack(reg, next, source)),
                (4, Register::Reg32(source)) => self.emit(Op::Move32(reg, source)),
                (4, Register::Reg64(source)) => self.emit(Op::Narrow(reg, source)),
                _ => {
                    let insert = LaneFunction::InsertBits {
                        shift,
                        bits: 8 * ty.bytes(),
                    };
                    let reg = Register::Reg32(reg);
                    self.emit_lane(insert, reg, vec![reg, source]);
                }
            }
        }
        Ok(())
    }

    /// `atom` and `red`.
    pub(super) fn atomic(
        &mut self,
        returns: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if !returns && mods.take("async") {
            return self.async_store(true, mods, operands);
        }
        let ty = mods.ty()?;
        let elements = take_elements(&mut mods);
        let space = take_space(&mut mods);
        take_order(&mut mods);
        let operands = match operands {
            // A cache policy.
            [rest @ .., _] if mods.take("L2::cache_hint") => rest,
            all => all,
        };
        mods.drop_known(is_hint);
        let keeps_subnormals = mods.take("noftz");
        let function = mods
            .take_first(|name| {
                Some(match name {
                    "add" => AtomicFunction::Add,
                    "min" => AtomicFunction::Min,
                    "max" => AtomicFunction::Max,
                    "and" => AtomicFunction::And,
                    "or" => AtomicFunction::Or,
                    "xor" => AtomicFunction::Xor,
                    "exch" => AtomicFunction::Exchange,
                    "cas" => AtomicFunction::CompareExchange,
                    "inc" => AtomicFunction::Increment,
                    "dec" => AtomicFunction::Decrement,
                    _ => return None,
                })
            })
            .ok_or(Failure::Unknown)?;
        mods.finish()?;
        if ty == Type::B128 {
            return self.wide_atomic(function, space, (returns, elements), operands);
        }
        let is_pair = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
        let exists = match (function, ty) {
            (_, Type::Tf32) => false,
            _ if is_pair && !keeps_subnormals => false,
            (AtomicFunction::Add, ty) if ty.is_float() => true,
            (AtomicFunction::Min | AtomicFunction::Max, _) if is_pair && elements > 1 => true,
            (_, ty) if ty.is_float() => false,
            (AtomicFunction::CompareExchange, Type::B16) => true,
            _ => matches!(ty.bytes(), 4 | 8),
        };
        if !exists {
            return Err(Failure::Unknown);
        }
        let (to, rest) = match (returns, operands) {
            (true, [to, rest @ ..]) => (Some(to), rest),
            (_, rest) => (None, rest),
        };
        let swap = function == AtomicFunction::CompareExchange;
        let (address, operand, second) = match rest {
            [address, operand] if !swap => (address, operand, None),
            [address, operand, second] if swap => (address, operand, Some(second)),
            _ => return Err("wrong number of operands".into()),
        };
        let address = self.address(address, space)?;
        let has_vectors = matches!(space, Space::Global | Space::Generic);
        if elements > 1 && (!has_vectors || swap || !ty.is_float()) {
            return Err(Failure::Unknown);
        }
        let (mut sources, mut destinations) = (Vec::new(), Vec::new());
        for part in &*self.parts_of(operand, elements)? {
            sources.push(self.source(part, ty)?);
        }
        if let Some(to) = to.filter(|to| !matches!(to, Operand::Sink)) {
            for part in &*self.parts_of(to, elements)? {
                destinations.push(match part {
                    Operand::Sink => None,
                    part => Some(self.destination(part, ty)?),
                });
            }
        }
        let second = second.map(|second| self.source(second, ty)).transpose()?;
        // Each element of a vector is an atomic operation of its own. Their operands are those from
        // before the first.
        for (at, source) in sources.iter_mut().enumerate() {
            if destinations.iter().take(at).any(|to| *to == Some(*source)) {
                let kept = self.new_register(ty)?;
                self.emit_move(kept, *source)?;
                *source = kept;
            }
        }
        for (at, operand) in sources.into_iter().enumerate() {
            let behind = i64::from(ty.bytes()) * at as i64;
            let atomic = Atomic {
                address: Address {
                    offset: address.offset.wrapping_add(behind),
                    ..address
                },
                function,
                ty,
                operand,
                second,
                destination: destinations.get(at).copied().flatten(),
            };
            let index = self.program.atomics.len() as u32;
            self.program.atomics.push(atomic);
            self.emit(Op::Atomic(index));
        }
        Ok(())
    }

    /// The registers of a `.b128` register.
    fn halves(&mut self, operand: &Operand) -> Result<[Reg64; 2], Failure> {
        whole(operand)?;
        let parts = self.parts_of(operand, 2)?;
        Ok([
            self.reg64(&parts[0], Type::B64)?,
            self.reg64(&parts[1], Type::B64)?,
        ])
    }

    fn halves_destination(&mut self, operand: &Operand) -> Result<[Reg64; 2], Failure> {
        whole(operand)?;
        let parts = self.parts_of(operand, 2)?;
        Ok([
            self.reg64_destination(&parts[0])?,
            self.reg64_destination(&parts[1])?,
        ])
    }

    fn emit_wide(
        &mut self,
        (function, address): (WideFunction, Address),
        [operand, second]: [Option<[Reg64; 2]>; 2],
        destination: Option<[Reg64; 2]>,
    ) {
        let index = self.program.wide_atomics.len() as u32;
        self.program.wide_atomics.push(WideAtomic {
            address,
            function,
            operand,
            second,
            destination,
        });
        self.emit(Op::WideAtomic(index));
    }

    /// `atom.exch.b128` and `atom.cas.b128`
    fn wide_atomic(
        &mut self,
        function: AtomicFunction,
        space: Space,
        (returns, elements): (bool, usize),
        operands: &[Operand],
    ) -> Outcome {
        if !returns || elements != 1 {
            return Err(Failure::Unknown);
        }
        let (function, to, address, operand, second) = match (function, operands) {
            (AtomicFunction::Exchange, [to, address, operand]) => {
                (WideFunction::Exchange, to, address, operand, None)
            }
            (AtomicFunction::CompareExchange, [to, address, operand, second]) => (
                WideFunction::CompareExchange,
                to,
                address,
                operand,
                Some(second),
            ),
            _ => return Err(Failure::Unknown),
        };
        let address = self.address(address, space)?;
        let operand = self.halves(operand)?;
        let second = second.map(|second| self.halves(second)).transpose()?;
        let destination = match to {
            Operand::Sink => None,
            to => Some(self.halves_destination(to)?),
        };
        self.emit_wide((function, address), [Some(operand), second], destination);
        Ok(())
    }

    /// `alloca.type d, size[, alignment]`
    pub(super) fn allocate_local(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let ty = mods.ty()?;
        mods.finish()?;
        let (to, bytes, align) = match operands {
            [to, bytes] => (to, bytes, 8),
            [to, bytes, Operand::Integer(align)] => (to, bytes, *align),
            _ => return Err("expected a destination and a number of bytes".into()),
        };
        let is_valid = align.is_power_of_two() && align <= 1 << 12;
        if !matches!(ty, Type::U32 | Type::U64) || !is_valid {
            return Err("alloca takes .u32 or .u64 and a power of two up to 4096".into());
        }
        let (taken, start) = self.alloca_region()?;
        let alloca = Alloca {
            destination: self.destination(to, ty)?,
            bytes: self.source(bytes, ty)?,
            align: align as u32,
            taken,
            start,
        };
        let index = self.program.allocas.len() as u32;
        self.program.allocas.push(alloca);
        self.emit(Op::Alloca(index));
        Ok(())
    }

    /// The register that counts the bytes that `alloca` has taken, and where they start.
    fn alloca_region(&mut self) -> Result<(Reg32, u32), Failure> {
        if let Some(region) = self.alloca {
            return Ok(region);
        }
        let start = self.place_local_bytes(u64::from(ALLOCA_BYTES), 4096)?;
        let region = (self.new_reg32(), start);
        self.alloca = Some(region);
        Ok(region)
    }

    /// `stacksave.type d` and `stackrestore.type a`
    pub(super) fn stack_pointer(
        &mut self,
        saves: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let ty = mods.ty()?;
        mods.finish()?;
        let [operand] = operands else {
            return Err("expected one operand".into());
        };
        if !matches!(ty, Type::U32 | Type::U64) {
            return Err(Failure::Unknown);
        }
        let (taken, _) = self.alloca_region()?;
        if saves {
            match self.destination(operand, ty)? {
                Register::Reg64(to) => self.emit(Op::Widen(false, to, taken)),
                Register::Reg32(to) => self.emit(Op::Move32(to, taken)),
                Register::Predicate(_) => return Err(Failure::Unknown),
            }
            return Ok(());
        }
        match self.source(operand, ty)? {
            Register::Reg64(from) => self.emit(Op::Narrow(taken, from)),
            Register::Reg32(from) => self.emit(Op::Move32(taken, from)),
            Register::Predicate(_) => return Err(Failure::Unknown),
        }
        Ok(())
    }

    /// `createpolicy`: a value that only cache hints take.
    pub(super) fn create_policy(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let to = operands.first().ok_or("expected operands")?;
        let (mut has_kind, mut has_level) = (false, mods.rest().contains(&"cvt"));
        for name in mods.rest() {
            has_kind |= matches!(*name, "fractional" | "range" | "cvt");
            has_level |= name.starts_with("L2::");
        }
        if mods.ty()? != Type::B64 || !has_kind || !has_level {
            return Err(Failure::Unknown);
        }
        let to = self.reg64_destination(to)?;
        let policy = self.reg64_constant(Constant::Bits(0));
        self.emit(Op::Move64(to, policy));
        Ok(())
    }

    /// Instructions that only touch caches: `prefetch`, `prefetchu`, `discard`, `applypriority`.
    pub(super) fn cache_hint(&mut self, mods: &Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let is_level = |name: &&str| name.starts_with('L') || *name == "tensormap";
        if !mods.rest().iter().any(is_level) {
            return Err(Failure::Unknown);
        }
        if let Some(address) = operands.first() {
            let _: Address = self.address(address, Space::Generic)?;
        }
        self.emit(Op::Nothing);
        Ok(())
    }
}

/// The register that holds a parameter's bytes, the register after it, and the first bit within it.
fn locate(registers: &[Reg32], ty: Type, at: i64) -> Result<(Reg32, Reg32, u32), Failure> {
    let outside = || Failure::from("this offset lies outside the parameter");
    let bytes = i64::from(ty.bytes());
    // A value of 8 bytes may begin with any word.
    if at < 0 || at % bytes.min(4) != 0 || at > i64::from(crate::MAX_PARAMETER_BYTES) {
        return Err(outside());
    }
    let index = usize::try_from(at / 4).map_err(|_| outside())?;
    let last = usize::try_from((at + bytes - 1) / 4).map_err(|_| outside())?;
    let first = *registers.get(index).ok_or_else(outside)?;
    let next = *registers.get(last).ok_or_else(outside)?;
    Ok((first, next, 8 * (at % 4) as u32))
}
