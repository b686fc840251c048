//! Arrays, and the textures and surfaces that read and write them.

use std::collections::HashMap;
use std::sync::Mutex;

use ptx_emulator::{AddressMode, Filter, Image, ImageKind, Sampler, TexelFormat, Texture};

use crate::code::{Code, Result};
use crate::context::Current;
use crate::memory::Kind;
use crate::resource_view::ResourceView;
use crate::state::{Driver, Handle, lock};

/// Flags of an array: layers, a cube.
const LAYERED: u32 = 1;
const CUBEMAP: u32 = 4;
/// Flags that an array may have: these, surfaces, gathers.
const FLAGS: u32 = LAYERED | 2 | CUBEMAP | 8;

/// The kind of resource that is a mipmapped array; that before it, 0, is an array.
const MIPMAPPED: u32 = 1;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    pub(crate) extents: [usize; 3],
    pub(crate) format: u32,
    pub(crate) channels: u32,
    pub(crate) flags: u32,
}

/// An array: an image in device memory that the program knows by a handle.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) context: Handle,
    pub(crate) descriptor: Descriptor,
    pub(crate) image: Image,
    /// Whether it is a level of a mipmapped array, which owns it.
    pub(crate) is_level: bool,
}

/// A mipmapped array: the handles of its levels.
#[derive(Debug)]
pub(crate) struct Mipmapped {
    pub(crate) context: Handle,
    pub(crate) levels: Vec<Handle>,
}

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    pub(crate) kind: u64,
    pub(crate) words: [u64; 16],
    pub(crate) flags: u64,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TextureDescriptor {
    addressing: [u32; 3],
    filter: u32,
    flags: u32,
    anisotropy: u32,
    level_filter: u32,
    level_bias: f32,
    level_clamp: [f32; 2],
    border: [f32; 4],
    reserved: [u32; 12],
}

/// What a texture or a surface was made from; the latter has neither descriptor nor view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeFrom {
    pub(crate) resource: Resource,
    pub(crate) descriptor: Option<TextureDescriptor>,
    pub(crate) view: Option<ResourceView>,
}

/// What textures and surfaces were made from, by handle.
#[derive(Debug, Default)]
pub(crate) struct Textures(Mutex<HashMap<u64, MadeFrom>>);

impl Textures {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a handle of neither.
    pub(crate) fn get(&self, handle: u64) -> Result<MadeFrom> {
        lock(&self.0)
            .get(&handle)
            .copied()
            .ok_or(Code::INVALID_VALUE)
    }
}

/// The format and the channels of an array. Formats of normalised integers name their channels:
/// those of 1, 2 and 4 are behind each other.
fn texels(number: u32, channels: u32) -> Result<(TexelFormat, u32)> {
    let counted = |format, first: u32| match 1 << (number - first) == channels {
        true => Ok(format),
        false => Err(Code::INVALID_VALUE),
    };
    let format = match number {
        1 => TexelFormat::U8,
        2 => TexelFormat::U16,
        3 => TexelFormat::U32,
        8 => TexelFormat::S8,
        9 => TexelFormat::S16,
        10 => TexelFormat::S32,
        16 => TexelFormat::F16,
        32 => TexelFormat::F32,
        0xc0..=0xc2 => counted(TexelFormat::Unorm8, 0xc0)?,
        0xc3..=0xc5 => counted(TexelFormat::Unorm16, 0xc3)?,
        0xc6..=0xc8 => counted(TexelFormat::Snorm8, 0xc6)?,
        0xc9..=0xcb => counted(TexelFormat::Snorm16, 0xc9)?,
        0 => return Err(Code::INVALID_VALUE),
        other => {
            eprintln!("warpladder cuda: arrays of CUarray_format {other:#x} are not supported");
            return Err(Code::NOT_SUPPORTED);
        }
    };
    match channels {
        1 | 2 | 4 => Ok((format, channels)),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn extent(texels: usize) -> Result<u32> {
    u32::try_from(texels).map_err(|_| Code::INVALID_VALUE)
}

impl Descriptor {
    fn kind(&self) -> Result<ImageKind> {
        let [width, height, depth] = self.extents;
        let is = |flag| self.flags & flag != 0;
        if width == 0 || self.flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        Ok(match (is(LAYERED), is(CUBEMAP)) {
            (false, true) if width == height && depth == 6 => ImageKind::Cube,
            (true, true) if width == height && depth > 0 && depth % 6 == 0 => ImageKind::Cubes,
            (_, true) => return Err(Code::INVALID_VALUE),
            (true, _) if depth == 0 => return Err(Code::INVALID_VALUE),
            (true, _) if height == 0 => ImageKind::Lines,
            (true, _) => ImageKind::Planes,
            _ if depth > 0 && height > 0 => ImageKind::Volume,
            _ if depth > 0 => return Err(Code::INVALID_VALUE),
            _ if height > 0 => ImageKind::Plane,
            _ => ImageKind::Line,
        })
    }

    /// The image at an address.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`, or `CUDA_ERROR_NOT_SUPPORTED` for other formats.
    fn image(&self, address: u64) -> Result<Image> {
        let [width, height, depth] = self.extents;
        let extents = [
            extent(width)?,
            extent(height.max(1))?,
            extent(depth.max(1))?,
        ];
        let texels = texels(self.format, self.channels)?;
        Ok(Image::packed(address, self.kind()?, texels, extents))
    }

    fn level(&self, level: u32) -> Self {
        let halve = |texels: usize| {
            if texels == 0 {
                0
            } else {
                (texels >> level).max(1)
            }
        };
        let [width, height, depth] = self.extents;
        let is_volume = self.flags & (LAYERED | CUBEMAP) == 0;
        let depth = if is_volume { halve(depth) } else { depth };
        Descriptor {
            extents: [halve(width), halve(height), depth],
            ..*self
        }
    }
}

impl Driver {
    fn array(&self, current: &Current, descriptor: Descriptor, is_level: bool) -> Result<Handle> {
        let bytes = descriptor.image(0)?.bytes().ok_or(Code::INVALID_VALUE)?;
        let place = (current.context.device, current.handle, 0);
        let address = self.allocate(bytes, Kind::EmulatedDevice, place)?;
        Ok(self.arrays.insert(Array {
            context: current.handle,
            descriptor,
            image: descriptor.image(address)?,
            is_level,
        }))
    }

    /// # Errors
    /// Those of [`Descriptor::image`] and of an allocation.
    pub(crate) fn create_array(&self, current: &Current, made: Descriptor) -> Result<Handle> {
        self.array(current, made, false)
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`; a level of a mipmapped array is not destroyed by itself.
    pub(crate) fn destroy_array(&self, handle: Handle) -> Result {
        if self.arrays.get(handle)?.is_level {
            return Err(Code::INVALID_HANDLE);
        }
        self.free_array(handle)
    }

    fn free_array(&self, handle: Handle) -> Result {
        let array = self.arrays.remove(handle)?;
        self.release(array.image.address, |kind| kind == Kind::EmulatedDevice)
    }

    /// # Errors
    /// As [`Driver::create_array`], and `CUDA_ERROR_INVALID_VALUE` for more levels than there are.
    pub(crate) fn create_mipmapped(
        &self,
        current: &Current,
        descriptor: Descriptor,
        levels: u32,
    ) -> Result<Handle> {
        let longest = descriptor.extents.into_iter().max().unwrap_or(0);
        let most = usize::BITS - longest.leading_zeros();
        if levels == 0 || levels > most {
            return Err(Code::INVALID_VALUE);
        }
        let all = (0..levels).map(|level| self.array(current, descriptor.level(level), true));
        Ok(self.mipmapped.insert(Mipmapped {
            context: current.handle,
            levels: all.collect::<Result<_>>()?,
        }))
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE`.
    pub(crate) fn destroy_mipmapped(&self, handle: Handle) -> Result {
        let removed = self.mipmapped.remove(handle)?;
        removed
            .levels
            .iter()
            .try_for_each(|level| self.free_array(*level))
    }

    /// The images of a resource, the largest first.
    fn images(&self, resource: &Resource) -> Result<Vec<Image>> {
        let [first, format, width, height, pitch, ..] = resource.words;
        let image = |kind, extents| -> Result<Image> {
            let texels = texels(format as u32, (format >> 32) as u32)?;
            Ok(Image::packed(first, kind, texels, extents))
        };
        Ok(match resource.kind as u32 {
            0 => vec![self.arrays.get(first as Handle)?.image],
            1 => {
                let mipmapped = self.mipmapped.get(first as Handle)?;
                let all = mipmapped
                    .levels
                    .iter()
                    .map(|one| Ok(self.arrays.get(*one)?.image));
                all.collect::<Result<_>>()?
            }
            2 => {
                let bytes = u64::from(image(ImageKind::Line, [1; 3])?.texel_bytes());
                vec![image(
                    ImageKind::Line,
                    [extent((width / bytes) as usize)?, 1, 1],
                )?]
            }
            3 => {
                let extents = [extent(width as usize)?, extent(height as usize)?, 1];
                let packed = image(ImageKind::Plane, extents)?;
                vec![Image {
                    row_bytes: pitch,
                    plane_bytes: pitch.saturating_mul(height),
                    ..packed
                }]
            }
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` or `CUDA_ERROR_INVALID_VALUE`, after a line that says what is
    /// wrong.
    pub(crate) fn create_texture(
        &self,
        resource: Resource,
        descriptor: TextureDescriptor,
        view: Option<ResourceView>,
    ) -> Result<u64> {
        let levels = self.images(&resource)?;
        let levels = match view {
            Some(view) if resource.kind as u32 <= MIPMAPPED => view.of(&levels)?,
            Some(_) => return Err(Code::INVALID_VALUE),
            None => levels,
        };
        let sampler = descriptor.sampler(levels.first().ok_or(Code::INVALID_VALUE)?)?;
        let made = self.memory.create_texture(Texture { levels, sampler });
        let handle = made.map_err(|error| {
            eprintln!("warpladder cuda: {error}");
            Code::INVALID_VALUE
        })?;
        lock(&self.textures.0).insert(
            handle,
            MadeFrom {
                resource,
                descriptor: Some(descriptor),
                view,
            },
        );
        Ok(handle)
    }

    /// # Errors
    /// As [`Driver::create_texture`]; a surface is made of an array alone.
    pub(crate) fn create_surface(&self, resource: Resource) -> Result<u64> {
        let images = self.images(&resource)?;
        let [image] = images.as_slice() else {
            return Err(Code::INVALID_VALUE);
        };
        if resource.kind as u32 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let handle = self.memory.create_surface(*image).map_err(|error| {
            eprintln!("warpladder cuda: {error}");
            Code::INVALID_VALUE
        })?;
        lock(&self.textures.0).insert(
            handle,
            MadeFrom {
                resource,
                descriptor: None,
                view: None,
            },
        );
        Ok(handle)
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a handle of neither.
    pub(crate) fn destroy_texture(&self, handle: u64) -> Result {
        lock(&self.textures.0)
            .remove(&handle)
            .ok_or(Code::INVALID_VALUE)?;
        match self.memory.destroy_object(handle) {
            true => Ok(()),
            false => Err(Code::INVALID_VALUE),
        }
    }
}

impl TextureDescriptor {
    /// Addressing, filter, flags and anisotropy; filter, bias and range of levels; border.
    pub(crate) fn new(
        (addressing, filter, flags, anisotropy): ([u32; 3], u32, u32, u32),
        (level_filter, level_bias, level_clamp): (u32, f32, [f32; 2]),
        border: [f32; 4],
    ) -> Self {
        TextureDescriptor {
            addressing,
            filter,
            flags,
            anisotropy,
            level_filter,
            level_bias,
            level_clamp,
            border,
            reserved: [0; 12],
        }
    }

    fn sampler(&self, image: &Image) -> Result<Sampler> {
        const AS_INTEGER: u32 = 1;
        const NORMALIZED: u32 = 2;
        const SRGB: u32 = 0x10;
        let address = |mode| match mode {
            0 => Ok(AddressMode::Wrap),
            1 => Ok(AddressMode::Clamp),
            2 => Ok(AddressMode::Mirror),
            3 => Ok(AddressMode::Border),
            _ => Err(Code::INVALID_VALUE),
        };
        let filter = |mode| match mode {
            0 => Ok(Filter::Point),
            1 => Ok(Filter::Linear),
            _ => Err(Code::INVALID_VALUE),
        };
        let is = |flag| self.flags & flag != 0;
        // Integers of 32 bits are never promoted (cuTexObjectCreate, CU_TRSF_READ_AS_INTEGER).
        let promotes = !image.format.is_float() && image.format.bytes() < 4;
        let [x, y, z] = self.addressing.map(address);
        Ok(Sampler {
            addressing: [x?, y?, z?],
            filter: filter(self.filter)?,
            normalized_coordinates: is(NORMALIZED),
            normalized_float: promotes && !is(AS_INTEGER),
            srgb: promotes && is(SRGB),
            border: self.border,
            level_filter: filter(self.level_filter)?,
            level_bias: self.level_bias,
            level_clamp: self.level_clamp,
        })
    }
}
