//! Textures: `tex`, `tld4`, `txq`, `suq`, `istypep`.

use super::builder::Builder;
use super::memory::take_elements;
use super::modifiers::{Failure, Modifiers};
use crate::ir::{
    ImageQuery, Level, Op, Predicate, Reg32, Reg64, Register, TexelResult, TextureAction, TextureOp,
};
use crate::texture::ImageKind;
use ptx_syntax::ast::{Operand, Type};

pub(super) type Outcome = Result<(), Failure>;

/// The image, the sampler and the coordinates that an operand in brackets names.
pub(super) struct ImageOperand {
    pub(super) handle: Reg64,
    pub(super) sampler: Option<Reg64>,
    pub(super) coordinates: Vec<Reg32>,
}

impl Builder<'_, '_> {
    pub(super) fn emit_texture(&mut self, op: TextureOp) {
        let index = self.program.textures.len() as u32;
        self.program.textures.push(op);
        self.emit(Op::Texture(index));
    }

    /// `tex[.base|.level|.grad].geometry.v4.dtype.ctype d[|p], [a[, sampler], c] …`
    pub(super) fn texture_fetch(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let by_level = mods.take("level");
        let by_gradient = mods.take("grad");
        mods.take("base");
        let kind = take_geometry(&mut mods)?;
        let float_coordinates = take_coordinate_type(&mut mods)?;
        let (count, result) = take_result(&mut mods)?;
        mods.finish()?;
        if !float_coordinates && matches!(kind, ImageKind::Cube | ImageKind::Cubes) {
            return Err(Failure::Unknown);
        }
        let [to, place, rest @ ..] = operands else {
            return Err("expected a destination and a texture".into());
        };
        let place = self.place(place, kind)?;
        let (level, rest) = match rest {
            // The level is of the type of the coordinates.
            [level, rest @ ..] if by_level && float_coordinates => {
                (Level::Given(self.reg32(level, Type::F32)?), rest)
            }
            [level, rest @ ..] if by_level => (Level::Number(self.reg32(level, Type::S32)?), rest),
            [x, y, rest @ ..] if by_gradient => {
                let x = self.words(x, Type::F32)?;
                (Level::Gradient([x, self.words(y, Type::F32)?]), rest)
            }
            rest => (Level::Base, rest),
        };
        let offsets = self.texture_offsets(rest)?;
        let (to, resident) = self.texture_destination(to)?;
        let destinations = self.texels(&to, count, result)?;
        self.emit_texture(TextureOp {
            action: TextureAction::Fetch(result),
            kind,
            handle: place.handle,
            sampler: place.sampler,
            coordinates: place.coordinates,
            float_coordinates,
            offsets,
            level,
            sources: Vec::new(),
            destinations,
            resident,
        });
        Ok(())
    }

    /// `tld4.component.geometry.v4.dtype.f32 d[|p], [a[, sampler], c][, offsets]`
    pub(super) fn texture_gather(
        &mut self,
        mut mods: Modifiers<'_>,
        operands: &[Operand],
    ) -> Outcome {
        let component =
            mods.take_first(|name| ["r", "g", "b", "a"].iter().position(|&c| c == name));
        let component = component.ok_or(Failure::Unknown)?;
        let kind = take_geometry(&mut mods)?;
        let has_four = matches!(
            kind,
            ImageKind::Plane | ImageKind::Planes | ImageKind::Cube | ImageKind::Cubes
        );
        if !take_coordinate_type(&mut mods)? || !has_four {
            return Err(Failure::Unknown);
        }
        let (count, result) = take_result(&mut mods)?;
        mods.finish()?;
        if result != TexelResult::Bits32 {
            return Err(Failure::Unknown);
        }
        let [to, place, rest @ ..] = operands else {
            return Err("expected a destination and a texture".into());
        };
        let place = self.place(place, kind)?;
        let offsets = self.texture_offsets(rest)?;
        let (to, resident) = self.texture_destination(to)?;
        let destinations = self.texels(&to, count, result)?;
        self.emit_texture(TextureOp {
            action: TextureAction::Gather(component, result),
            kind,
            handle: place.handle,
            sampler: place.sampler,
            coordinates: place.coordinates,
            float_coordinates: true,
            offsets,
            level: Level::Base,
            sources: Vec::new(),
            destinations,
            resident,
        });
        Ok(())
    }

    /// `txq[.level].query.b32 d, [a][, level]` and `suq.query.b32 d, [a]`
    pub(super) fn image_query(&mut self, mut mods: Modifiers<'_>, operands: &[Operand]) -> Outcome {
        let by_level = mods.take("level");
        let query = mods.take_first(|name| {
            Some(match name {
                "width" => ImageQuery::Width,
                "height" => ImageQuery::Height,
                "depth" => ImageQuery::Depth,
                "array_size" => ImageQuery::Layers,
                "channel_data_type" => ImageQuery::ChannelType,
                "channel_order" => ImageQuery::ChannelOrder,
                "normalized_coords" => ImageQuery::Normalized,
                "num_mipmap_levels" => ImageQuery::Levels,
                "num_samples" => ImageQuery::Samples,
                "force_unnormalized_coords" => ImageQuery::ForcedUnnormalized,
                "filter_mode" => ImageQuery::Filter,
                "addr_mode_0" => ImageQuery::Addressing(0),
                "addr_mode_1" => ImageQuery::Addressing(1),
                "addr_mode_2" => ImageQuery::Addressing(2),
                "memory_layout" => ImageQuery::Layout,
                _ => return None,
            })
        });
        let query = query.ok_or(Failure::Unknown)?;
        if mods.ty()? != Type::B32 {
            return Err(Failure::Unknown);
        }
        mods.finish()?;
        let (to, handle, level) = match operands {
            [to, handle] if !by_level => (to, handle, None),
            [to, handle, level] if by_level => (to, handle, Some(level)),
            _ => return Err("expected a destination and an image".into()),
        };
        let Operand::Address {
            base: Some(name),
            offset: 0,
        } = *handle
        else {
            return Err("expected an image in brackets".into());
        };
        let level = match level {
            Some(level) => Level::Number(self.reg32(level, Type::S32)?),
            None => Level::Base,
        };
        let op = TextureOp {
            action: TextureAction::Query(query),
            kind: ImageKind::Line,
            handle: self.reg64(&Operand::Name(name), Type::B64)?,
            sampler: None,
            coordinates: Vec::new(),
            float_coordinates: false,
            offsets: Vec::new(),
            level,
            sources: Vec::new(),
            destinations: vec![Some(Register::Reg32(self.reg32_destination(to)?))],
            resident: None,
        };
        self.emit_texture(op);
        Ok(())
    }

    /// `istypep.type p, a`: what a variable or a handle is, is known when the kernel runs alone.
    pub(super) fn is_type(&mut self) -> Outcome {
        Err(Failure::refused(
            "what an opaque handle is cannot be asked: istypep is not supported",
        ))
    }

    /// `[a, c]` or `[a, sampler, c]`
    pub(super) fn place(
        &mut self,
        operand: &Operand,
        kind: ImageKind,
    ) -> Result<ImageOperand, Failure> {
        let (image, sampler, coordinates) = match *operand {
            Operand::Tensor {
                map,
                offset: 0,
                coordinates,
            } => (map, None, coordinates),
            Operand::Texture {
                image,
                sampler,
                coordinates,
            } => (image, Some(sampler), coordinates),
            _ => return Err("expected an image and coordinates in brackets".into()),
        };
        let given = self.elements(coordinates);
        // Vectors have 1, 2 or 4 elements; those that the geometry has no use for mean nothing.
        let needed = match kind {
            ImageKind::Line => 1,
            ImageKind::Plane | ImageKind::Lines => 2,
            ImageKind::Volume | ImageKind::Planes | ImageKind::Cube => 3,
            ImageKind::Cubes => 4,
        };
        let parts = match given {
            [one] => self.parts(one).into_owned(),
            several => several.to_vec(),
        };
        if parts.len() < needed || !matches!(parts.len(), 1 | 2 | 4) {
            let found = parts.len();
            return Err(format!("expected {needed} coordinates, found {found}").into());
        }
        let coordinates = parts[..needed].iter();
        let coordinates = coordinates
            .map(|coordinate| self.reg32(coordinate, Type::B32))
            .collect::<Result<_, _>>()?;
        Ok(ImageOperand {
            handle: self.reg64(&Operand::Name(image), Type::B64)?,
            sampler: sampler
                .map(|sampler| self.reg64(&Operand::Name(sampler), Type::B64))
                .transpose()?,
            coordinates,
        })
    }

    fn words(&mut self, operand: &Operand, ty: Type) -> Result<Vec<Reg32>, Failure> {
        let parts = self.parts(operand).into_owned();
        let read = parts.iter().filter(|part| !matches!(part, Operand::Sink));
        read.map(|part| self.reg32(part, ty)).collect()
    }

    /// The optional offsets behind the coordinates.
    fn texture_offsets(&mut self, operands: &[Operand]) -> Result<Vec<Reg32>, Failure> {
        match operands {
            [] => Ok(Vec::new()),
            [offsets @ Operand::Vector(_)] => self.words(offsets, Type::S32),
            [..] => Err(Failure::refused(
                "comparison with a depth is not supported: no API of CUDA makes depth textures",
            )),
        }
    }

    fn texture_destination(
        &mut self,
        operand: &Operand,
    ) -> Result<(Operand, Option<Predicate>), Failure> {
        Ok(match *operand {
            Operand::VectorPair(elements, resident) => {
                (Operand::Vector(elements), Some(self.predicate(resident)?))
            }
            Operand::Pair(to, resident) => (Operand::Name(to), Some(self.predicate(resident)?)),
            other => (other, None),
        })
    }

    fn texels(
        &mut self,
        to: &Operand,
        count: usize,
        result: TexelResult,
    ) -> Result<Vec<Option<Register>>, Failure> {
        let ty = match result {
            TexelResult::Half => Type::B16,
            TexelResult::Bits32 | TexelResult::Halves => Type::B32,
        };
        let mut all = Vec::new();
        for operand in &*self.parts_of(to, count)? {
            all.push(match operand {
                Operand::Sink => None,
                operand => Some(self.destination(operand, ty)?),
            });
        }
        Ok(all)
    }

    /// An instruction that is known and cannot run, with the reason.
    pub(super) fn refuse(&mut self, opcode: &str, reason: &str) -> Outcome {
        let reason = format!("`{opcode}` is not supported: {reason}");
        Err(Failure::Refused(reason))
    }
}

pub(super) fn take_geometry(mods: &mut Modifiers<'_>) -> Result<ImageKind, Failure> {
    const NAMES: [(&str, ImageKind); 7] = [
        ("1d", ImageKind::Line),
        ("2d", ImageKind::Plane),
        ("3d", ImageKind::Volume),
        ("a1d", ImageKind::Lines),
        ("a2d", ImageKind::Planes),
        ("cube", ImageKind::Cube),
        ("acube", ImageKind::Cubes),
    ];
    if mods.take("2dms") || mods.take("a2dms") {
        return Err(Failure::refused(
            "textures of several samples are not supported: no API of CUDA makes them",
        ));
    }
    let found = NAMES.into_iter().find(|(name, _)| mods.take(name));
    found.map(|(_, kind)| kind).ok_or(Failure::Unknown)
}

/// Whether coordinates are f32, not s32.
fn take_coordinate_type(mods: &mut Modifiers<'_>) -> Result<bool, Failure> {
    match mods.ty()? {
        Type::F32 => Ok(true),
        Type::S32 => Ok(false),
        _ => Err(Failure::Unknown),
    }
}

/// The registers of a texel.
fn take_result(mods: &mut Modifiers<'_>) -> Result<(usize, TexelResult), Failure> {
    let ty = mods.ty()?;
    match (take_elements(mods), ty) {
        (4, Type::U32 | Type::S32 | Type::F32) => Ok((4, TexelResult::Bits32)),
        (4, Type::F16) => Ok((4, TexelResult::Half)),
        (2, Type::F16x2) => Ok((2, TexelResult::Halves)),
        _ => Err(Failure::Unknown),
    }
}
