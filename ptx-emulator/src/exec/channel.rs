//! Channels of texels: as they are read, and as formatted stores leave them.

use super::convert::{sign_extend, truncate};
use super::float::{from_f64, to_f64};
use crate::ir::Rounding;
use crate::texture::{Sampler, TexelFormat};
use ptx_syntax::ast::Type;

/// A stored channel as it is read.
pub(super) fn channel_value(
    format: TexelFormat,
    sampler: &Sampler,
    bits: u64,
    channel: usize,
) -> u32 {
    let signed = |width: u32| sign_extend(bits, width);
    let is_normalized = format.is_normalized() || sampler.normalized_float;
    let normalized = |value: f64| {
        let is_linear =
            !(sampler.srgb && format.bytes() == 1 && format.is_unsigned() && channel < 3);
        let value = match value {
            _ if is_linear => value,
            value if value <= 0.04045 => value / 12.92,
            value => ((value + 0.055) / 1.055).powf(2.4),
        };
        (value as f32).to_bits()
    };
    match format {
        TexelFormat::F32 => bits as u32,
        TexelFormat::F16 => (to_f64(bits, Type::F16) as f32).to_bits(),
        TexelFormat::U8 | TexelFormat::Unorm8 if is_normalized => normalized(bits as f64 / 255.0),
        TexelFormat::U16 | TexelFormat::Unorm16 if is_normalized => {
            normalized(bits as f64 / 65535.0)
        }
        TexelFormat::S8 | TexelFormat::Snorm8 if is_normalized => {
            normalized((signed(8) as f64 / 127.0).max(-1.0))
        }
        TexelFormat::S16 | TexelFormat::Snorm16 if is_normalized => {
            normalized((signed(16) as f64 / 32767.0).max(-1.0))
        }
        TexelFormat::S8 | TexelFormat::Snorm8 => signed(8) as u32,
        TexelFormat::S16 | TexelFormat::Snorm16 => signed(16) as u32,
        _ => bits as u32,
    }
}

/// The bits that a formatted store leaves in a channel, of a register of 32 bits.
pub(super) fn channel_bits(format: TexelFormat, value: u32) -> u64 {
    let float = f64::from(f32::from_bits(value));
    // A NaN is stored as zero.
    let normalized = |low: f64, steps: f64| {
        let scaled = (float.max(low).min(1.0) * steps).round_ties_even();
        if float.is_nan() { 0 } else { scaled as i64 }
    };
    let bits = match format {
        TexelFormat::F32 | TexelFormat::U32 | TexelFormat::S32 => i64::from(value),
        TexelFormat::F16 => from_f64(float, 0.0, Type::F16, Rounding::NearestEven) as i64,
        TexelFormat::U8 => i64::from(value.min(0xff)),
        TexelFormat::U16 => i64::from(value.min(0xffff)),
        TexelFormat::S8 => i64::from((value as i32).clamp(-128, 127)),
        TexelFormat::S16 => i64::from((value as i32).clamp(-32768, 32767)),
        TexelFormat::Unorm8 => normalized(0.0, 255.0),
        TexelFormat::Unorm16 => normalized(0.0, 65535.0),
        TexelFormat::Snorm8 => normalized(-1.0, 127.0),
        TexelFormat::Snorm16 => normalized(-1.0, 32767.0),
    };
    truncate(bits as u64, 8 * format.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_channels_read_back_as_the_nearest_value() {
        let read =
            |format, bits| f32::from_bits(channel_value(format, &Sampler::default(), bits, 0));
        for (format, least, step) in [
            (TexelFormat::Unorm8, 0.0, 1.0 / 255.0),
            (TexelFormat::Unorm16, 0.0, 1.0 / 65535.0),
            (TexelFormat::Snorm8, -1.0, 1.0 / 127.0),
            (TexelFormat::Snorm16, -1.0, 1.0 / 32767.0),
        ] {
            for at in -41..42 {
                let value = at as f32 * 0.0371;
                let found = read(format, channel_bits(format, value.to_bits()));
                let off = (found - value.clamp(least, 1.0)).abs();
                assert!(off <= 0.501 * step, "{format:?} {value}: {found}");
            }
            for (value, wanted) in [
                (f32::NAN, 0.0),
                (f32::INFINITY, 1.0),
                (f32::NEG_INFINITY, least),
                (1.0, 1.0),
            ] {
                let found = read(format, channel_bits(format, value.to_bits()));
                assert_eq!(found, wanted, "{format:?} {value}");
            }
        }
    }

    #[test]
    fn stored_integers_are_clamped() {
        for (format, value, wanted) in [
            (TexelFormat::U8, 0x1ff, 0xff),
            (TexelFormat::U8, 0x7f, 0x7f),
            (TexelFormat::U16, u32::MAX, 0xffff),
            (TexelFormat::S8, -129i32 as u32, 0x80),
            (TexelFormat::S8, 130, 0x7f),
            (TexelFormat::S16, -3i32 as u32, 0xfffd),
            (TexelFormat::S32, u32::MAX, 0xffff_ffff),
            (TexelFormat::F16, 1.5f32.to_bits(), 0x3e00),
        ] {
            assert_eq!(channel_bits(format, value), wanted, "{format:?} {value:#x}");
        }
    }
}
