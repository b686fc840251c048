//! Loads and stores.

use std::borrow::Cow;

use super::atomic::require_whole;
use super::builder::Builder;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{Address, Constant, Load, Op, Register, Space, Store, WideFunction};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

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
                require_whole(to)?;
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
                require_whole(from)?;
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
