//! Surfaces: `suld`, `sust`, `sured`.

use super::atomic::take_atomic_function;
use super::builder::Builder;
use super::memory::{is_hint, take_elements};
use super::modifiers::{Failure, Modifiers};
use super::texture::{ImageOperand, Outcome, take_geometry};
use crate::ir::{AtomicFunction, Level, Outside, Register, TextureAction, TextureOp};
use crate::texture::ImageKind;
use ptx_syntax::ast::{Operand, Type};

impl Builder<'_, '_> {
    /// `suld.b.geometry[.cop][.vec].dtype.clamp d, [a, b]`
    pub(super) fn surface_load(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [to, place] = operands else {
            return Err("expected a destination and a surface".into());
        };
        if take_format(&mut mods)? {
            return Err(Failure::Unknown);
        }
        let (kind, outside) = self.surface(&mut mods)?;
        let (count, ty) = take_surface_type(&mut mods)?;
        let place = self.place(place, kind)?;
        let mut destinations = Vec::new();
        for operand in &*self.parts_of(to, count)? {
            destinations.push(match operand {
                Operand::Sink => None,
                operand => Some(self.destination_any(operand, ty)?.0),
            });
        }
        self.emit_surface(
            (TextureAction::Load(ty.bytes(), outside), kind),
            place,
            (Vec::new(), destinations),
        )
    }

    /// `sust.(b|p).geometry[.cop][.vec].ctype.clamp [a, b], c`
    pub(super) fn surface_store(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [place, from] = operands else {
            return Err("expected a surface and a source".into());
        };
        let by_sample = take_format(&mut mods)?;
        let (kind, outside) = self.surface(&mut mods)?;
        let (count, ty) = take_surface_type(&mut mods)?;
        let action = match (by_sample, ty) {
            (true, Type::B32) => TextureAction::StoreSample(outside),
            (true, _) => return Err(Failure::Unknown),
            (false, ty) => TextureAction::Store(ty.bytes(), outside),
        };
        let place = self.place(place, kind)?;
        let mut sources = Vec::new();
        for operand in &*self.parts_of(from, count)? {
            sources.push(self.source_any(operand, ty)?);
        }
        self.emit_surface((action, kind), place, (sources, Vec::new()))
    }

    /// `sured.(b|p).op.geometry.ctype.clamp [a, b], c`
    pub(super) fn surface_reduce(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let [place, from] = operands else {
            return Err("expected a surface and a source".into());
        };
        let by_sample = take_format(&mut mods)?;
        let function = take_atomic_function(&mut mods).filter(|function| {
            use AtomicFunction::{Add, And, Max, Min, Or};
            matches!(function, Add | Min | Max | And | Or)
        });
        let function = function.ok_or(Failure::Unknown)?;
        let (kind, outside) = self.surface(&mut mods)?;
        let ty = mods.ty()?;
        mods.finish()?;
        let is_logic = matches!(function, AtomicFunction::And | AtomicFunction::Or);
        let exists = match ty {
            Type::B64 if by_sample => {
                return Err(Failure::refused("no surface has samples of 64 bits"));
            }
            _ if by_sample => ty == Type::B32,
            Type::U32 | Type::S32 | Type::U64 | Type::S64 => !is_logic,
            Type::B32 => is_logic,
            _ => false,
        };
        if !exists {
            return Err(Failure::Unknown);
        }
        let place = self.place(place, kind)?;
        let from = self.source(from, ty)?;
        let named = (!by_sample).then_some(ty);
        self.emit_surface(
            (TextureAction::Reduce(function, named, outside), kind),
            place,
            (vec![from], Vec::new()),
        )
    }

    fn emit_surface(
        &mut self,
        (action, kind): (TextureAction, ImageKind),
        place: ImageOperand,
        (sources, destinations): (Vec<Register>, Vec<Option<Register>>),
    ) -> Outcome {
        if place.sampler.is_some() {
            return Err("a surface has no sampler".into());
        }
        self.emit_texture(TextureOp {
            action,
            kind,
            handle: place.handle,
            sampler: None,
            coordinates: place.coordinates,
            float_coordinates: false,
            offsets: Vec::new(),
            level: Level::Base,
            sources,
            destinations,
            resident: None,
        });
        Ok(())
    }

    /// What the surface instructions have in common.
    fn surface(&mut self, mods: &mut Modifiers<'_>) -> Result<(ImageKind, Outside), Failure> {
        let outside = mods.take_first(|name| {
            Some(match name {
                "trap" => Outside::Trap,
                "clamp" => Outside::Clamp,
                "zero" => Outside::Zero,
                _ => return None,
            })
        });
        let kind = take_geometry(mods)?;
        mods.drop_known(is_hint);
        match kind {
            ImageKind::Cube | ImageKind::Cubes => Err(Failure::Unknown),
            kind => Ok((kind, outside.ok_or(Failure::Unknown)?)),
        }
    }
}

/// Whether an access is formatted (`.p`), not by bytes (`.b`).
fn take_format(mods: &mut Modifiers<'_>) -> Result<bool, Failure> {
    match (mods.take("b"), mods.take("p")) {
        (true, false) => Ok(false),
        (false, true) => Ok(true),
        _ => Err(Failure::Unknown),
    }
}

fn take_surface_type(mods: &mut Modifiers<'_>) -> Result<(usize, Type), Failure> {
    let ty = mods.ty()?;
    let count = take_elements(mods);
    if !mods.rest().is_empty() {
        return Err(Failure::Unknown);
    }
    match (count, ty) {
        (1 | 2 | 4, Type::B8 | Type::B16 | Type::B32) | (1 | 2, Type::B64) => Ok((count, ty)),
        _ => Err(Failure::Unknown),
    }
}
