//! The arguments of launches.

use ptx_emulator::Args;

use crate::code::{Code, Result};
use crate::launch::Function;
use crate::pointer::{Host, In};

/// The bytes of each argument of a launch.
pub(crate) type Values = Vec<Vec<u8>>;

pub(crate) fn args_of(values: &Values) -> Args {
    let mut args = Args::new();
    for value in values {
        args.push_bytes(value);
    }
    args
}

impl Function {
    /// The arguments of a launch: one pointer to each, or a buffer of all of them in `extra`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where both or none are given, or the buffer is too short.
    pub(crate) fn values(&self, each: In<Host>, extra: In<Host>) -> Result<Values> {
        let params = self.kernel.params();
        if params.is_empty() {
            return Ok(Vec::new());
        }
        if !each.is_null() {
            let all = params.iter().enumerate();
            return all
                .map(|(index, param)| each.at(index)?.vec(param.bytes as usize))
                .collect();
        }
        let (mut buffer, mut bytes) = (None, None);
        for pair in 0.. {
            match extra.at(2 * pair)?.address() {
                0 => break,
                1 => buffer = Some(extra.at(2 * pair + 1)?),
                2 => bytes = Some(extra.at(2 * pair + 1)?),
                _ => return Err(Code::INVALID_VALUE),
            }
        }
        let (Some(buffer), Some(bytes)) = (buffer, bytes) else {
            return Err(Code::INVALID_VALUE);
        };
        let mut size = [0; 8];
        bytes.read(&mut size)?;
        self.values_in(&buffer.vec(usize::from_le_bytes(size))?)
    }

    /// The arguments in a buffer of all of them.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where the buffer is too short.
    pub(crate) fn values_in(&self, all: &[u8]) -> Result<Values> {
        let params = self.kernel.params().iter();
        let values = params.map(|param| {
            let start = param.offset as usize;
            let one = all.get(start..start + param.bytes as usize);
            Ok(one.ok_or(Code::INVALID_VALUE)?.to_vec())
        });
        values.collect()
    }
}
