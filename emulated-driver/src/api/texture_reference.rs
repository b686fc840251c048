//! Texture and surface references of modules.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use super::array::Plane;
use crate::array::Resource;
use crate::code::{Code, Result};
use crate::context::current;
use crate::launch;
use crate::pointer::{In, Out, Text};
use crate::state::{Handle, driver};
use crate::texture_reference::{Reference, declares};

fn reference(handle: Handle) -> Result<Arc<Reference>> {
    driver()?.references.get(handle)
}

fn of_kind(handle: Handle, is_surface: bool) -> Result<Arc<Reference>> {
    let found = reference(handle)?;
    match found.is_surface == is_surface {
        true => Ok(found),
        false => Err(Code::INVALID_HANDLE),
    }
}

fn texture(handle: Handle) -> Result<Arc<Reference>> {
    of_kind(handle, false)
}

fn of_module(to: Out<Handle>, module: Handle, name: Text, is_surface: bool) -> Result {
    let driver = current()?.driver;
    let name = name.get()?;
    let kind = if is_surface { ".surfref" } else { ".texref" };
    if !declares(driver.modules.get(module)?.module.text(), kind, &name) {
        return Err(Code::NOT_FOUND);
    }
    let (address, _) = launch::global(driver, module, &name)?;
    let known = driver.references.find(|one| one.is_of(module, address));
    let made = || {
        let made = Reference::new(Some((module, address)), is_surface);
        driver.references.insert(made)
    };
    to.set(known.unwrap_or_else(made))
}

/// `CUDA_RESOURCE_DESC` of a kind, with its first words.
fn resource(kind: u64, first: &[u64]) -> Resource {
    let mut words = [0; 16];
    words[..first.len()].copy_from_slice(first);
    Resource {
        kind,
        words,
        flags: 0,
    }
}

const ARRAY: u64 = 0;
const MIPMAPPED: u64 = 1;
const LINEAR: u64 = 2;
const PITCHED: u64 = 3;

/// `CU_TRSA_OVERRIDE_FORMAT`.
const OVERRIDE_FORMAT: c_uint = 1;

/// What is bound, where it is of a kind.
fn bound(handle: Handle, kinds: &[u64], is_surface: bool) -> Result<u64> {
    let bound = of_kind(handle, is_surface)?.properties().resource;
    let bound = bound.filter(|resource| kinds.contains(&resource.kind));
    Ok(bound.ok_or(Code::INVALID_VALUE)?.words[0])
}

fn dimension(number: c_int) -> Result<usize> {
    match usize::try_from(number) {
        Ok(number) if number < 3 => Ok(number),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn set_plane(handle: Handle, plane: In<Plane>, address: u64, pitch: usize) -> Result {
    let plane = plane.get()?;
    let texels = u64::from(plane.format) | u64::from(plane.channels) << 32;
    let extents = [plane.width as u64, plane.height as u64, pitch as u64];
    let [width, height, pitch] = extents;
    let bound = resource(PITCHED, &[address, texels, width, height, pitch]);
    texture(handle)?.change(|of| {
        (of.resource, of.format, of.channels) = (Some(bound), plane.format, plane.channels);
    });
    Ok(())
}

api! {
    fn cuModuleGetTexRef(to: Out<Handle>, module: Handle, name: Text) {
        of_module(to, module, name, false)
    }

    fn cuModuleGetSurfRef(to: Out<Handle>, module: Handle, name: Text) {
        of_module(to, module, name, true)
    }

    fn cuTexRefCreate(to: Out<Handle>) {
        to.set(driver()?.references.insert(Reference::new(None, false)))
    }

    fn cuTexRefDestroy(handle: Handle) {
        texture(handle)?;
        driver()?.references.remove(handle).map(drop)
    }

    fn cuTexRefSetArray(handle: Handle, array: Handle, flags: c_uint) {
        let of = driver()?.arrays.get(array)?.descriptor;
        if flags & !OVERRIDE_FORMAT != 0 {
            return Err(Code::INVALID_VALUE);
        }
        texture(handle)?.change(|one| {
            one.resource = Some(resource(ARRAY, &[array as u64]));
            (one.format, one.channels) = (of.format, of.channels);
        });
        Ok(())
    }

    fn cuTexRefSetMipmappedArray(handle: Handle, mipmapped: Handle, flags: c_uint) {
        driver()?.mipmapped.get(mipmapped)?;
        if flags & !OVERRIDE_FORMAT != 0 {
            return Err(Code::INVALID_VALUE);
        }
        texture(handle)?.change(|one| {
            one.resource = Some(resource(MIPMAPPED, &[mipmapped as u64]));
        });
        Ok(())
    }

    fn cuTexRefSetAddress_v2(offset: Out<usize>, handle: Handle, address: u64, bytes: usize) {
        // No address must be aligned further than a texel, and so nothing lies in front of it.
        offset.set_optional(0);
        let bound = match address {
            0 => None,
            _ => Some(resource(LINEAR, &[address, 0, bytes as u64])),
        };
        texture(handle)?.change(|one| one.resource = bound);
        Ok(())
    }

    fn cuTexRefSetAddress2D_v2(handle: Handle, plane: In<Plane>, address: u64, pitch: usize) {
        set_plane(handle, plane, address, pitch)
    }

    fn cuTexRefSetAddress2D_v3(handle: Handle, plane: In<Plane>, address: u64, pitch: usize) {
        set_plane(handle, plane, address, pitch)
    }

    fn cuTexRefSetFormat(handle: Handle, format: c_uint, channels: c_int) {
        let channels = match channels {
            1 | 2 | 4 => channels.cast_unsigned(),
            _ => return Err(Code::INVALID_VALUE),
        };
        texture(handle)?.change(|one| (one.format, one.channels) = (format, channels));
        Ok(())
    }

    fn cuTexRefSetAddressMode(handle: Handle, axis: c_int, mode: c_uint) {
        let axis = dimension(axis)?;
        if mode > 3 {
            return Err(Code::INVALID_VALUE);
        }
        texture(handle)?.change(|one| one.addressing[axis] = mode);
        Ok(())
    }

    fn cuTexRefSetFilterMode(handle: Handle, mode: c_uint) {
        if mode > 1 {
            return Err(Code::INVALID_VALUE);
        }
        texture(handle)?.change(|one| one.filter = mode);
        Ok(())
    }

    fn cuTexRefSetMipmapFilterMode(handle: Handle, mode: c_uint) {
        if mode > 1 {
            return Err(Code::INVALID_VALUE);
        }
        texture(handle)?.change(|one| one.level_filter = mode);
        Ok(())
    }

    fn cuTexRefSetMipmapLevelBias(handle: Handle, bias: f32) {
        texture(handle)?.change(|one| one.level_bias = bias);
        Ok(())
    }

    fn cuTexRefSetMipmapLevelClamp(handle: Handle, least: f32, most: f32) {
        texture(handle)?.change(|one| one.level_clamp = [least, most]);
        Ok(())
    }

    fn cuTexRefSetMaxAnisotropy(handle: Handle, most: c_uint) {
        texture(handle)?.change(|one| one.anisotropy = most);
        Ok(())
    }

    fn cuTexRefSetBorderColor(handle: Handle, border: In<[f32; 4]>) {
        let border = border.get()?;
        texture(handle)?.change(|one| one.border = border);
        Ok(())
    }

    fn cuTexRefSetFlags(handle: Handle, flags: c_uint) {
        texture(handle)?.change(|one| one.flags = flags);
        Ok(())
    }

    fn cuTexRefGetAddress_v2(to: Out<u64>, handle: Handle) {
        to.set(bound(handle, &[LINEAR, PITCHED], false)?)
    }

    fn cuTexRefGetArray(to: Out<Handle>, handle: Handle) {
        to.set(bound(handle, &[ARRAY], false)? as Handle)
    }

    fn cuTexRefGetMipmappedArray(to: Out<Handle>, handle: Handle) {
        to.set(bound(handle, &[MIPMAPPED], false)? as Handle)
    }

    fn cuTexRefGetAddressMode(to: Out<c_uint>, handle: Handle, axis: c_int) {
        to.set(texture(handle)?.properties().addressing[dimension(axis)?])
    }

    fn cuTexRefGetFilterMode(to: Out<c_uint>, handle: Handle) {
        to.set(texture(handle)?.properties().filter)
    }

    fn cuTexRefGetFormat(format: Out<c_uint>, channels: Out<c_uint>, handle: Handle) {
        let properties = texture(handle)?.properties();
        format.set_optional(properties.format);
        channels.set_optional(properties.channels);
        Ok(())
    }

    fn cuTexRefGetMipmapFilterMode(to: Out<c_uint>, handle: Handle) {
        to.set(texture(handle)?.properties().level_filter)
    }

    fn cuTexRefGetMipmapLevelBias(to: Out<f32>, handle: Handle) {
        to.set(texture(handle)?.properties().level_bias)
    }

    fn cuTexRefGetMipmapLevelClamp(least: Out<f32>, most: Out<f32>, handle: Handle) {
        let [from, to] = texture(handle)?.properties().level_clamp;
        least.set(from)?;
        most.set(to)
    }

    fn cuTexRefGetMaxAnisotropy(to: Out<c_uint>, handle: Handle) {
        to.set(texture(handle)?.properties().anisotropy)
    }

    fn cuTexRefGetBorderColor(to: Out<[f32; 4]>, handle: Handle) {
        to.set(texture(handle)?.properties().border)
    }

    fn cuTexRefGetFlags(to: Out<c_uint>, handle: Handle) {
        to.set(texture(handle)?.properties().flags)
    }

    // Every kernel reads the references of its module.
    fn cuParamSetTexRef(function: Handle, _unit: c_int, handle: Handle) {
        driver()?.functions.get(function)?;
        texture(handle).map(drop)
    }

    fn cuSurfRefSetArray(handle: Handle, array: Handle, flags: c_uint) {
        driver()?.arrays.get(array)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let bound = resource(ARRAY, &[array as u64]);
        of_kind(handle, true)?.change(|one| one.resource = Some(bound));
        Ok(())
    }

    fn cuSurfRefGetArray(to: Out<Handle>, handle: Handle) {
        to.set(bound(handle, &[ARRAY], true)? as Handle)
    }
}
