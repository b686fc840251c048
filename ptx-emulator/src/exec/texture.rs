//! Textures: which texels an access takes, and their values.
//!
//! Coordinates, addressing and filters are those of the CUDA C++ Programming Guide, "Texture
//! Fetching". Weights of linear filtering have 8 bits of fraction, those of the four texels of a
//! plane too; the sum is formed in double precision and rounded once. Channels that an image does
//! not have read as zero.

use std::sync::Arc;

use super::channel::channel_value;
use super::run::{Outcome, RawFault, Run};
use super::texels::{Taps, gather_taps, lod_of_gradient, taps, weighted};
use super::vector::LANES;
use super::warp_ops::{lanes, write};
use crate::error::FaultKind;
use crate::ir::{
    AccessKind, ImageQuery, Level, Reg32, Space, TexelResult, TextureAction, TextureOp,
};
use crate::observer::EventSink;
use crate::texture::{
    AddressMode, Filter, Image, ImageKind, Object, Sampler, TexelFormat, Texture,
};
use ptx_syntax::ast::Type;

/// A fault of the lane.
pub(super) fn bad(message: String, lane: usize) -> Box<RawFault> {
    Box::new(RawFault {
        kind: FaultKind::BadTexture(message),
        lane: Some(lane),
    })
}

impl<O: EventSink> Run<'_, '_, O> {
    /// Lanes with the same handles act together.
    #[inline(never)]
    pub(super) fn texture(&mut self, index: u32, mask: u32) -> Outcome {
        let program = self.program;
        let op = &program.textures[index as usize];
        let handles = self.r.regs64[op.handle.0 as usize];
        let samplers = op.sampler.map(|sampler| self.r.regs64[sampler.0 as usize]);
        let key = |lane: usize| (handles[lane], samplers.map(|samplers| samplers[lane]));
        let mut rest = mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize % LANES;
            let group = lanes(rest).filter(|&lane| key(lane) == key(first));
            let group = group.fold(0, |group, lane| group | 1 << lane);
            rest &= !group;
            let (handle, sampler) = key(first);
            match op.action {
                TextureAction::Fetch(result) => {
                    let texture = as_named(self.texture_of(handle, sampler, first)?, op.kind);
                    self.fetch(op, &texture, result, group)?;
                }
                TextureAction::Gather(component, result) => {
                    let texture = self.texture_of(handle, sampler, first)?;
                    self.gather(op, &texture, (component, result), group)?;
                }
                TextureAction::Query(query) => self.query(op, query, handle, group)?,
                TextureAction::Load(..)
                | TextureAction::Store(..)
                | TextureAction::StoreSample(_)
                | TextureAction::Reduce(..) => {
                    let image = match self.object_of(handle, first)? {
                        Object::Surface(image) => row_as_line(image, op.kind),
                        _ => return Err(bad(format!("{handle:#x} is no surface"), first)),
                    };
                    check_kind(image.kind, op.kind, first)?;
                    self.surface(op, &image, group)?;
                }
            }
            if let Some(resident) = op.resident {
                self.r.set_predicate(group, resident.0, u32::MAX);
            }
        }
        Ok(())
    }

    /// What a handle stands for, or that in the variable at an address.
    fn object_of(&self, handle: u64, lane: usize) -> Result<Object, Box<RawFault>> {
        if let Some(object) = self.launch.memory.object(handle) {
            return Ok(object);
        }
        let within = if handle.is_multiple_of(8) {
            self.read_generic(handle, 8, lane).ok()
        } else {
            None
        };
        let object = within.and_then(|handle| self.launch.memory.object(handle));
        object.ok_or_else(|| {
            let message = format!(
                "{handle:#x} is no texture, sampler or surface, nor a variable that holds one"
            );
            bad(message, lane)
        })
    }

    fn texture_of(
        &self,
        handle: u64,
        sampler: Option<u64>,
        lane: usize,
    ) -> Result<Arc<Texture>, Box<RawFault>> {
        let texture = match self.object_of(handle, lane)? {
            Object::Texture(texture) => texture,
            _ => return Err(bad(format!("{handle:#x} is no texture"), lane)),
        };
        let Some(sampler) = sampler else {
            return Ok(texture);
        };
        let sampler = match self.object_of(sampler, lane)? {
            Object::Sampler(sampler) => sampler,
            Object::Texture(texture) => texture.sampler,
            Object::Surface(_) => return Err(bad(format!("{sampler:#x} is no sampler"), lane)),
        };
        Ok(Arc::new(Texture {
            levels: texture.levels.clone(),
            sampler,
        }))
    }

    pub(super) fn row(&self, registers: &[Reg32], lane: usize) -> [u32; 4] {
        let mut row = [0; 4];
        for (value, reg) in row.iter_mut().zip(registers) {
            *value = self.r.regs32[reg.0 as usize][lane];
        }
        row
    }

    /// The level of detail of a lane: the level, the next one and its weight.
    fn levels(&self, op: &TextureOp, texture: &Texture, lane: usize) -> (usize, usize, f64) {
        let last = texture.levels.len() - 1;
        let sampler = &texture.sampler;
        let lod = match &op.level {
            Level::Base => return (0, 0, 0.0),
            Level::Given(reg) => f32::from_bits(self.r.regs32[reg.0 as usize][lane]),
            Level::Number(reg) => {
                let number = self.r.regs32[reg.0 as usize][lane].cast_signed();
                let level = usize::try_from(number).unwrap_or(0).min(last);
                return (level, level, 0.0);
            }
            Level::Gradient(directions) => {
                let changes = [0, 1].map(|at| self.row(&directions[at], lane).map(f32::from_bits));
                lod_of_gradient(&texture.levels[0], sampler.normalized_coordinates, changes)
            }
        };
        // The clamp may be any two numbers: `f32::clamp` would panic.
        let [low, high] = sampler.level_clamp;
        let lod = (lod + sampler.level_bias).max(low).min(high.max(low));
        let lod = lod.max(0.0).min(last as f32);
        match sampler.level_filter {
            Filter::Point => {
                let level = (lod + 0.5).floor() as usize;
                (level.min(last), level.min(last), 0.0)
            }
            Filter::Linear => {
                let level = (lod.floor() as usize).min(last);
                let weight = f64::from((lod.fract() * 256.0).round() / 256.0);
                (level, (level + 1).min(last), weight)
            }
        }
    }

    /// The texels that a lane takes of a level.
    fn taps_of(&self, op: &TextureOp, (image, sampler): (&Image, &Sampler), lane: usize) -> Taps {
        let coordinates = self.row(&op.coordinates, lane);
        let offsets = self.row(&op.offsets, lane).map(|offset| offset as i32);
        match op.action {
            TextureAction::Gather(..) => gather_taps(image, sampler, coordinates, offsets),
            _ => taps(image, sampler, (coordinates, op.float_coordinates), offsets),
        }
    }

    fn fetch(
        &mut self,
        op: &TextureOp,
        texture: &Texture,
        result: TexelResult,
        mask: u32,
    ) -> Outcome {
        let first = mask.trailing_zeros() as usize % LANES;
        check_kind(texture.levels[0].kind, op.kind, first)?;
        if O::ACCESSES {
            let mut all = Vec::new();
            for lane in lanes(mask) {
                let (level, next, weight) = self.levels(op, texture, lane);
                let next = (weight != 0.0).then_some(next);
                all.extend([Some(level), next].into_iter().flatten().map(|level| {
                    let image = texture.levels[level];
                    (
                        lane,
                        image,
                        self.taps_of(op, (&image, &texture.sampler), lane),
                    )
                }));
            }
            self.observe_taps(&all);
        }
        let mut near = 0;
        for lane in lanes(mask) {
            let (level, next, weight) = self.levels(op, texture, lane);
            let mut texel = self.filtered(op, (texture, level), lane, &mut near)?;
            if weight != 0.0 {
                let next = self.filtered(op, (texture, next), lane, &mut near)?;
                for (channel, next) in texel.iter_mut().zip(next) {
                    let value = |bits| f64::from(f32::from_bits(bits));
                    let mean = value(*channel) * (1.0 - weight) + value(next) * weight;
                    *channel = (mean as f32).to_bits();
                }
            }
            self.write_texel(op, result, texel, lane);
        }
        Ok(())
    }

    fn gather(
        &mut self,
        op: &TextureOp,
        texture: &Texture,
        (component, result): (usize, TexelResult),
        mask: u32,
    ) -> Outcome {
        let first = mask.trailing_zeros() as usize % LANES;
        let image = texture.levels[0];
        check_kind(image.kind, op.kind, first)?;
        let all = lanes(mask).map(|lane| {
            (
                lane,
                image,
                self.taps_of(op, (&image, &texture.sampler), lane),
            )
        });
        let all: Vec<(usize, Image, Taps)> = all.collect();
        self.observe_taps(&all);
        let mut near = 0;
        for (lane, _, taps) in all {
            let mut texel = [0; 4];
            for (value, &(address, _)) in texel.iter_mut().zip(taps.all()) {
                let channels = self.texel((&image, &texture.sampler), address, lane, &mut near)?;
                *value = channels[component];
            }
            self.write_texel(op, result, texel, lane);
        }
        Ok(())
    }

    /// Reports the reads of texels, one of each lane at a time.
    fn observe_taps(&mut self, all: &[(usize, Image, Taps)]) {
        if !O::ACCESSES {
            return;
        }
        let most = all
            .iter()
            .map(|(_, _, taps)| taps.all().len())
            .max()
            .unwrap_or(0);
        for tap in 0..most {
            let mut addresses = [0; LANES];
            let mut mask = 0u32;
            let mut bytes = 0;
            for (lane, image, taps) in all {
                if let Some(&(Some(address), _)) = taps.all().get(tap) {
                    addresses[*lane] = address;
                    mask |= 1 << lane;
                    bytes = image.texel_bytes();
                }
            }
            if mask != 0 {
                let lanes = (mask, false);
                self.observe(Space::Global, AccessKind::Load, bytes, lanes, &addresses);
            }
        }
    }

    /// Of a level the weighted sum of texels, or the one texel as it is.
    fn filtered(
        &self,
        op: &TextureOp,
        (texture, level): (&Texture, usize),
        lane: usize,
        near: &mut u32,
    ) -> Result<[u32; 4], Box<RawFault>> {
        let image = (&texture.levels[level], &texture.sampler);
        let taps = self.taps_of(op, image, lane);
        if let &[(address, _)] = taps.all() {
            return self.texel(image, address, lane, near);
        }
        let mut terms = [([0; 4], 0.0); Taps::MAX];
        for (term, &(address, weight)) in terms.iter_mut().zip(taps.all()) {
            *term = (self.texel(image, address, lane, near)?, weight);
        }
        Ok(weighted(&terms[..taps.all().len()]))
    }

    /// The channels of the texel at an address, or of the border: f32 where the sampler reads
    /// floats, else integers. `near` is the allocation to look at first.
    fn texel(
        &self,
        (image, sampler): (&Image, &Sampler),
        address: Option<u64>,
        lane: usize,
        near: &mut u32,
    ) -> Result<[u32; 4], Box<RawFault>> {
        let reads_floats = reads_floats(image, sampler);
        let Some(address) = address else {
            return Ok(sampler.border.map(|value| match reads_floats {
                true => value.to_bits(),
                false => value as i32 as u32,
            }));
        };
        let bytes = image.format.bytes();
        let places = (0..u64::from(image.channels)).map(|at| address + at * u64::from(bytes));
        let found = self
            .launch
            .allocation_near(near, address, image.texel_bytes().into());
        let mut channels = [0; 4];
        for (at, (channel, address)) in channels.iter_mut().zip(places).enumerate() {
            let bits = match found {
                Some(allocation) if address.is_multiple_of(bytes.into()) => {
                    allocation.read((address - allocation.base) as usize, bytes)
                }
                _ => {
                    self.check(Space::Global, address, bytes, AccessKind::Load, lane)?;
                    self.read_memory(Space::Global, address, bytes, lane, false)
                }
            };
            *channel = channel_value(image.format, sampler, bits, at);
        }
        Ok(channels)
    }

    fn write_texel(&mut self, op: &TextureOp, result: TexelResult, texel: [u32; 4], lane: usize) {
        let half = |bits: u32| {
            let value = f64::from(f32::from_bits(bits));
            let rounding = crate::ir::Rounding::NearestEven;
            super::float::from_f64(value, 0.0, Type::F16, rounding)
        };
        for (at, destination) in op.destinations.iter().enumerate() {
            let Some(destination) = *destination else {
                continue;
            };
            let value = match result {
                TexelResult::Bits32 => u64::from(texel[at]),
                TexelResult::Half => half(texel[at]),
                TexelResult::Halves => half(texel[2 * at]) | half(texel[2 * at + 1]) << 16,
            };
            write(&mut self.r, destination, lane, value);
        }
    }

    fn query(&mut self, op: &TextureOp, query: ImageQuery, handle: u64, mask: u32) -> Outcome {
        let first = mask.trailing_zeros() as usize % LANES;
        let (levels, sampler) = match self.object_of(handle, first)? {
            Object::Texture(texture) => (texture.levels.clone(), texture.sampler),
            Object::Surface(image) => (vec![image], Sampler::default()),
            Object::Sampler(sampler) => (Vec::new(), sampler),
        };
        for lane in lanes(mask) {
            let level = match op.level {
                Level::Number(reg) => self.r.regs32[reg.0 as usize][lane] as usize,
                _ => 0,
            };
            let image = levels.get(level);
            let value = answer(query, image, (levels.len() as u32, &sampler));
            let value = value.ok_or_else(|| {
                bad(
                    format!("{handle:#x} has no level {level} or no {query:?}"),
                    lane,
                )
            })?;
            if let Some(&Some(to)) = op.destinations.first() {
                write(&mut self.r, to, lane, u64::from(value));
            }
        }
        Ok(())
    }
}

/// An image of one row as a line, where an instruction has one coordinate: GPUs read arrays of
/// height 1 so.
fn row_as_line(image: Image, named: ImageKind) -> Image {
    let is_row = image.kind == ImageKind::Plane && image.extents[1] == 1;
    match is_row && named == ImageKind::Line {
        true => Image {
            kind: named,
            ..image
        },
        false => image,
    }
}

/// A line as an image of one row, where an instruction has two coordinates: so CUDA arrays of one
/// dimension are read at integer coordinates.
fn line_as_row(image: Image, named: ImageKind) -> Image {
    match (image.kind, named) {
        (ImageKind::Line, ImageKind::Plane) => Image {
            kind: named,
            ..image
        },
        _ => row_as_line(image, named),
    }
}

/// As [`line_as_row`], of all levels.
fn as_named(texture: Arc<Texture>, named: ImageKind) -> Arc<Texture> {
    if texture.levels[0].kind == named {
        return texture;
    }
    let levels = texture.levels.iter();
    Arc::new(Texture {
        levels: levels.map(|level| line_as_row(*level, named)).collect(),
        sampler: texture.sampler,
    })
}

/// Whether an image has the coordinates of an instruction.
fn check_kind(has: ImageKind, named: ImageKind, lane: usize) -> Outcome {
    match has == named {
        true => Ok(()),
        false => {
            let message = format!("a {has:?} image is accessed as a {named:?}");
            Err(bad(message, lane))
        }
    }
}

fn reads_floats(image: &Image, sampler: &Sampler) -> bool {
    image.format.gives_floats(sampler)
}

/// The answer to a query, in the numbers of the PTX ISA ("Texture Sampler and Surface Types").
fn answer(
    query: ImageQuery,
    image: Option<&Image>,
    (levels, sampler): (u32, &Sampler),
) -> Option<u32> {
    let extent = |axis: usize| image.map(|image| image.extents[axis]);
    Some(match query {
        ImageQuery::Width => extent(0)?,
        ImageQuery::Height => extent(1)?,
        ImageQuery::Depth => match image?.kind {
            ImageKind::Volume => extent(2)?,
            _ => 1,
        },
        ImageQuery::Layers => match image?.kind {
            ImageKind::Lines | ImageKind::Planes => extent(2)?,
            ImageKind::Cubes => extent(2)? / 6,
            _ => 1,
        },
        ImageQuery::ChannelType => match (image?.format, sampler.normalized_float) {
            (TexelFormat::Snorm8, _) | (TexelFormat::S8, true) => 0x10d0,
            (TexelFormat::Snorm16, _) | (TexelFormat::S16, true) => 0x10d1,
            (TexelFormat::Unorm8, _) | (TexelFormat::U8, true) => 0x10d2,
            (TexelFormat::Unorm16, _) | (TexelFormat::U16, true) => 0x10d3,
            (TexelFormat::S8, false) => 0x10d7,
            (TexelFormat::S16, false) => 0x10d8,
            (TexelFormat::S32, _) => 0x10d9,
            (TexelFormat::U8, false) => 0x10da,
            (TexelFormat::U16, false) => 0x10db,
            (TexelFormat::U32, _) => 0x10dc,
            (TexelFormat::F16, _) => 0x10dd,
            (TexelFormat::F32, _) => 0x10de,
        },
        ImageQuery::ChannelOrder => match image?.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        ImageQuery::Normalized => u32::from(sampler.normalized_coordinates),
        ImageQuery::ForcedUnnormalized => u32::from(!sampler.normalized_coordinates),
        ImageQuery::Levels => levels,
        ImageQuery::Samples => 1,
        ImageQuery::Filter => u32::from(sampler.filter == Filter::Linear),
        // wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border.
        ImageQuery::Addressing(axis) => match sampler.addressing[axis] {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 3,
            AddressMode::Border => 4,
        },
        ImageQuery::Layout => 0,
    })
}
