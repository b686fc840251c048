//! `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async`, `red.async` and `tensormap`.

use super::async_copy::group_count;
use super::atomic::take_atomic_function;
use super::builder::Builder;
use super::memory::{take_elements, take_space};
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    AtomicFunction, BulkCopy, BulkData, BulkDirection, MapAction, MapEdit, MapField, Op, Space,
    Terminator,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

/// What a reduction does, and on what; the map of a tensor knows the type.
type Reduction = Option<(AtomicFunction, Option<Type>)>;

const TO_BARRIER: &str = "mbarrier::complete_tx::bytes";

impl Builder<'_, '_> {
    /// Everything that starts with `cp.async.bulk` or `cp.reduce.async.bulk`.
    pub(super) fn bulk_copy(
        &mut self,
        reduces: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if !reduces && mods.take("commit_group") {
            mods.finish()?;
            self.emit(Op::BulkCommit);
            return Ok(());
        }
        if !reduces && mods.take("wait_group") {
            // Shared memory is read when global memory is written.
            mods.take("read");
            mods.finish()?;
            let newest = group_count(operands)?;
            return self.under_guard(|this| {
                let next = this.new_block();
                this.end_block(Terminator::BulkWait { newest, next }, true, next);
                Ok(())
            });
        }
        if mods.take("cp_mask") || mods.take("ignore_oob") {
            return Err(Failure::refused(
                "copies that leave out bytes (.cp_mask, .ignore_oob) are not emulated",
            ));
        }
        let operands = match operands {
            // A cache policy comes last.
            [operands @ .., _] if mods.take("L2::cache_hint") => operands,
            operands => operands,
        };
        if !reduces && mods.take("prefetch") {
            return self.bulk_prefetch(mods, operands);
        }
        match mods.take("tensor") {
            true => self.tensor_copy(reduces, mods, operands),
            false => self.copy_bytes(reduces, mods, operands),
        }
    }

    /// `cp.async.bulk.prefetch[.tensor.Nd].L2.global[.tile] …`: touches caches alone.
    fn bulk_prefetch(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let is_tensor = mods.take("tensor");
        if !mods.take("L2") || !mods.take("global") {
            return Err(Failure::Unknown);
        }
        match (is_tensor, operands) {
            (true, [tensor]) => {
                let rank = take_rank(&mut mods)?;
                mods.take("tile");
                self.tensor_box(tensor, rank)?;
            }
            (false, [from, bytes]) => {
                self.address(from, Space::Global)?;
                self.reg32(bytes, Type::U32)?;
            }
            _ => return Err("wrong number of operands".into()),
        }
        mods.finish()?;
        self.emit(Op::Nothing);
        Ok(())
    }

    /// `cp[.reduce].async.bulk.dst.src.completion[.op.type] [dst], [src], bytes[, [mbar]][, mask]`
    fn copy_bytes(
        &mut self,
        reduces: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let to = mods.take_first(bulk_space).ok_or(Failure::Unknown)?;
        let from = mods.take_first(bulk_space).ok_or(Failure::Unknown)?;
        let signals = mods.take(TO_BARRIER);
        if !signals && !mods.take("bulk_group") {
            return Err(Failure::Unknown);
        }
        let multicasts = mods.take("multicast::cluster");
        let reduction = match reduces {
            true => {
                let ty = mods.ty()?;
                let function = take_reduction(&mut mods)?;
                Some((function, Some(ty)))
            }
            false => None,
        };
        mods.finish()?;
        match (to, from, signals) {
            (Space::Cluster | Space::Shared, Space::Global, true) if !reduces => {}
            (Space::Cluster, Space::Shared, true) => check_reduction(reduction, false)?,
            (Space::Global, Space::Shared, false) => check_reduction(reduction, true)?,
            _ => return Err(Failure::Unknown),
        }
        if multicasts && (to, from) != (Space::Cluster, Space::Global) {
            return Err(Failure::Unknown);
        }
        let (shared, data, direction) = match operands {
            [shared, other, bytes, barrier, rest @ ..] if signals => {
                let blocks = match rest {
                    [] if !multicasts => None,
                    [blocks] if multicasts => Some(self.reg32(blocks, Type::U16)?),
                    _ => return Err("wrong number of operands".into()),
                };
                let barrier = self.address(barrier, Space::Cluster)?;
                let bytes = self.reg32(bytes, Type::U32)?;
                let data = BulkData::Bytes(self.address(other, from)?, bytes);
                let shared = self.address(shared, Space::Cluster)?;
                (shared, data, BulkDirection::Load { barrier, blocks })
            }
            [other, shared, bytes] if !signals => {
                let bytes = self.reg32(bytes, Type::U32)?;
                let data = BulkData::Bytes(self.address(other, Space::Global)?, bytes);
                (
                    self.address(shared, Space::Shared)?,
                    data,
                    BulkDirection::Store,
                )
            }
            _ => return Err("wrong number of operands".into()),
        };
        self.end_in_bulk_copy(direction, data, (shared, false), reduction)
    }

    /// `cp[.reduce].async.bulk.tensor.Nd.dst.src…`
    fn tensor_copy(
        &mut self,
        reduces: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let rank = take_rank(&mut mods)?;
        // Boxes as they are; the other modes gather or shift them.
        mods.take("tile");
        if mods
            .rest()
            .iter()
            .any(|name| name.starts_with("im2col") || name.starts_with("tile::"))
        {
            return Err(Failure::refused(
                "tensor copies by im2col, gather or scatter are not emulated",
            ));
        }
        let loads = mods.take("shared::cluster") || mods.rest().first() == Some(&"shared::cta");
        mods.take("shared::cta");
        if !mods.take("global") || loads && reduces {
            return Err(Failure::Unknown);
        }
        let pair = mods.take("cta_group::2");
        let has_group = mods.take("cta_group::1") || pair;
        if has_group && !loads {
            return Err(Failure::Unknown);
        }
        let completion = if loads { TO_BARRIER } else { "bulk_group" };
        if !mods.take(completion) {
            return Err(Failure::Unknown);
        }
        let multicasts = loads && mods.take("multicast::cluster");
        let reduction = match reduces {
            true => Some((take_reduction(&mut mods)?, None)),
            false => None,
        };
        mods.finish()?;
        let (tensor, shared, direction) = match operands {
            [shared, tensor, barrier, rest @ ..] if loads => {
                let blocks = match rest {
                    [] if !multicasts => None,
                    [blocks] if multicasts => Some(self.reg32(blocks, Type::U16)?),
                    _ => return Err("wrong number of operands".into()),
                };
                let barrier = self.address(barrier, Space::Cluster)?;
                (tensor, shared, BulkDirection::Load { barrier, blocks })
            }
            [tensor, shared] if !loads => (tensor, shared, BulkDirection::Store),
            _ => return Err("wrong number of operands".into()),
        };
        let data = self.tensor_box(tensor, rank)?;
        let space = match direction {
            BulkDirection::Load { .. } => Space::Cluster,
            BulkDirection::Store => Space::Shared,
        };
        let shared = self.address(shared, space)?;
        self.end_in_bulk_copy(direction, data, (shared, pair), reduction)
    }

    /// `[map, {x, y}]`
    fn tensor_box(&mut self, operand: &Operand, rank: usize) -> Result<BulkData, Failure> {
        let Operand::Tensor {
            map,
            offset,
            coordinates,
        } = operand
        else {
            return Err("expected a tensor map and coordinates".into());
        };
        let coordinates = self.elements(*coordinates);
        if coordinates.len() != rank {
            let found = coordinates.len();
            return Err(format!("expected {rank} coordinates, found {found}").into());
        }
        let map = Operand::Address {
            base: Some(*map),
            offset: *offset,
        };
        let coordinates = coordinates
            .iter()
            .map(|coordinate| self.reg32(coordinate, Type::S32))
            .collect::<Result<_, _>>()?;
        Ok(BulkData::Box(
            self.address(&map, Space::Generic)?,
            coordinates,
        ))
    }

    pub(super) fn end_in_bulk_copy(
        &mut self,
        direction: BulkDirection,
        data: BulkData,
        (shared, pair): (crate::ir::Address, bool),
        reduction: Reduction,
    ) -> Outcome {
        self.under_guard(|this| {
            let next = this.new_block();
            let copy = BulkCopy {
                direction,
                data,
                shared,
                reduction,
                pair,
                next,
            };
            this.end_block(Terminator::BulkCopy(Box::new(copy)), true, next);
            Ok(())
        })
    }

    /// `st.async[.weak][.shared::cluster].mbarrier::complete_tx::bytes[.vec].type [a], b, [mbar]`
    /// and `red.async[.relaxed.cluster]…op.type [a], b, [mbar]`
    pub(super) fn async_store(
        &mut self,
        reduces: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if mods.take("release") || mods.take("mmio") {
            return Err(Failure::refused(
                "asynchronous stores with .release or .mmio (sm_100) are not emulated",
            ));
        }
        let ty = mods.ty()?;
        let count = take_elements(&mut mods);
        let space = take_space(&mut mods);
        let is_ordered = ["relaxed", "cluster"].map(|name| mods.take(name)) == [true; 2];
        mods.take("weak");
        let completes = mods.take(TO_BARRIER);
        let reduction = match reduces {
            true => Some((take_reduction(&mut mods)?, Some(ty))),
            false => None,
        };
        mods.finish()?;
        let [to, from, barrier] = operands else {
            return Err("expected an address, a value and an mbarrier".into());
        };
        let exists = match reduces {
            true => is_ordered && count == 1 && check_reduction(reduction, false).is_ok(),
            false => matches!(count, 1 | 2 | 4) && matches!(ty.bytes(), 4 | 8),
        };
        if !completes || !exists || !matches!(space, Space::Generic | Space::Cluster) {
            return Err(Failure::Unknown);
        }
        let mut values = Vec::new();
        for part in &*self.parts_of(from, count)? {
            values.push(self.source(part, ty)?);
        }
        let barrier = self.address(barrier, Space::Cluster)?;
        let direction = BulkDirection::Load {
            barrier,
            blocks: None,
        };
        let to = self.address(to, Space::Cluster)?;
        let data = BulkData::Values(values, ty.bytes());
        self.end_in_bulk_copy(direction, data, (to, false), reduction)
    }

    /// `tensormap.replace.tile.field.space.b1024.type [map][, ordinal], value` and
    /// `tensormap.cp_fenceproxy.global.shared::cta.… [to], [from], 128`
    pub(super) fn edit_tensor_map(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        if mods.take("cp_fenceproxy") {
            return self.copy_tensor_map(mods, operands);
        }
        if !mods.take("replace") || !mods.take("tile") {
            return Err(Failure::Unknown);
        }
        let ty = mods.ty()?;
        let field = mods.take_first(map_field).ok_or(Failure::Unknown)?;
        let space = take_space(&mut mods);
        if !mods.take("b1024") || !matches!(space, Space::Global | Space::Shared | Space::Generic) {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let is_wide = matches!(field, MapField::Address | MapField::Stride);
        let has_ordinal = matches!(
            field,
            MapField::BoxExtent | MapField::Extent | MapField::Stride | MapField::ElementStride
        );
        if ty != (if is_wide { Type::B64 } else { Type::B32 }) {
            return Err(Failure::Unknown);
        }
        let (map, ordinal, value) = match operands {
            [map, Operand::Integer(ordinal), value] if has_ordinal => (map, *ordinal, value),
            [map, value] if !has_ordinal => (map, 0, value),
            _ => return Err("wrong number of operands".into()),
        };
        let ordinal = u32::try_from(ordinal).ok().filter(|&ordinal| ordinal < 5);
        let ordinal = ordinal.ok_or("a tensor map has at most five dimensions")?;
        let value = self.source(value, ty)?;
        let map = self.address(map, space)?;
        self.emit_map_edit(MapEdit {
            map,
            action: MapAction::Replace(field, ordinal, value),
        });
        Ok(())
    }

    fn copy_tensor_map(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let [to, from, Operand::Integer(128)] = operands else {
            return Err("expected two addresses and 128".into());
        };
        let mut is_global = || {
            mods.take_first(|name| match name {
                "global" => Some(true),
                "shared::cta" => Some(false),
                _ => None,
            })
        };
        // The destination's space stands in front of the source's.
        let known = (is_global(), is_global()) == (Some(true), Some(false))
            && mods.take("tensormap::generic")
            && mods.take("release")
            && mods.take("sync")
            && mods.take("aligned");
        mods.drop_known(|name| matches!(name, "cta" | "cluster" | "gpu" | "sys"));
        mods.finish()?;
        if !known {
            return Err(Failure::Unknown);
        }
        let map = self.address(to, Space::Global)?;
        let from = self.address(from, Space::Shared)?;
        self.under_guard(|this| {
            this.emit_map_edit(MapEdit {
                map,
                action: MapAction::CopyFrom(from),
            });
            this.emit(Op::Fence);
            Ok(())
        })
    }

    fn emit_map_edit(&mut self, edit: MapEdit) {
        let index = self.program.map_edits.len() as u32;
        self.program.map_edits.push(edit);
        self.emit(Op::MapEdit(index));
    }
}

fn bulk_space(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "shared::cta" => Space::Shared,
        "shared::cluster" => Space::Cluster,
        _ => return None,
    })
}

fn take_rank(mods: &mut Modifiers<'_>) -> Result<usize, Failure> {
    mods.take_first(|name| {
        let rank = name.strip_suffix('d')?.parse::<usize>().ok()?;
        (1..=5).contains(&rank).then_some(rank)
    })
    .ok_or(Failure::Unknown)
}

fn take_reduction(mods: &mut Modifiers<'_>) -> Result<AtomicFunction, Failure> {
    use AtomicFunction::{CompareExchange, Exchange};
    mods.take("noftz");
    take_atomic_function(mods)
        .filter(|function| !matches!(function, Exchange | CompareExchange))
        .ok_or(Failure::Unknown)
}

/// Whether there is such a reduction (PTX ISA, "cp.reduce.async.bulk").
fn check_reduction(reduction: Reduction, to_global: bool) -> Outcome {
    use AtomicFunction::{Add, And, Decrement, Increment, Max, Min, Or, Xor};
    let Some((function, Some(ty))) = reduction else {
        return Ok(());
    };
    let exists = match (function, ty) {
        (Add, Type::U32 | Type::S32 | Type::U64) => true,
        (Min | Max, Type::U32 | Type::S32) => true,
        (Increment | Decrement, Type::U32) => true,
        (And | Or | Xor, Type::B32) => true,
        (Add, Type::F16 | Type::Bf16 | Type::F32 | Type::F64) => to_global,
        (Min | Max, Type::U64 | Type::S64 | Type::F16 | Type::Bf16) => to_global,
        (And | Or | Xor, Type::B64) => to_global,
        _ => false,
    };
    if exists {
        Ok(())
    } else {
        Err(Failure::Unknown)
    }
}

fn map_field(name: &str) -> Option<MapField> {
    Some(match name {
        "global_address" => MapField::Address,
        "rank" => MapField::Rank,
        "box_dim" => MapField::BoxExtent,
        "global_dim" => MapField::Extent,
        "global_stride" => MapField::Stride,
        "element_stride" => MapField::ElementStride,
        "elemtype" => MapField::ElementType,
        "interleave_layout" => MapField::Interleave,
        "swizzle_mode" => MapField::Swizzle,
        "swizzle_atomicity" => MapField::SwizzleAtomicity,
        "fill_mode" => MapField::Fill,
        _ => return None,
    })
}
