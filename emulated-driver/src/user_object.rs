//! User objects: resources of the program that graphs keep alive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::code::{Code, Result};
use crate::state::{Handle, lock};

/// An object of the program: what destroys it runs when its last reference goes.
pub(crate) struct UserObject(Option<Box<dyn FnOnce() + Send + Sync>>);

impl std::fmt::Debug for UserObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UserObject")
    }
}

impl UserObject {
    pub(crate) fn new(destroy: impl FnOnce() + Send + Sync + 'static) -> Self {
        UserObject(Some(Box::new(destroy)))
    }
}

impl Drop for UserObject {
    fn drop(&mut self) {
        if let Some(destroy) = self.0.take() {
            destroy();
        }
    }
}

/// References to user objects that have one owner: the program, a graph or an instance of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct References(HashMap<Handle, (Arc<UserObject>, u32)>);

impl References {
    pub(crate) fn add(&mut self, handle: Handle, object: Arc<UserObject>, count: u32) {
        self.0.entry(handle).or_insert((object, 0)).1 += count;
    }

    pub(crate) fn get(&self, handle: Handle) -> Option<Arc<UserObject>> {
        self.0.get(&handle).map(|(object, _)| object.clone())
    }

    /// Takes references away. The object is returned, so that the caller lets go of it outside of
    /// all locks: what destroys it is code of the program.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the owner has fewer.
    pub(crate) fn release(&mut self, handle: Handle, count: u32) -> Result<Arc<UserObject>> {
        let entry = self.0.get_mut(&handle).ok_or(Code::INVALID_VALUE)?;
        entry.1 = entry.1.checked_sub(count).ok_or(Code::INVALID_VALUE)?;
        let object = entry.0.clone();
        if entry.1 == 0 {
            self.0.remove(&handle);
        }
        Ok(object)
    }
}

/// As [`References::release`], with the lock held for as long as the count changes.
///
/// # Errors
/// As [`References::release`].
pub(crate) fn release(of: &Mutex<References>, handle: Handle, count: u32) -> Result {
    let object = lock(of).release(handle, count)?;
    drop(object);
    Ok(())
}
