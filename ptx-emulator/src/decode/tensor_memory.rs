//! `tcgen05` (PTX ISA, "TensorCore 5th Generation Family Instructions").

use super::builder::Builder;
use super::memory::take_space;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    Address, CopyLanes, Op, ReduceMode, RowPacking, Space, TensorA, TensorAction, TensorCopy,
    TensorInstruction, TensorKind, TensorMma, TensorMove, TensorShape, Terminator,
};
use ptx_syntax::ast::{Operand, Type};

type Outcome = Result<(), Failure>;

impl Builder<'_, '_> {
    /// Everything that starts with `tcgen05`.
    pub(super) fn tensor_memory(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        const NAMES: [&str; 9] = [
            "alloc",
            "dealloc",
            "relinquish_alloc_permit",
            "ld",
            "st",
            "commit",
            "cp",
            "shift",
            "mma",
        ];
        let found = NAMES.into_iter().find(|name| mods.take(name));
        match found {
            Some(name @ ("alloc" | "dealloc" | "relinquish_alloc_permit")) => {
                self.tensor_columns(name, mods, operands)
            }
            Some(name @ ("ld" | "st")) => self.tensor_move(name == "st", mods, operands),
            Some("commit") => self.tensor_commit(mods, operands),
            Some("cp") => self.tensor_copy_rows(mods, operands),
            Some("shift") => Err(Failure::refused(
                "the shift of rows of tensor memory (tcgen05.shift) is not emulated",
            )),
            Some(_) => self.tensor_mma(mods, operands),
            None => self.tensor_order(mods, operands),
        }
    }

    /// `wait::ld`, `wait::st`, `fence::before_thread_sync` and `fence::after_thread_sync`. Loads
    /// and stores are executed when they are issued, so that a wait is for sanitizers alone; an
    /// mbarrier tells of other operations.
    fn tensor_order(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let stores = mods.take("wait::st");
        let waits = stores || mods.take("wait::ld");
        let known = match waits {
            true => is_collective(&mut mods),
            false => {
                mods.take("fence::before_thread_sync") || mods.take("fence::after_thread_sync")
            }
        };
        mods.finish()?;
        if !known || !operands.is_empty() {
            return Err(Failure::Unknown);
        }
        if waits {
            return self.end_in_tensor(TensorAction::Wait { stores }, false);
        }
        self.emit(Op::Nothing);
        Ok(())
    }

    /// `alloc.cta_group.sync.aligned[.shared::cta].b32 [dst], columns`,
    /// `dealloc.cta_group.sync.aligned.b32 address, columns` and
    /// `relinquish_alloc_permit.cta_group.sync.aligned`
    fn tensor_columns(
        &mut self,
        name: &str,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let pair = take_group(&mut mods)?;
        let is_known = is_collective(&mut mods);
        let (space, has_type) = match name {
            "alloc" => (take_space(&mut mods), mods.take("b32")),
            "dealloc" => (Space::Shared, mods.take("b32")),
            _ => (Space::Shared, true),
        };
        mods.finish()?;
        if !is_known || !has_type || !matches!(space, Space::Shared | Space::Generic) {
            return Err(Failure::Unknown);
        }
        let action = match (name, operands) {
            ("alloc", [to, columns]) => TensorAction::Allocate {
                to: self.address(to, space)?,
                columns: self.reg32(columns, Type::B32)?,
            },
            ("dealloc", [address, columns]) => TensorAction::Free {
                address: self.reg32(address, Type::B32)?,
                columns: self.reg32(columns, Type::B32)?,
            },
            ("relinquish_alloc_permit", []) => TensorAction::Relinquish,
            _ => return Err("wrong number of operands".into()),
        };
        self.end_in_tensor(action, pair)
    }

    /// `ld.sync.aligned.shape.num[.pack::16b].b32 r, [address][, half]`,
    /// `ld.red.sync.aligned.shape.num.op[.abs][.NaN].type r, reduced, [address]` and
    /// `st.sync.aligned.shape.num[.unpack::16b].b32 [address][, half], r`
    fn tensor_move(
        &mut self,
        stores: bool,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let reduction = match !stores && mods.take("red") {
            true => Some(take_reduction(&mut mods)?),
            false => None,
        };
        let packs = mods.take(if stores { "unpack::16b" } else { "pack::16b" });
        let known = is_collective(&mut mods);
        let shape = mods.take_first(take_shape).ok_or(Failure::Unknown)?;
        let times = mods.take_first(|name| {
            let times: u32 = name.strip_prefix('x')?.parse().ok()?;
            (times.is_power_of_two() && times <= 128).then_some(times)
        });
        let times = times.ok_or(Failure::Unknown)?;
        let has_type = reduction.is_some() || mods.take("b32");
        mods.finish()?;
        if reduction.is_some() && (shape != TensorShape::Lanes32 || times == 1 || packs) {
            return Err(Failure::refused(
                "tcgen05.ld.red of other shapes than .32x32b is not emulated",
            ));
        }
        let (operands, reduced) = match (operands, reduction) {
            ([registers, reduced, address], Some(mode)) => {
                let reduced = self.reg32_destination(reduced)?;
                (&[*registers, *address][..], Some((mode, reduced)))
            }
            (_, Some(_)) => return Err("wrong number of operands".into()),
            (operands, None) => (operands, None),
        };
        let (address, half, registers) = match (stores, operands) {
            (false, [registers, address, half @ ..]) => (address, half, registers),
            (true, [address, half @ .., registers]) => (address, half, registers),
            _ => return Err("wrong number of operands".into()),
        };
        let shape = match (shape, half) {
            (TensorShape::Halves(_), [Operand::Integer(columns)]) => {
                TensorShape::Halves(*columns as u32)
            }
            (TensorShape::Halves(_), _) => {
                return Err("expected the distance of the halves as a constant".into());
            }
            (shape, []) => shape,
            _ => return Err("wrong number of operands".into()),
        };
        let count = times
            * match shape {
                TensorShape::Lanes16(columns) => columns / 2,
                _ => 1,
            };
        if !known || !has_type || count > 128 {
            return Err(Failure::Unknown);
        }
        let parts = self.parts(registers);
        if parts.len() != count as usize {
            let found = parts.len();
            return Err(format!("expected {count} registers, found {found}").into());
        }
        let mut all = Vec::with_capacity(parts.len());
        for part in &*parts {
            all.push(match stores {
                true => self.reg32(part, Type::B32)?,
                false => self.reg32_destination(part)?,
            });
        }
        let moved = TensorMove {
            address: self.tensor_address(address)?,
            stores,
            shape,
            packs,
            registers: all,
            reduces: reduced,
        };
        self.end_in_tensor(TensorAction::Move(moved), false)
    }

    /// `commit.cta_group.mbarrier::arrive::one[.shared::cluster][.multicast::cluster].b64
    /// [mbarrier][, blocks]`
    fn tensor_commit(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let pair = take_group(&mut mods)?;
        let arrives = mods.take("mbarrier::arrive::one");
        let multicasts = mods.take("multicast::cluster");
        let space = take_space(&mut mods);
        let has_type = mods.take("b64");
        mods.finish()?;
        if !arrives || !has_type || !matches!(space, Space::Cluster | Space::Generic) {
            return Err(Failure::Unknown);
        }
        let (barrier, blocks) = match operands {
            [barrier] if !multicasts => (barrier, None),
            [barrier, blocks] if multicasts => (barrier, Some(self.reg32(blocks, Type::B16)?)),
            _ => return Err("wrong number of operands".into()),
        };
        let action = TensorAction::Commit {
            barrier: self.address(barrier, Space::Cluster)?,
            blocks,
        };
        self.end_in_tensor(action, pair)
    }

    /// `cp.cta_group.shape[.multicast][.b8x16.b6x16_p32|b4x16_p64] [address], descriptor`
    fn tensor_copy_rows(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let pair = take_group(&mut mods)?;
        let shape = mods.take_first(|name| {
            Some(match name {
                "128x256b" => (128, 32, CopyLanes::Each),
                "128x128b" => (128, 16, CopyLanes::Each),
                "4x256b" => (4, 32, CopyLanes::Quarters),
                "64x128b" => (64, 16, CopyLanes::Halves),
                "32x128b" => (32, 16, CopyLanes::All),
                _ => return None,
            })
        });
        let (rows, bytes, lanes) = shape.ok_or(Failure::Unknown)?;
        let halves = mods.take("warpx2::02_13");
        let neighbours = mods.take("warpx2::01_23");
        let all = mods.take("warpx4");
        let lanes = match (rows, halves, neighbours, all) {
            (64, true, false, false) | (32, false, false, true) => lanes,
            (64, false, true, false) => CopyLanes::Neighbours,
            (4 | 128, false, false, false) => lanes,
            _ => return Err(Failure::Unknown),
        };
        let packing = match (
            mods.take("b8x16"),
            mods.take("b6x16_p32"),
            mods.take("b4x16_p64"),
        ) {
            (false, false, false) => RowPacking::Bytes,
            (true, true, false) => RowPacking::SixBits,
            (true, false, true) => RowPacking::FourBits,
            _ => return Err(Failure::Unknown),
        };
        mods.finish()?;
        let [address, descriptor] = operands else {
            return Err("expected an address and a matrix descriptor".into());
        };
        let copy = TensorCopy {
            address: self.tensor_address(address)?,
            descriptor: self.reg64(descriptor, Type::B64)?,
            rows,
            bytes,
            lanes,
            packing,
        };
        self.end_in_tensor(TensorAction::Copy(copy), pair)
    }

    /// `mma[.ws][.sp].cta_group.kind[.block_scale[.scale_vec|.block]][.collector] [d], a, b,
    /// [[metadata], ]shape[, [scales of A], [scales of B]][, {lanes}], keep[, scale]`
    fn tensor_mma(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let stationary = mods.take("ws");
        let sparse = mods.take("sp");
        let pair = take_group(&mut mods)?;
        let kind = mods.take_first(|name| {
            let name = name.strip_prefix("kind::")?;
            let known = TensorKind::ALL.iter().find(|(known, _)| *known == name);
            known.map(|(_, kind)| *kind)
        });
        let kind = kind.ok_or(Failure::Unknown)?;
        let scaled = mods.take("block_scale");
        let blocks = take_blocks(kind, &mut mods)?;
        if mods.take("ashift") {
            return Err(Failure::refused(
                "tcgen05.mma with shifted rows of A (.ashift) is not emulated",
            ));
        }
        // What a collector keeps is what memory holds, as long as a program is right.
        mods.take_any(|name| is_collector(name, stationary));
        mods.finish()?;
        if scaled != kind.is_scaled() || stationary && (pair || scaled) {
            return Err(Failure::Unknown);
        }
        let [d, a, b, rest @ ..] = operands else {
            return Err("expected d, a, b, an instruction descriptor and a predicate".into());
        };
        let (metadata, rest) = match rest {
            [metadata, rest @ ..] if sparse => (Some(self.tensor_address(metadata)?), rest),
            rest => (None, rest),
        };
        let [shape, rest @ ..] = rest else {
            return Err("expected an instruction descriptor".into());
        };
        let (scales, rest) = match (rest, blocks) {
            ([of_a, of_b, rest @ ..], Some(blocks)) => {
                let scales = [self.tensor_address(of_a)?, self.tensor_address(of_b)?];
                (Some((scales, blocks)), rest)
            }
            (rest, _) => (None, rest),
        };
        let (disabled, rest) = match rest {
            [lanes @ Operand::Vector(_), rest @ ..] if !scaled && !stationary => {
                let lanes = self.parts(lanes);
                let mut words = Vec::new();
                for lane in &*lanes {
                    words.push(self.reg32(lane, Type::B32)?);
                }
                (words, rest)
            }
            rest => (Vec::new(), rest),
        };
        if !disabled.is_empty() && disabled.len() != if pair { 8 } else { 4 } {
            return Err("a mask of lanes has four registers for each block".into());
        }
        let (zero_columns, rest) = match rest {
            [keep, mask] if stationary => (
                Some(self.reg64(mask, Type::B64)?),
                std::slice::from_ref(keep),
            ),
            rest => (None, rest),
        };
        let (keep, scale) = match rest {
            [keep] => (keep, 0),
            [keep, Operand::Integer(scale @ 0..=15)]
                if matches!(kind, TensorKind::F16 | TensorKind::Tf32) =>
            {
                (keep, *scale as u32)
            }
            _ => return Err("expected a predicate, and a scale from 0 to 15 at most".into()),
        };
        let product = TensorMma {
            kind,
            d: self.tensor_address(d)?,
            a: match a {
                Operand::Address { .. } => TensorA::Tensor(self.tensor_address(a)?),
                _ => TensorA::Shared(self.reg64(a, Type::B64)?),
            },
            b: self.reg64(b, Type::B64)?,
            shape: self.reg32(shape, Type::B32)?,
            keep: self.keep(keep)?,
            scale,
            disabled,
            scales,
            metadata,
            stationary,
            zero_columns,
        };
        self.end_in_tensor(TensorAction::Mma(Box::new(product)), pair)
    }

    /// An address of tensor memory. Like those of constant memory it has 32 bits.
    fn tensor_address(&mut self, operand: &Operand) -> Result<Address, Failure> {
        match operand {
            Operand::Address { .. } => self.address(operand, Space::Const),
            _ => Err("expected an address of tensor memory".into()),
        }
    }

    fn end_in_tensor(&mut self, action: TensorAction, pair: bool) -> Outcome {
        self.under_guard(|this| {
            let next = this.new_block();
            let instruction = TensorInstruction { action, pair, next };
            this.end_block(Terminator::Tensor(Box::new(instruction)), true, next);
            Ok(())
        })
    }
}

/// `.sync.aligned`
fn is_collective(mods: &mut Modifiers<'_>) -> bool {
    [mods.take("sync"), mods.take("aligned")] == [true; 2]
}

/// The operation and type of `ld.red`.
fn take_reduction(mods: &mut Modifiers<'_>) -> Result<ReduceMode, Failure> {
    let greatest = match (mods.take("max"), mods.take("min")) {
        (true, false) => true,
        (false, true) => false,
        _ => return Err(Failure::Unknown),
    };
    let magnitudes = mods.take("abs");
    let nan_wins = mods.take("NaN");
    let float = ReduceMode::Float {
        greatest,
        magnitudes,
        nan_wins,
    };
    let types = (mods.take("f32"), mods.take("u32"), mods.take("s32"));
    Ok(match (types, greatest) {
        ((true, false, false), _) => float,
        _ if magnitudes || nan_wins => return Err(Failure::Unknown),
        ((false, true, false), true) => ReduceMode::MaxUnsigned,
        ((false, true, false), false) => ReduceMode::MinUnsigned,
        ((false, false, true), true) => ReduceMode::MaxSigned,
        ((false, false, true), false) => ReduceMode::MinSigned,
        _ => return Err(Failure::Unknown),
    })
}

/// Whether a pair of blocks is named.
fn take_group(mods: &mut Modifiers<'_>) -> Result<bool, Failure> {
    let group = mods.take_first(|name| match name {
        "cta_group::1" => Some(false),
        "cta_group::2" => Some(true),
        _ => None,
    });
    group.ok_or(Failure::Unknown)
}

fn take_shape(name: &str) -> Option<TensorShape> {
    Some(match name {
        "32x32b" => TensorShape::Lanes32,
        "16x64b" => TensorShape::Lanes16(2),
        "16x128b" => TensorShape::Lanes16(4),
        "16x256b" => TensorShape::Lanes16(8),
        "16x32bx2" => TensorShape::Halves(0),
        _ => return None,
    })
}

/// The scales of a row of A or of a column of B, of kinds that have them (PTX ISA, "Block
/// Scaling").
fn take_blocks(kind: TensorKind, mods: &mut Modifiers<'_>) -> Result<Option<u32>, Failure> {
    let named = mods.take_first(|name| {
        Some(match name {
            "scale_vec::1X" => (Some(1), 0),
            "scale_vec::2X" => (Some(2), 0),
            "scale_vec::4X" => (Some(4), 0),
            "block16" => (None, 16),
            "block32" => (None, 32),
            _ => return None,
        })
    });
    let blocks = match (kind, named) {
        (TensorKind::Mxf8f6f4, None | Some((Some(1), _) | (None, 32))) => 1,
        (TensorKind::Mxf4, None | Some((Some(2), _) | (None, 32))) => 2,
        (TensorKind::Mxf4nvf4, Some((Some(2), _) | (None, 32))) => 2,
        (TensorKind::Mxf4nvf4, Some((Some(4), _) | (None, 16))) => 4,
        (kind, None) if !kind.is_scaled() => return Ok(None),
        _ => return Err(Failure::Unknown),
    };
    Ok(Some(blocks))
}

fn is_collector(name: &str, stationary: bool) -> bool {
    let Some((buffer, operation)) = name
        .strip_prefix("collector::")
        .and_then(|rest| rest.split_once("::"))
    else {
        return false;
    };
    let known = match stationary {
        true => matches!(buffer, "b0" | "b1" | "b2" | "b3"),
        false => buffer == "a",
    };
    known && matches!(operation, "fill" | "use" | "lastuse" | "discard")
}
