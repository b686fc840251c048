//! The linker: PTX texts that become one module.

use std::ffi::c_uint;

use crate::code::{Code, Result};
use crate::context::current;
use crate::image;
use crate::link::{Link, MAX_REGISTERS};
use crate::pointer::{Host, In, Out, Text};
use crate::state::{Handle, driver, lock};

/// Adds a text, linked with those before it.
fn link_input(link: Handle, kind: c_uint, bytes: Vec<u8>) -> Result {
    const PTX: c_uint = 1;
    const FAT_BINARY: c_uint = 2;
    const OBJECT: c_uint = 3;
    const LIBRARY: c_uint = 4;
    let capability = current()?.device().capability;
    let link = driver()?.links.get(link)?;
    let mut linked = lock(&link.text);
    let refuse = |(code, message): (Code, String)| {
        eprintln!("warpladder cuda: cuLinkAddData: {message}");
        code
    };
    let added = match kind {
        PTX => image::of_text(bytes),
        FAT_BINARY => {
            let place = Host::at_address(bytes.as_ptr().expose_provenance() as u64);
            image::ptx(place, 10 * capability.0 as u32 + capability.1 as u32)
        }
        OBJECT | LIBRARY => {
            let found = image::of_object(&bytes, 10 * capability.0 as u32 + capability.1 as u32);
            match found {
                // As CUDA's device runtime: a call of what it defines is a fault that names it.
                Ok(texts) if texts.is_empty() => return Ok(()),
                Ok(texts) => Ok(crate::link::link(&texts)),
                Err(error) => Err(error),
            }
        }
        _ => Err((
            Code::NOT_SUPPORTED,
            "takes PTX and fat binaries with PTX, since machine code cannot be run".to_string(),
        )),
    };
    let added = added.map_err(refuse)?;
    let before = (!linked.is_empty()).then(|| linked.trim_end_matches('\0'));
    let texts: Vec<&str> = before.into_iter().chain([added.as_str()]).collect();
    *linked = match &texts[..] {
        [_] => added,
        several => crate::link::link(several),
    };
    if let Some(most) = link.max_registers {
        crate::link::limit_registers(&mut linked, most);
    }
    linked.push('\0');
    Ok(())
}

api! {
    fn cuLinkCreate_v2(
        count: c_uint, options: In<c_uint>, values: In<Host>, to: Out<Handle>,
    ) {
        let mut link = Link::default();
        for index in 0..count as usize {
            if options.at(index)? == MAX_REGISTERS {
                link.max_registers = Some(values.at(index)?.address() as u32);
            }
        }
        to.set(current()?.driver.links.insert(link))
    }

    fn cuLinkCreate(
        count: c_uint, options: In<c_uint>, values: In<Host>, to: Out<Handle>,
    ) {
        cuLinkCreate_v2(count, options, values, to)
    }

    fn cuLinkAddData(
        link: Handle, kind: c_uint, data: Host, bytes: usize, name: Text,
        count: c_uint, options: In<c_uint>, values: In<Host>,
    ) {
        cuLinkAddData_v2(link, kind, data, bytes, name, count, options, values)
    }

    fn cuLinkAddFile(
        link: Handle, kind: c_uint, path: Text,
        count: c_uint, options: In<c_uint>, values: In<Host>,
    ) {
        cuLinkAddFile_v2(link, kind, path, count, options, values)
    }

    fn cuLinkAddData_v2(
        link: Handle, kind: c_uint, data: Host, bytes: usize, _name: Text,
        _count: c_uint, _options: In<c_uint>, _values: In<Host>,
    ) {
        link_input(link, kind, data.vec(bytes)?)
    }

    fn cuLinkAddFile_v2(
        link: Handle, kind: c_uint, path: Text,
        _count: c_uint, _options: In<c_uint>, _values: In<Host>,
    ) {
        let bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        link_input(link, kind, bytes)
    }

    fn cuLinkComplete(link: Handle, image: Out<Host>, bytes: Out<usize>) {
        let link = driver()?.links.get(link)?;
        let text = lock(&link.text);
        if text.is_empty() {
            return Err(Code::INVALID_VALUE);
        }
        // The text lives until the link is destroyed.
        image.set(Host::at_address(text.as_ptr().expose_provenance() as u64))?;
        bytes.set_optional(text.len());
        Ok(())
    }

    fn cuLinkDestroy(link: Handle) { driver()?.links.remove(link).map(drop) }
}
