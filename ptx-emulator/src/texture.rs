//! Textures and surfaces: images in device memory that kernels reach by a handle.
//!
//! An image lies in an allocation of [`Memory`](crate::Memory), texel by texel and row by row. The
//! names are those of the driver API: [`Image`] is a `CUDA_RESOURCE_DESC`, [`Sampler`] a
//! `CUDA_TEXTURE_DESC`. A kernel gets a handle as an argument of 8 bytes, or finds it in a
//! `.texref`, `.samplerref` or `.surfref` variable of its module, which the host fills by
//! [`Memory::write`](crate::Memory::write).

use std::collections::BTreeMap;
use std::sync::Arc;

/// How a channel of a texel is stored (`CUarray_format`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TexelFormat {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
    /// An integer of 8 bits that stands for 0 to 1, as do the next three.
    Unorm8,
    Unorm16,
    /// From -1 to 1.
    Snorm8,
    Snorm16,
}

impl TexelFormat {
    /// Bytes of a channel.
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 | Self::S8 | Self::Unorm8 | Self::Snorm8 => 1,
            Self::U16 | Self::S16 | Self::F16 | Self::Unorm16 | Self::Snorm16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether it is `F16` or `F32`.
    pub fn is_float(self) -> bool {
        matches!(self, TexelFormat::F16 | TexelFormat::F32)
    }

    /// Whether its integers stand for values from 0, or -1, to 1.
    pub fn is_normalized(self) -> bool {
        matches!(
            self,
            Self::Unorm8 | Self::Unorm16 | Self::Snorm8 | Self::Snorm16
        )
    }

    /// Whether its values are integers without a sign, or stand for values from 0 to 1.
    pub(crate) fn is_unsigned(self) -> bool {
        matches!(
            self,
            Self::U8 | Self::U16 | Self::U32 | Self::Unorm8 | Self::Unorm16
        )
    }

    /// Whether texels are read as floats.
    pub(crate) fn gives_floats(self, sampler: &Sampler) -> bool {
        let is_promoted = sampler.normalized_float && self.bytes() < 4;
        self.is_float() || self.is_normalized() || is_promoted
    }
}

/// What the coordinates of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// x.
    Line,
    /// x and y.
    Plane,
    /// x, y and z.
    Volume,
    /// A layer and x.
    Lines,
    /// A layer and x, y.
    Planes,
    /// A direction: six faces, one layer each, in the order +x, -x, +y, -y, +z, -z.
    Cube,
    /// A layer and a direction: six faces for each layer.
    Cubes,
}

/// Texels in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Device address of the first texel, a multiple of the bytes of a channel.
    pub address: u64,
    /// The coordinates that it takes.
    pub kind: ImageKind,
    /// How a channel is stored.
    pub format: TexelFormat,
    /// Channels of a texel: 1, 2 or 4.
    pub channels: u32,
    /// Texels in x, y and z. z counts layers, or faces: six for each cube. 1 where the image has no
    /// such dimension.
    pub extents: [u32; 3],
    /// Bytes from a row to the next.
    pub row_bytes: u64,
    /// Bytes from a plane, a layer or a face to the next.
    pub plane_bytes: u64,
}

impl Image {
    /// An image without gaps between its rows and planes.
    pub fn packed(
        address: u64,
        kind: ImageKind,
        (format, channels): (TexelFormat, u32),
        extents: [u32; 3],
    ) -> Self {
        let row_bytes =
            u64::from(extents[0]) * u64::from(format.bytes()) * u64::from(channels.min(4));
        Image {
            address,
            kind,
            format,
            channels,
            extents,
            row_bytes,
            plane_bytes: row_bytes.saturating_mul(u64::from(extents[1])),
        }
    }

    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u32 {
        self.channels * self.format.bytes()
    }

    /// Bytes from the first texel to the end of the last; none where that exceeds 64 bits.
    pub fn bytes(&self) -> Option<u64> {
        let [width, height, depth] = self.extents.map(u64::from);
        let row = width.checked_mul(u64::from(self.texel_bytes()))?;
        let rows = height.checked_sub(1)?.checked_mul(self.row_bytes)?;
        let planes = depth.checked_sub(1)?.checked_mul(self.plane_bytes)?;
        row.checked_add(rows)?.checked_add(planes)
    }

    /// What is wrong with it, besides its address.
    fn problem(&self) -> Option<String> {
        let [_, height, depth] = self.extents;
        let (flat, single) = (height == 1, depth == 1);
        let fits = match self.kind {
            ImageKind::Line => flat && single,
            ImageKind::Plane => single,
            ImageKind::Lines => flat,
            ImageKind::Volume | ImageKind::Planes => true,
            ImageKind::Cube => depth == 6,
            ImageKind::Cubes => depth.is_multiple_of(6),
        };
        let row = u64::from(self.extents[0]) * u64::from(self.texel_bytes().min(16));
        let is_misaligned = |bytes: u64| !bytes.is_multiple_of(u64::from(self.format.bytes()));
        Some(if !matches!(self.channels, 1 | 2 | 4) {
            format!("a texel has 1, 2 or 4 channels, not {}", self.channels)
        } else if self.extents.contains(&0) || !fits {
            format!("extents {:?} are none of a {:?}", self.extents, self.kind)
        } else if height > 1 && self.row_bytes < row {
            format!("rows of {row} bytes overlap at {} bytes", self.row_bytes)
        } else if is_misaligned(self.address | self.row_bytes | self.plane_bytes) {
            let (address, bytes) = (self.address, self.format.bytes());
            format!("the image at {address:#x} or its rows are not aligned to {bytes} bytes")
        } else if self.bytes().is_none() {
            format!("extents {:?} exceed the address space", self.extents)
        } else {
            return None;
        })
    }
}

/// What a coordinate outside of an image reads (`CUaddress_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The image repeats. As [`AddressMode::Clamp`] where coordinates are not normalised.
    Wrap,
    /// The texel at the border.
    #[default]
    Clamp,
    /// The image repeats and every second one is mirrored. As [`AddressMode::Clamp`] where
    /// coordinates are not normalised.
    Mirror,
    /// The colour of the border.
    Border,
}

/// How a value between texels is found (`CUfilter_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    #[default]
    Point,
    /// The weighted mean of the neighbours. Weights have 8 bits of fraction (CUDA C++ Programming
    /// Guide, "Texture Fetching").
    Linear,
}

/// How texels are read (`CUDA_TEXTURE_DESC`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// What coordinates outside of the image read, in x, y and z.
    pub addressing: [AddressMode; 3],
    /// How values between texels are found.
    pub filter: Filter,
    /// Whether coordinates count from 0 to 1 instead of texels.
    pub normalized_coordinates: bool,
    /// Whether integers of 8 and 16 bits are read as floats from 0, or -1, to 1. Without
    /// `CU_TRSF_READ_AS_INTEGER` in the driver's flags.
    pub normalized_float: bool,
    /// Whether the first three channels of 8 bits are sRGB, which is made linear. Needs
    /// `normalized_float`.
    pub srgb: bool,
    /// The colour of the border.
    pub border: [f32; 4],
    /// How a value between levels of detail is found.
    pub level_filter: Filter,
    /// Added to every level of detail.
    pub level_bias: f32,
    /// The lowest and the highest level of detail; `[0, 0]` is the first alone.
    pub level_clamp: [f32; 2],
}

/// An image and how it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// The levels of detail, the largest first; most textures have one.
    pub levels: Vec<Image>,
    /// How texels are read.
    pub sampler: Sampler,
}

/// A texture or surface that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TextureError(String);

/// The first handle: none is near 0 or the address of a variable.
const FIRST_HANDLE: u64 = 0x3900_0000_0000;

/// What a handle stands for.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    Texture(Arc<Texture>),
    Sampler(Sampler),
    Surface(Image),
}

/// The textures, samplers and surfaces of one memory.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    by_handle: BTreeMap<u64, Object>,
    made: u64,
}

impl Objects {
    pub(crate) fn get(&self, handle: u64) -> Option<Object> {
        self.by_handle.get(&handle).cloned()
    }

    pub(crate) fn add(&mut self, object: Object) -> Result<u64, TextureError> {
        let images = match &object {
            Object::Texture(texture) => texture.levels.as_slice(),
            Object::Surface(image) => std::slice::from_ref(image),
            Object::Sampler(_) => &[],
        };
        if let Some(problem) = images.iter().find_map(Image::problem) {
            return Err(TextureError(problem));
        }
        match &object {
            Object::Texture(texture) if texture.levels.is_empty() => {
                return Err(TextureError("a texture needs an image".to_string()));
            }
            Object::Texture(texture) => check_sampler(texture)?,
            _ => {}
        }
        let handle = FIRST_HANDLE + self.made;
        self.made += 1;
        self.by_handle.insert(handle, object);
        Ok(handle)
    }

    /// Whether there was one.
    pub(crate) fn remove(&mut self, handle: u64) -> bool {
        self.by_handle.remove(&handle).is_some()
    }
}

/// Filters take floats alone.
fn check_sampler(texture: &Texture) -> Result<(), TextureError> {
    let Texture { levels, sampler } = texture;
    let gives_floats = |image: &Image| image.format.gives_floats(sampler);
    // A single level is never filtered with another one.
    let between_levels = sampler.level_filter == Filter::Linear && levels.len() > 1;
    let wants_floats = sampler.filter == Filter::Linear || between_levels;
    match wants_floats && !levels.iter().all(gives_floats) {
        true => Err(TextureError(
            "linear filtering needs texels that are read as floats".to_string(),
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_extents_of_their_kind() {
        let image = |kind, extents| {
            Image::packed(0x4000_0000_0000, kind, (TexelFormat::F16, 4), extents).problem()
        };
        assert_eq!(image(ImageKind::Line, [33, 1, 1]), None);
        assert_eq!(image(ImageKind::Cubes, [4, 4, 12]), None);
        for (kind, extents) in [
            (ImageKind::Line, [33, 2, 1]),
            (ImageKind::Plane, [3, 0, 1]),
            (ImageKind::Cube, [4, 4, 5]),
        ] {
            assert!(image(kind, extents).is_some(), "{kind:?} {extents:?}");
        }
        let huge = [u32::MAX; 3];
        assert!(image(ImageKind::Volume, huge).is_some());
        let three = Image {
            channels: 3,
            ..Image::packed(0, ImageKind::Line, (TexelFormat::U8, 1), [1; 3])
        };
        assert!(three.problem().is_some());
    }

    #[test]
    fn handles_are_not_used_again() {
        let mut objects = Objects::default();
        let image = Image::packed(0, ImageKind::Line, (TexelFormat::U8, 1), [7, 1, 1]);
        let first = objects.add(Object::Surface(image)).expect("sound");
        assert!(objects.get(first).is_some() && objects.remove(first) && !objects.remove(first));
        let second = objects.add(Object::Surface(image)).expect("sound");
        assert_ne!(first, second);
    }
}
