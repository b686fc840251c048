//! What C programs pass by pointer. Each type is an argument of the C interface: only a caller in C
//! makes one, and what it promises by calling (`cuda.h`: null, or valid for what the function does)
//! is what makes the accesses here sound.

use std::ffi::{CStr, c_char, c_void};

use crate::code::{Code, Result};

/// A place for a result.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// A null pointer.
    pub(crate) const NONE: Self = Out(std::ptr::null_mut());

    /// At an address that the program passed as an argument of several meanings.
    pub(crate) fn at_address(address: u64) -> Self {
        Out(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// A place of this library's, for the length of a call.
    pub(crate) fn of(place: &mut T) -> Self {
        Out(place)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Stores the result.
    pub(crate) fn set(self, value: T) -> Result {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes one to which
        // a value of this type can be written.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Stores the result where the caller wants it: the pointer may be null.
    pub(crate) fn set_optional(self, value: T) {
        if !self.0.is_null() {
            // A pointer that is not null is no error.
            _ = self.set(value);
        }
    }

    /// The value there, of an argument that is read and overwritten.
    pub(crate) fn get(self) -> Result<T>
    where
        T: Copy,
    {
        In(self.0.cast_const()).get()
    }

    /// The place `index` places further on; the caller passes an array.
    pub(crate) fn at(self, index: usize) -> Out<T> {
        Out(self.0.wrapping_add(index))
    }
}

/// A value or an array to read.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// A null pointer.
    pub(crate) const NONE: Self = In(std::ptr::null());

    /// A value of this library's, for the length of a call.
    pub(crate) fn of(value: &T) -> Self {
        In(value)
    }

    /// An array at an address of the process.
    pub(crate) fn at_address(address: u64) -> Self {
        In(std::ptr::with_exposed_provenance(address as usize))
    }

    /// The place of the value at `index`, to be overwritten where an argument says so.
    pub(crate) fn place(self, index: usize) -> Host {
        Host(self.0.wrapping_add(index).cast_mut().cast())
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The first value.
    pub(crate) fn get(self) -> Result<T> {
        self.at(0)
    }

    /// The value at `index`; the caller passes an array that has it.
    pub(crate) fn at(self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes an array of
        // values of this type, which are valid for any bits.
        Ok(unsafe { self.0.wrapping_add(index).read_unaligned() })
    }
}

/// A text that ends in a null byte.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes a text that ends
        // in a null byte.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// Memory of the program, of a length that another argument tells.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Host(*mut c_void);

impl Host {
    /// At an address that the program passed as a number.
    pub(crate) fn at_address(address: u64) -> Self {
        Host(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn add(self, bytes: usize) -> Self {
        Host(self.0.wrapping_byte_add(bytes))
    }

    pub(crate) fn raw(self) -> *mut c_void {
        self.0
    }

    /// Copies the first `to.len()` bytes.
    pub(crate) fn read(self, to: &mut [u8]) -> Result {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes memory that can
        // be read over the length that it states.
        unsafe { std::ptr::copy(self.0.cast(), to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    /// Overwrites the first `from.len()` bytes.
    pub(crate) fn write(self, from: &[u8]) -> Result {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes memory that can
        // be written over the length that it states.
        unsafe { std::ptr::copy(from.as_ptr(), self.0.cast(), from.len()) };
        Ok(())
    }

    pub(crate) fn vec(self, bytes: usize) -> Result<Vec<u8>> {
        let mut all = vec![0; bytes];
        self.read(&mut all)?;
        Ok(all)
    }

    /// The text up to the null byte.
    pub(crate) fn text(self) -> Result<Vec<u8>> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the pointer is not null, and the caller of the C function passes a text that ends
        // in a null byte.
        Ok(unsafe { CStr::from_ptr(self.0.cast()) }.to_bytes().to_vec())
    }
}
