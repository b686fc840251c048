//! Arrays, textures and surfaces.

use std::ffi::{c_int, c_uint};

use crate::api::array::call;
use crate::array::{Descriptor, Resource, TextureDescriptor};
use crate::code::{Code, Result};
use crate::pointer::{Host, In, Out};
use crate::resource_view::ResourceView;
use crate::state::{Handle, driver};

use super::memory::Extent;
use super::{enter, result};

/// `cudaChannelFormatDesc`: bits of each channel, and what they are.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Channels {
    bits: [c_int; 4],
    kind: c_uint,
}

/// `CUarray_format`s of integers with and without sign, and of floats, with their bits.
const FORMATS: [(u32, c_uint, c_int); 8] = [
    (8, 0, 8),
    (9, 0, 16),
    (10, 0, 32),
    (1, 1, 8),
    (2, 1, 16),
    (3, 1, 32),
    (16, 2, 16),
    (32, 2, 32),
];

impl Channels {
    /// `CUarray_format` and the number of channels.
    fn format(&self) -> Result<(u32, u32)> {
        let count = self.bits.iter().take_while(|bits| **bits > 0).count();
        let [first, ..] = self.bits;
        if self.bits[..count].iter().any(|bits| *bits != first)
            || self.bits[count..] != [0; 4][count..]
        {
            return Err(INVALID_CHANNELS);
        }
        let mut all = FORMATS.iter();
        let found = all.find(|(_, kind, bits)| (*kind, *bits) == (self.kind, first));
        let (format, ..) = found.ok_or(INVALID_CHANNELS)?;
        Ok((*format, count as u32))
    }

    fn of(format: u32, count: u32) -> Result<Self> {
        let mut all = FORMATS.iter();
        let (_, kind, bits) = *all.find(|one| one.0 == format).ok_or(Code::INVALID_VALUE)?;
        let mut channels = Channels { bits: [0; 4], kind };
        channels.bits[..count.min(4) as usize].fill(bits);
        Ok(channels)
    }
}

/// `cudaErrorInvalidChannelDescriptor`.
const INVALID_CHANNELS: Code = Code(20);

fn descriptor(channels: In<Channels>, extent: Extent, flags: c_uint) -> Result<Descriptor> {
    enter()?;
    let (format, channels) = channels.get()?.format()?;
    let extents = [extent.width, extent.height, extent.depth];
    Ok(Descriptor {
        extents,
        format,
        channels,
        flags,
    })
}

/// `cudaResourceDesc`: as the driver's, but for the channels of linear memory.
fn resource(from: Host) -> Result<Resource> {
    // What CUDA 13 has behind these is reserved.
    let bytes = from.vec(64)?;
    let mut all = [0u64; 17];
    for (word, bytes) in all.iter_mut().zip(bytes.chunks_exact(8)) {
        let bytes: [u8; 8] = bytes.try_into().map_err(|_| Code::INVALID_VALUE)?;
        *word = u64::from_le_bytes(bytes);
    }
    let [kind, mut words @ ..] = all;
    let kind = u64::from(kind as u32);
    if kind >= 2 {
        // Channels of five numbers, which leave half a word, become two numbers in one.
        let number = |index: usize| (words[1 + index / 2] >> (32 * (index % 2))) as u32;
        let channels = Channels {
            bits: [0, 1, 2, 3].map(|index| number(index).cast_signed()),
            kind: number(4),
        };
        let (format, count) = channels.format()?;
        let [_, _, _, _, width, height, pitch, ..] = words;
        words[1..5].copy_from_slice(&[
            u64::from(format) | u64::from(count) << 32,
            width,
            height,
            pitch,
        ]);
    }
    Ok(Resource {
        kind,
        words,
        flags: 0,
    })
}

/// `cudaTextureDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Texture {
    addressing: [u32; 3],
    filter: u32,
    reads_normalized: u32,
    srgb: u32,
    border: [f32; 4],
    normalized: u32,
    anisotropy: u32,
    level_filter: u32,
    level_bias: f32,
    level_clamp: [f32; 2],
    no_trilinear_optimization: u32,
    seamless_cube: u32,
}

impl Texture {
    /// As the driver has it: switches are bits of its flags.
    fn descriptor(&self) -> TextureDescriptor {
        let flag = |is: bool, bit: u32| if is { bit } else { 0 };
        let flags = flag(self.reads_normalized == 0, 1)
            | flag(self.normalized != 0, 2)
            | flag(self.srgb != 0, 0x10)
            | flag(self.no_trilinear_optimization != 0, 0x20)
            | flag(self.seamless_cube != 0, 0x40);
        TextureDescriptor::new(
            (self.addressing, self.filter, flags, self.anisotropy),
            (self.level_filter, self.level_bias, self.level_clamp),
            self.border,
        )
    }
}

fn create_texture(to: Out<u64>, from: Host, how: In<Texture>, view: In<ResourceView>) -> Result {
    enter()?;
    let (resource, texture) = (resource(from)?, how.get()?.descriptor());
    call::cuTexObjectCreate(to, In::of(&resource), In::of(&texture), view)
}

fn info(
    (channels, extent, flags): (Out<Channels>, Out<Extent>, Out<c_uint>),
    array: Handle,
) -> Result {
    let made = driver()?.arrays.get(array)?.descriptor;
    let [width, height, depth] = made.extents;
    channels.set_optional(Channels::of(made.format, made.channels)?);
    extent.set_optional(Extent {
        width,
        height,
        depth,
    });
    flags.set_optional(made.flags);
    Ok(())
}

/// `cudaCreateChannelDesc` of the CUDA runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_uint,
) -> Channels {
    Channels {
        bits: [x, y, z, w],
        kind,
    }
}

runtime! {
    fn cudaMallocArray(
        to: Out<Handle>, channels: In<Channels>, width: usize, height: usize, flags: c_uint,
    ) {
        let extent = Extent { width, height, depth: 0 };
        call::cuArray3DCreate_v2(to, In::of(&descriptor(channels, extent, flags)?))
    }

    fn cudaMalloc3DArray(to: Out<Handle>, channels: In<Channels>, extent: Extent, flags: c_uint) {
        call::cuArray3DCreate_v2(to, In::of(&descriptor(channels, extent, flags)?))
    }

    fn cudaMallocMipmappedArray(
        to: Out<Handle>, channels: In<Channels>, extent: Extent, levels: c_uint, flags: c_uint,
    ) {
        let descriptor = descriptor(channels, extent, flags)?;
        call::cuMipmappedArrayCreate(to, In::of(&descriptor), levels)
    }

    fn cudaGetMipmappedArrayLevel(to: Out<Handle>, mipmapped: Handle, level: c_uint) {
        call::cuMipmappedArrayGetLevel(to, mipmapped, level)
    }

    fn cudaFreeArray(array: Handle) {
        enter()?;
        if array == 0 { Ok(()) } else { call::cuArrayDestroy(array) }
    }

    fn cudaFreeMipmappedArray(mipmapped: Handle) {
        enter()?;
        if mipmapped == 0 { Ok(()) } else { call::cuMipmappedArrayDestroy(mipmapped) }
    }

    fn cudaArrayGetInfo(
        channels: Out<Channels>, extent: Out<Extent>, flags: Out<c_uint>, array: Handle,
    ) {
        info((channels, extent, flags), array)
    }

    fn cudaGetChannelDesc(to: Out<Channels>, array: Handle) {
        info((to, Out::NONE, Out::NONE), array)
    }

    fn cudaCreateTextureObject(
        to: Out<u64>, from: Host, how: In<Texture>, view: In<ResourceView>,
    ) {
        create_texture(to, from, how, view)
    }

    fn cudaDestroyTextureObject(handle: u64) {
        enter()?;
        if handle == 0 { Ok(()) } else { call::cuTexObjectDestroy(handle) }
    }

    fn cudaCreateSurfaceObject(to: Out<u64>, from: Host) {
        enter()?;
        let resource = resource(from)?;
        let made = result(|to| call::cuSurfObjectCreate(to, In::of(&resource)))?;
        to.set(made)
    }

    fn cudaDestroySurfaceObject(handle: u64) {
        enter()?;
        if handle == 0 { Ok(()) } else { call::cuSurfObjectDestroy(handle) }
    }
}
