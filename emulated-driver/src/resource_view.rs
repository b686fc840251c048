//! Views of arrays by textures: another format of the texels, and some of the levels and layers.

use ptx_emulator::{Image, ImageKind, TexelFormat};

use crate::code::{Code, Result};

/// `CUDA_RESOURCE_VIEW_DESC` and `cudaResourceViewDesc`, without what is reserved at their ends.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ResourceView {
    format: u32,
    extents: [usize; 3],
    levels: [u32; 2],
    layers: [u32; 2],
}

/// `CUDA_RESOURCE_VIEW_DESC` as the driver gives it back.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WholeView {
    view: ResourceView,
    reserved: [u32; 16],
}

impl From<ResourceView> for WholeView {
    fn from(view: ResourceView) -> Self {
        WholeView {
            view,
            reserved: [0; 16],
        }
    }
}

impl ResourceView {
    /// What a view shows of the levels of an array, the largest first.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for levels, layers, extents or a size of texels that the array
    /// does not have; `CUDA_ERROR_NOT_SUPPORTED` for compressed formats.
    pub(crate) fn of(&self, levels: &[Image]) -> Result<Vec<Image>> {
        let [first, last] = self.levels.map(|level| level as usize);
        if first > last {
            return Err(Code::INVALID_VALUE);
        }
        let seen = levels.get(first..=last).ok_or(Code::INVALID_VALUE)?;
        // The extents are those of the whole array. One that it does not have is 0, or 1.
        let of_array = levels.first().ok_or(Code::INVALID_VALUE)?.extents;
        let is_of_array = |(given, extent): (&usize, u32)| (*given).max(1) == extent as usize;
        if !self.extents.iter().zip(of_array).take(2).all(is_of_array) {
            return Err(Code::INVALID_VALUE);
        }
        seen.iter().map(|image| self.of_level(image)).collect()
    }

    fn of_level(&self, image: &Image) -> Result<Image> {
        let (format, channels) = match self.format {
            0 => (image.format, image.channels),
            format => texels(format)?,
        };
        if channels * format.bytes() != image.texel_bytes() {
            return Err(Code::INVALID_VALUE);
        }
        let seen = Image {
            format,
            channels,
            ..*image
        };
        self.of_layers(seen)
    }

    fn of_layers(&self, image: Image) -> Result<Image> {
        let [first, last] = self.layers;
        let per_layer = match image.kind {
            ImageKind::Cubes => 6,
            ImageKind::Lines | ImageKind::Planes => 1,
            _ if self.layers == [0; 2] => return Ok(image),
            _ => return Err(Code::INVALID_VALUE),
        };
        let [width, height, depth] = image.extents;
        if first > last || last >= depth / per_layer {
            return Err(Code::INVALID_VALUE);
        }
        let skipped = image.plane_bytes * u64::from(first * per_layer);
        Ok(Image {
            address: image.address + skipped,
            extents: [width, height, (last - first + 1) * per_layer],
            ..image
        })
    }
}

/// A `CUresourceViewFormat`: each has 1, 2 and 4 channels.
fn texels(number: u32) -> Result<(TexelFormat, u32)> {
    let formats = [
        TexelFormat::U8,
        TexelFormat::S8,
        TexelFormat::U16,
        TexelFormat::S16,
        TexelFormat::U32,
        TexelFormat::S32,
        TexelFormat::F16,
        TexelFormat::F32,
    ];
    let index = number.checked_sub(1).ok_or(Code::INVALID_VALUE)?;
    let Some(format) = formats.get(index as usize / 3) else {
        eprintln!("warpladder cuda: views of CUresourceViewFormat {number:#x} are not supported");
        return Err(Code::NOT_SUPPORTED);
    };
    Ok((*format, 1 << (index % 3)))
}
