//! User objects: resources of the program that graphs keep alive.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::stream::Callback;
use crate::code::Code;
use crate::pointer::{Host, Out};
use crate::state::{Handle, driver, lock, new_handle};
use crate::user_object::{UserObject, release};

/// `CU_GRAPH_USER_OBJECT_MOVE`: the caller's references become the graph's.
const MOVE: c_uint = 1;

api! {
    fn cuUserObjectCreate(
        to: Out<Handle>, argument: Host, destroy: Option<unsafe extern "C" fn(*mut c_void)>,
        count: c_uint, _flags: c_uint,
    ) {
        let driver = driver()?;
        let destroy = destroy.ok_or(Code::INVALID_VALUE)?;
        if to.is_null() || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let destroy = Callback::new(destroy, argument);
        let (handle, object) = (new_handle(), UserObject::new(move || destroy.call()));
        lock(&driver.user_objects).add(handle, Arc::new(object), count);
        to.set(handle)
    }

    fn cuUserObjectRetain(handle: Handle, count: c_uint) {
        let driver = driver()?;
        let mut own = lock(&driver.user_objects);
        let object = own.get(handle).filter(|_| count > 0).ok_or(Code::INVALID_VALUE)?;
        own.add(handle, object, count);
        Ok(())
    }

    fn cuUserObjectRelease(handle: Handle, count: c_uint) {
        if count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        release(&driver()?.user_objects, handle, count)
    }

    fn cuGraphRetainUserObject(graph: Handle, handle: Handle, count: c_uint, flags: c_uint) {
        let driver = driver()?;
        let nodes = driver.graphs.get(graph)?.nodes.clone();
        let object = lock(&driver.user_objects).get(handle);
        let object = object.filter(|_| count > 0 && flags & !MOVE == 0);
        nodes.retain_object(handle, object.ok_or(Code::INVALID_VALUE)?, count);
        match flags {
            MOVE => release(&driver.user_objects, handle, count),
            _ => Ok(()),
        }
    }

    fn cuGraphReleaseUserObject(graph: Handle, handle: Handle, count: c_uint) {
        if count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        driver()?.graphs.get(graph)?.nodes.release_object(handle, count)
    }
}
