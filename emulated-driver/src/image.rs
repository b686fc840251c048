//! What a module is loaded from: PTX text, or a fat binary that holds some.

use crate::code::{Code, Result};
use crate::pointer::Host;

/// The wrapper that nvcc puts around a fat binary: magic, version, pointer.
const WRAPPER: u32 = 0x466_243b1;
const FATBIN: u32 = 0xba55_ed50;
const ELF: [u8; 4] = *b"\x7fELF";
/// Kind of an entry that is PTX.
const PTX: u16 = 1;
/// Flags of an entry whose payload is compressed, by LZ4 or by zstd.
const COMPRESSED: u64 = 0x2000 | 0x8000;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    two.map_or(0, u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The PTX of an image at an address of the program, for a device of this compute capability.
///
/// # Errors
/// The code that the driver returns for what cannot be loaded, and a line for the log.
pub(crate) fn ptx(image: Host, capability: u32) -> std::result::Result<String, (Code, String)> {
    let failed = |code: Code| (code, "no image".to_string());
    let magic = image.vec(4).map_err(failed)?;
    match u32_at(&magic, 0) {
        WRAPPER => {
            let wrapper = image.vec(16).map_err(failed)?;
            ptx(Host::at_address(u64_at(&wrapper, 8)), capability)
        }
        FATBIN => {
            let head = image.vec(16).map_err(failed)?;
            let header = usize::from(u16_at(&head, 6));
            let size = usize::try_from(u64_at(&head, 8)).unwrap_or(0);
            let entries = image.add(header).vec(size).map_err(failed)?;
            of_fat_binary(&entries, capability)
        }
        _ if magic == ELF => Err((
            Code::NO_BINARY_FOR_GPU,
            "a cubin is machine code, and the emulator runs PTX: compile with PTX embedded, as \
             with -gencode arch=compute_90,code=compute_90"
                .to_string(),
        )),
        _ => {
            let text = image.text().map_err(failed)?;
            of_text(text)
        }
    }
}

pub(crate) fn of_text(mut text: Vec<u8>) -> std::result::Result<String, (Code, String)> {
    while text.last() == Some(&0) {
        text.pop();
    }
    String::from_utf8(text).map_err(|_| (Code::INVALID_IMAGE, "the PTX is no text".to_string()))
}

/// The PTX for the newest compute capability that the device has.
fn of_fat_binary(entries: &[u8], capability: u32) -> std::result::Result<String, (Code, String)> {
    let mut best: Option<(u32, &[u8])> = None;
    let (mut compressed, mut others) = (false, 0);
    let mut at = 0;
    while at + 64 <= entries.len() {
        let entry = &entries[at..];
        let header = u32_at(entry, 4) as usize;
        let payload = usize::try_from(u64_at(entry, 8)).unwrap_or(usize::MAX);
        let Some(end) = header
            .checked_add(payload)
            .filter(|&end| end <= entry.len() && end > 0)
        else {
            return Err((
                Code::INVALID_IMAGE,
                "a fat binary that is cut off".to_string(),
            ));
        };
        let architecture = u32_at(entry, 28);
        if u16_at(entry, 0) != PTX {
            others += 1;
        } else if u64_at(entry, 40) & COMPRESSED != 0 {
            compressed = true;
        } else if architecture <= capability && best.is_none_or(|(best, _)| architecture > best) {
            best = Some((architecture, &entry[header..end]));
        }
        at += end;
    }
    match best {
        Some((_, text)) => of_text(text.to_vec()),
        None if compressed => Err((
            Code::NO_BINARY_FOR_GPU,
            "the PTX of the fat binary is compressed: compile with -Xfatbin -no-compress, or \
             --compress-mode=none"
                .to_string(),
        )),
        None => Err((
            Code::NO_BINARY_FOR_GPU,
            format!(
                "the fat binary has no PTX for compute capability {}.{} or older ({others} entries \
                 of machine code)",
                capability / 10,
                capability % 10
            ),
        )),
    }
}

/// The options of the just-in-time compiler that name places for its messages.
#[derive(Clone, Copy, Default)]
pub(crate) struct Log {
    pub(crate) buffer: Option<Host>,
    pub(crate) bytes: usize,
}

impl Log {
    /// Writes as much of a message as fits, and gives the number of its bytes.
    pub(crate) fn write(self, message: &str) -> Result<usize> {
        let Some(buffer) = self.buffer.filter(|_| self.bytes > 0) else {
            return Ok(0);
        };
        let length = message.len().min(self.bytes - 1);
        let mut bytes = message.as_bytes()[..length].to_vec();
        bytes.push(0);
        buffer.write(&bytes)?;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, architecture: u32, flags: u64, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&64u32.to_le_bytes());
        bytes[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes[28..32].copy_from_slice(&architecture.to_le_bytes());
        bytes[40..48].copy_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn the_newest_ptx_that_fits_is_taken() {
        let all = [
            entry(PTX, 70, 0, b"seventy\0"),
            entry(2, 80, 0, b"machine "),
            entry(PTX, 80, 0, b"eighty\0\0"),
            entry(PTX, 90, 0, b"ninety\0\0"),
        ];
        let all = all.concat();
        assert_eq!(of_fat_binary(&all, 86).as_deref(), Ok("eighty"));
        assert_eq!(of_fat_binary(&all, 75).as_deref(), Ok("seventy"));
        let (code, message) = of_fat_binary(&all, 60).expect_err("nothing for it");
        assert_eq!(code, Code::NO_BINARY_FOR_GPU);
        assert!(message.contains("6.0"), "{message}");
    }

    #[test]
    fn compressed_and_cut_off_binaries_are_refused_by_name() {
        let compressed = entry(PTX, 70, 0x2000, b"????????");
        let (_, message) = of_fat_binary(&compressed, 90).expect_err("compressed");
        assert!(message.contains("compressed"), "{message}");
        let whole = entry(PTX, 70, 0, b"seventy\0");
        for length in 64..whole.len() {
            assert!(of_fat_binary(&whole[..length], 90).is_err());
        }
    }
}
