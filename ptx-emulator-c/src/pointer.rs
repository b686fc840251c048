//! What C passes by pointer. Each type is an argument of the C interface: only a caller in C makes
//! one, and what it promises by calling (`ptxemu.h`: null, or valid for what the function does) is
//! what makes the accesses here sound.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use crate::error::{Failure, Result};

/// A place for a result.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Stores the result.
    pub(crate) fn set(&self, value: T) -> Result {
        if self.0.is_null() {
            return Err(Failure::invalid("a pointer to a result is null"));
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes one to which a
        // value of this type can be written.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Stores the result where the caller wants it: the pointer may be null.
    pub(crate) fn set_optional(&self, value: T) {
        if !self.0.is_null() {
            // A pointer that is not null is no failure.
            _ = self.set(value);
        }
    }
}

/// An object of this library, by its address.
#[repr(transparent)]
pub struct Object<T>(*mut T);

impl<T> Object<T> {
    /// The object, for as long as the call of the C function lasts.
    pub(crate) fn get(&self) -> Result<&T> {
        // SAFETY: where the pointer is not null, the caller passes an object that a function of
        // this library made, that was not freed, and that is not freed while the call lasts. It is
        // never borrowed mutably.
        unsafe { self.0.as_ref() }.ok_or_else(|| Failure::invalid("an object's pointer is null"))
    }

    /// Gives the object up; nothing for a null pointer.
    pub(crate) fn free(self) {
        if !self.0.is_null() {
            // SAFETY: the caller passes an object that `make` leaked and that was not freed.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

/// Stores the address of a new object.
pub(crate) fn make<T>(to: &Out<*mut T>, object: T) -> Result {
    if to.is_null() {
        return Err(Failure::invalid("a pointer to a result is null"));
    }
    to.set(Box::into_raw(Box::new(object)))
}

/// A text that ends in a null byte.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) fn get(&self) -> Result<&str> {
        if self.0.is_null() {
            return Err(Failure::invalid("a text is null"));
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes a text that ends
        // in a null byte.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str()
            .map_err(|_| Failure::invalid("a text is not UTF-8"))
    }
}

/// Memory of the caller, of a length that another argument tells.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Bytes(*mut c_void);

impl Bytes {
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// The memory from an address on, of which the caller vouches as for any other.
    pub(crate) fn at_address(address: u64) -> Self {
        Bytes(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// The pointer, `bytes` bytes before this one.
    pub(crate) fn before(self, bytes: u64) -> Result<NonNull<u8>> {
        let start = self.0.cast::<u8>().wrapping_sub(bytes as usize);
        NonNull::new(start).ok_or_else(|| Failure::invalid("memory of the host is at address 0"))
    }

    pub(crate) fn read(&self, bytes: usize) -> Result<&[u8]> {
        if bytes == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() || bytes > isize::MAX as usize {
            return Err(Failure::invalid(format!(
                "{bytes} bytes at {:?} cannot be read",
                self.0
            )));
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes memory that can
        // be read over the length that it states and that no one changes while the call lasts.
        Ok(unsafe { std::slice::from_raw_parts(self.0.cast(), bytes) })
    }

    pub(crate) fn write(&self, from: &[u8]) -> Result {
        if from.is_empty() {
            return Ok(());
        }
        if self.0.is_null() {
            return Err(Failure::invalid("memory to write to is null"));
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes memory that can
        // be written over the length that it states.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.0.cast(), from.len()) };
        Ok(())
    }
}

/// An array of pointers.
#[repr(transparent)]
pub struct Array(*const Bytes);

impl Array {
    /// The pointer at `index`; the caller passes an array that has it.
    pub(crate) fn at(&self, index: usize) -> Result<Bytes> {
        if self.0.is_null() {
            return Err(Failure::invalid("the array of arguments is null"));
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes an array of as
        // many pointers as it states.
        Ok(unsafe { self.0.wrapping_add(index).read_unaligned() })
    }
}
