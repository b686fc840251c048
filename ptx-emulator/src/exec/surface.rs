//! Surfaces: accesses by bytes, and by samples, which are converted to the format of the surface.
//!
//! The PTX ISA ("sust") names the type of the source by the format, and does not say how values
//! are rounded or what becomes of those that the format does not have. Here a float is rounded to
//! the nearest value, and an integer is clamped, as Direct3D has it for such stores ("Data
//! Conversion" of its functional specification).

use super::channel::channel_bits;
use super::run::{Outcome, RawFault, Run};
use super::texture::bad;
use super::vector::LANES;
use super::warp_ops::{lanes, read, write};
use crate::error::{AccessFault, FaultKind};
use crate::ir::{AccessKind, Outside, Space, TextureAction, TextureOp};
use crate::observer::EventSink;
use crate::texture::{Image, ImageKind, TexelFormat};
use ptx_syntax::ast::Type;

impl<O: EventSink> Run<'_, '_, O> {
    pub(super) fn surface(&mut self, op: &TextureOp, image: &Image, mask: u32) -> Outcome {
        let first = mask.trailing_zeros() as usize % LANES;
        let access = SurfaceAccess::new(op, image, first)?;
        let SurfaceAccess { kind, bytes, .. } = access;
        let mut addresses = [0; LANES];
        let mut inside = 0u32;
        for lane in lanes(mask) {
            let coordinates = self.row(&op.coordinates, lane);
            match surface_address(image, coordinates, &access) {
                Ok(Some(address)) => {
                    addresses[lane] = address;
                    inside |= 1 << lane;
                }
                Ok(None) => {}
                Err(nearest) => {
                    let fault = AccessFault {
                        access: kind,
                        space: Space::Global,
                        address: image.address,
                        bytes,
                        nearest,
                    };
                    return Err(Box::new(RawFault {
                        kind: FaultKind::OutOfBounds(fault),
                        lane: Some(lane),
                    }));
                }
            }
        }
        if inside != 0 {
            let strong = kind == AccessKind::Atomic;
            let lanes = (inside, strong);
            self.observe(Space::Global, kind, bytes, lanes, &addresses);
        }
        for lane in lanes(mask) {
            let address = (inside >> lane & 1 != 0).then_some(addresses[lane]);
            self.surface_lane(op, (image, &access), address, lane)?;
        }
        Ok(())
    }

    /// The access of a lane; without an address it lies outside, where a load reads zeros.
    fn surface_lane(
        &mut self,
        op: &TextureOp,
        (image, access): (&Image, &SurfaceAccess),
        address: Option<u64>,
        lane: usize,
    ) -> Outcome {
        for at in 0..access.count as usize {
            let bytes = access.part_bytes;
            let address = address.map(|address| address + at as u64 * u64::from(bytes));
            if let Some(address) = address {
                self.check(Space::Global, address, bytes, access.kind, lane)?;
            }
            match (op.action, address) {
                (TextureAction::Load(..), address) => {
                    let value = address.map_or(0, |address| {
                        self.read_memory(Space::Global, address, bytes, lane, false)
                    });
                    if let Some(to) = op.destinations[at] {
                        write(&mut self.r, to, lane, value);
                    }
                }
                (TextureAction::Store(..), Some(address)) => {
                    let value = read(&self.r, op.sources[at], lane);
                    self.write_memory(Space::Global, address, bytes, lane, value, false);
                }
                (TextureAction::StoreSample(_), Some(address)) => {
                    let value = read(&self.r, op.sources[at], lane) as u32;
                    let value = channel_bits(image.format, value);
                    self.write_memory(Space::Global, address, bytes, lane, value, false);
                }
                (TextureAction::Reduce(function, ..), Some(address)) => {
                    let operand = read(&self.r, op.sources[at], lane);
                    let what = (function, access.ty);
                    let update = |old| super::atomic::updated(what, Space::Global, old, operand, 0);
                    if let Some(allocation) = self.launch.allocation(address, u64::from(bytes)) {
                        let launch = self.launch;
                        super::atomic::update_global(launch, allocation, address, bytes, update);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What the lanes of a surface instruction have in common.
struct SurfaceAccess {
    kind: AccessKind,
    /// Bytes that a lane accesses, and of each part of them.
    bytes: u32,
    part_bytes: u32,
    count: u32,
    /// Bytes by which x counts.
    x_bytes: u32,
    /// The type of a reduction.
    ty: Type,
    outside: Outside,
}

impl SurfaceAccess {
    fn new(op: &TextureOp, image: &Image, lane: usize) -> Result<Self, Box<RawFault>> {
        let parts = op.destinations.len().max(op.sources.len()).max(1) as u32;
        let channel = image.format.bytes();
        let (kind, outside, (part_bytes, count), x_bytes, ty) = match op.action {
            TextureAction::Load(bytes, outside) => {
                (AccessKind::Load, outside, (bytes, parts), 1, Type::B32)
            }
            TextureAction::Store(bytes, outside) => {
                (AccessKind::Store, outside, (bytes, parts), 1, Type::B32)
            }
            // Channels that the source does not have would get an unpredictable value.
            TextureAction::StoreSample(outside) => {
                let parts = (channel, parts.min(image.channels));
                let texel = image.texel_bytes();
                (AccessKind::Store, outside, parts, texel, Type::B32)
            }
            TextureAction::Reduce(_, Some(ty), outside) => {
                (AccessKind::Atomic, outside, (ty.bytes(), 1), 1, ty)
            }
            TextureAction::Reduce(_, None, outside) => {
                let ty = sample_type(image, lane)?;
                (AccessKind::Atomic, outside, (channel, 1), channel, ty)
            }
            TextureAction::Fetch(_) | TextureAction::Gather(..) | TextureAction::Query(_) => {
                return Err(bad("no access to a surface".to_string(), lane));
            }
        };
        Ok(SurfaceAccess {
            kind,
            bytes: part_bytes * count,
            part_bytes,
            count,
            x_bytes,
            ty,
            outside,
        })
    }
}

/// The type of a reduction of samples: other formats have an undefined result (PTX ISA, "sured").
fn sample_type(image: &Image, lane: usize) -> Result<Type, Box<RawFault>> {
    match (image.format, image.channels) {
        (TexelFormat::U32, 1) => Ok(Type::U32),
        (TexelFormat::S32, 1) => Ok(Type::S32),
        (format, channels) => Err(bad(
            format!(
                "sured.p needs a surface of one channel of U32 or S32, not of {channels} of \
                 {format:?}"
            ),
            lane,
        )),
    }
}

/// The address of a surface access, none where it does nothing. Else where it is.
fn surface_address(
    image: &Image,
    coordinates: [u32; 4],
    access: &SurfaceAccess,
) -> Result<Option<u64>, String> {
    let SurfaceAccess { bytes, outside, .. } = *access;
    let [a, b, c, _] = coordinates.map(|coordinate| i64::from(coordinate as i32));
    let [mut x, mut y, mut z] = match image.kind {
        ImageKind::Line => [a, 0, 0],
        ImageKind::Plane => [a, b, 0],
        ImageKind::Lines => [b, 0, a],
        ImageKind::Planes | ImageKind::Cube | ImageKind::Cubes => [b, c, a],
        ImageKind::Volume => [a, b, c],
    };
    x *= i64::from(access.x_bytes);
    let row = i64::from(image.extents[0]) * i64::from(image.texel_bytes());
    let last = [
        row - i64::from(bytes.max(access.x_bytes)),
        i64::from(image.extents[1]) - 1,
        i64::from(image.extents[2]) - 1,
    ];
    let is_outside = [x, y, z]
        .iter()
        .zip(last)
        .any(|(&at, last)| at < 0 || at > last);
    if is_outside || last[0] < 0 {
        match outside {
            Outside::Zero => return Ok(None),
            Outside::Clamp if last[0] >= 0 => {
                [x, y, z] = [
                    x.clamp(0, last[0]),
                    y.clamp(0, last[1]),
                    z.clamp(0, last[2]),
                ];
            }
            Outside::Clamp | Outside::Trap => {
                let [_, height, depth] = image.extents;
                return Err(format!(
                    "the access is at byte {x} of row {y} of plane {z}; the surface has {depth} \
                     planes of {height} rows of {row} bytes"
                ));
            }
        }
    }
    let rows = (y as u64).wrapping_mul(image.row_bytes);
    let planes = (z as u64).wrapping_mul(image.plane_bytes);
    let offset = (x as u64).wrapping_add(rows).wrapping_add(planes);
    Ok(Some(image.address.wrapping_add(offset)))
}
