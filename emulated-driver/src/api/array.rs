//! Arrays, textures and surfaces.

use std::ffi::c_uint;
use std::sync::Arc;

use crate::array::{Array, Descriptor, Resource, TextureDescriptor};
use crate::code::{Code, Result};
use crate::context::current;
use crate::graph::NodeKind;
use crate::pointer::{Host, In, Out};
use crate::resource_view::{ResourceView, WholeView};
use crate::state::{Handle, driver};
use crate::stream::submit;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) format: c_uint,
    pub(super) channels: c_uint,
}

fn array(handle: Handle) -> Result<Arc<Array>> {
    driver()?.arrays.get(handle)
}

/// The address of bytes of an array without height, as copies between arrays count them.
fn bytes_of(handle: Handle, offset: usize, bytes: usize) -> Result<u64> {
    let array = array(handle)?;
    let end = (offset as u64)
        .checked_add(bytes as u64)
        .ok_or(Code::INVALID_VALUE)?;
    match array.image.bytes() {
        Some(all) if end <= all => Ok(array.image.address + offset as u64),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn copy(to: u64, from: u64, bytes: usize, on: Handle) -> Result {
    let driver = current()?.driver;
    submit(
        on,
        NodeKind::Copy,
        Arc::new(move || driver.copy(to, from, bytes)),
    )
}

fn create_texture(
    to: Out<u64>,
    resource: In<Resource>,
    descriptor: In<TextureDescriptor>,
    view: In<ResourceView>,
) -> Result {
    let driver = current()?.driver;
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let view = (!view.is_null()).then(|| view.get()).transpose()?;
    to.set(driver.create_texture(resource.get()?, descriptor.get()?, view)?)
}

api! {
    fn cuArrayCreate_v2(to: Out<Handle>, descriptor: In<Plane>) {
        let Plane { width, height, format, channels } = descriptor.get()?;
        let current = current()?;
        let extents = [width, height, 0];
        let descriptor = Descriptor { extents, format, channels, flags: 0 };
        to.set(current.driver.create_array(&current, descriptor)?)
    }

    fn cuArray3DCreate_v2(to: Out<Handle>, descriptor: In<Descriptor>) {
        let current = current()?;
        to.set(current.driver.create_array(&current, descriptor.get()?)?)
    }

    fn cuArrayDestroy(handle: Handle) { driver()?.destroy_array(handle) }

    fn cuArrayGetDescriptor_v2(to: Out<Plane>, handle: Handle) {
        let Descriptor { extents, format, channels, .. } = array(handle)?.descriptor;
        let [width, height, _] = extents;
        to.set(Plane { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(to: Out<Descriptor>, handle: Handle) {
        to.set(array(handle)?.descriptor)
    }

    fn cuMipmappedArrayCreate(to: Out<Handle>, descriptor: In<Descriptor>, levels: c_uint) {
        let current = current()?;
        to.set(current.driver.create_mipmapped(&current, descriptor.get()?, levels)?)
    }

    fn cuMipmappedArrayGetLevel(to: Out<Handle>, handle: Handle, level: c_uint) {
        let mipmapped = driver()?.mipmapped.get(handle)?;
        to.set(*mipmapped.levels.get(level as usize).ok_or(Code::INVALID_VALUE)?)
    }

    fn cuMipmappedArrayDestroy(handle: Handle) { driver()?.destroy_mipmapped(handle) }

    fn cuMemcpyHtoA_v2
        | cuMemcpyHtoA_v2_ptds (to: Handle, offset: usize, from: Host, bytes: usize) {
        copy(bytes_of(to, offset, bytes)?, from.address(), bytes, 0)
    }

    fn cuMemcpyHtoAAsync_v2
        | cuMemcpyHtoAAsync_v2_ptsz (to: Handle, offset: usize, from: Host, bytes: usize, on: Handle) {
        copy(bytes_of(to, offset, bytes)?, from.address(), bytes, on)
    }

    fn cuMemcpyAtoH_v2
        | cuMemcpyAtoH_v2_ptds (to: Host, from: Handle, offset: usize, bytes: usize) {
        copy(to.address(), bytes_of(from, offset, bytes)?, bytes, 0)
    }

    fn cuMemcpyAtoHAsync_v2
        | cuMemcpyAtoHAsync_v2_ptsz (to: Host, from: Handle, offset: usize, bytes: usize, on: Handle) {
        copy(to.address(), bytes_of(from, offset, bytes)?, bytes, on)
    }

    fn cuMemcpyDtoA_v2 | cuMemcpyDtoA_v2_ptds (to: Handle, offset: usize, from: u64, bytes: usize) {
        copy(bytes_of(to, offset, bytes)?, from, bytes, 0)
    }

    fn cuMemcpyAtoD_v2 | cuMemcpyAtoD_v2_ptds (to: u64, from: Handle, offset: usize, bytes: usize) {
        copy(to, bytes_of(from, offset, bytes)?, bytes, 0)
    }

    fn cuMemcpyAtoA_v2 | cuMemcpyAtoA_v2_ptds (
        to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize,
    ) {
        let from = bytes_of(from, from_offset, bytes)?;
        copy(bytes_of(to, to_offset, bytes)?, from, bytes, 0)
    }

    fn cuTexObjectCreate(
        to: Out<u64>, resource: In<Resource>, descriptor: In<TextureDescriptor>,
        view: In<ResourceView>,
    ) {
        create_texture(to, resource, descriptor, view)
    }

    fn cuTexObjectDestroy(handle: u64) { driver()?.destroy_texture(handle) }

    fn cuTexObjectGetResourceDesc(to: Out<Resource>, handle: u64) {
        to.set(driver()?.textures.get(handle)?.resource)
    }

    fn cuTexObjectGetTextureDesc(to: Out<TextureDescriptor>, handle: u64) {
        to.set(driver()?.textures.get(handle)?.descriptor.ok_or(Code::INVALID_VALUE)?)
    }

    fn cuTexObjectGetResourceViewDesc(to: Out<WholeView>, handle: u64) {
        to.set(driver()?.textures.get(handle)?.view.ok_or(Code::INVALID_VALUE)?.into())
    }

    fn cuSurfObjectCreate(to: Out<u64>, resource: In<Resource>) {
        if to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        to.set(current()?.driver.create_surface(resource.get()?)?)
    }

    fn cuSurfObjectDestroy(handle: u64) { driver()?.destroy_texture(handle) }

    fn cuSurfObjectGetResourceDesc(to: Out<Resource>, handle: u64) {
        to.set(driver()?.textures.get(handle)?.resource)
    }
}
