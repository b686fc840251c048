//! What a module is loaded from: PTX text, or a fat binary that holds some.

use std::io::Read;

use crate::code::{Code, Result};
use crate::link::link;
use crate::pointer::Host;

/// The wrapper that nvcc puts around a fat binary: magic, version, pointer, and a list of fat
/// binaries where the version is that of separately compiled device code.
const WRAPPER: u32 = 0x466_243b1;
const SEPARATE: u32 = 2;
/// Most translation units of a program.
const MAX_UNITS: usize = 1 << 16;
const FATBIN: u32 = 0xba55_ed50;
const ELF: [u8; 4] = *b"\x7fELF";
/// Kind of an entry that is PTX.
const PTX: u16 = 1;
/// Flags of an entry whose payload is compressed: a block of LZ4, or a frame of zstd.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Most bytes of a text; one that claims more is not unpacked.
const MAX_TEXT_BYTES: usize = 1 << 30;

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
            match u32_at(&wrapper, 4) {
                SEPARATE => separate(image.add(16), capability),
                _ => ptx(Host::at_address(u64_at(&wrapper, 8)), capability),
            }
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

/// The PTX of separately compiled device code. A program of `nvcc -rdc=true` has the machine code
/// that nvcc linked, or nothing in its place, and a list of the fat binaries of all translation
/// units, which ends in a null pointer; `place` is where its address stands.
fn separate(place: Host, capability: u32) -> std::result::Result<String, (Code, String)> {
    let failed = |code: Code| {
        (
            code,
            "no list of separately compiled device code".to_string(),
        )
    };
    let pointer = |place: Host| place.vec(8).map(|bytes| u64_at(&bytes, 0));
    let list = pointer(place).map_err(failed)?;
    let mut texts = Vec::new();
    if list != 0 {
        for unit in 0..MAX_UNITS {
            let unit = Host::at_address(list).add(8 * unit);
            match pointer(unit).map_err(failed)? {
                0 => break,
                image => texts.push(ptx(Host::at_address(image), capability)),
            }
        }
    }
    // Units of libraries may be machine code alone, as CUDA's device runtime is, which nvcc links
    // with every program. A call of what they define is a fault that names it.
    let has_ptx = texts.iter().any(|text| text.is_ok());
    let lacks_ptx = |text: &std::result::Result<String, (Code, String)>| {
        matches!(text, Err((Code::NO_BINARY_FOR_GPU, _)))
    };
    texts.retain(|text| !has_ptx || !lacks_ptx(text));
    let texts: std::result::Result<Vec<String>, _> = texts.into_iter().collect();
    match texts {
        Ok(texts) if !texts.is_empty() => Ok(link(&texts)),
        Ok(_) => Err((
            Code::NO_BINARY_FOR_GPU,
            "separately compiled device code (nvcc -rdc=true) is there as linked machine code \
             alone: compile with PTX embedded, as with -gencode arch=compute_90,code=compute_90"
                .to_string(),
        )),
        Err((code, message)) => Err((
            code,
            format!("separately compiled device code (nvcc -rdc=true): {message}"),
        )),
    }
}

/// The PTX texts of the fat binaries in an object file or an archive of such; none where all is
/// machine code.
///
/// # Errors
/// As [`ptx`], for a fat binary that is damaged.
pub(crate) fn of_object(
    bytes: &[u8],
    capability: u32,
) -> std::result::Result<Vec<String>, (Code, String)> {
    let mut texts = Vec::new();
    // Members of an archive begin at even addresses, and sections in them at multiples of 8.
    for at in (0..bytes.len().saturating_sub(16)).step_by(2) {
        let header = usize::from(u16_at(bytes, at + 6));
        // Version 1, and a header of 16 bytes.
        if u32_at(bytes, at) != FATBIN || u16_at(bytes, at + 4) != 1 || header != 16 {
            continue;
        }
        let size = usize::try_from(u64_at(bytes, at + 8)).unwrap_or(usize::MAX);
        let start = at + header;
        let Some(entries) = start
            .checked_add(size)
            .and_then(|end| bytes.get(start..end))
        else {
            continue;
        };
        match of_fat_binary(entries, capability) {
            Ok(text) => texts.push(text),
            Err((Code::NO_BINARY_FOR_GPU, _)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(texts)
}

pub(crate) fn of_text(mut text: Vec<u8>) -> std::result::Result<String, (Code, String)> {
    while text.last() == Some(&0) {
        text.pop();
    }
    String::from_utf8(text).map_err(|_| (Code::INVALID_IMAGE, "the PTX is no text".to_string()))
}

/// The bytes of an entry's payload, unpacked where its flags say so.
fn unpack(entry: &[u8], payload: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let flags = u64_at(entry, 40);
    if flags & (LZ4 | ZSTD) == 0 {
        return Ok(payload.to_vec());
    }
    let packed = u32_at(entry, 16) as usize;
    let packed = payload
        .get(..packed)
        .filter(|_| packed > 0)
        .unwrap_or(payload);
    let whole = usize::try_from(u64_at(entry, 56)).unwrap_or(usize::MAX);
    if whole > MAX_TEXT_BYTES {
        return Err(format!(
            "a compressed text of {whole} bytes is too long: {MAX_TEXT_BYTES} at most"
        ));
    }
    let unpacked = if flags & LZ4 != 0 {
        lz4_flex::block::decompress(packed, whole).map_err(|error| error.to_string())
    } else {
        unpack_zstd(packed, whole)
    };
    let unpacked = unpacked.map_err(|error| format!("compressed PTX is damaged: {error}"))?;
    match unpacked.len() == whole {
        true => Ok(unpacked),
        false => Err("compressed PTX is damaged: it has another length".to_string()),
    }
}

fn unpack_zstd(packed: &[u8], whole: usize) -> std::result::Result<Vec<u8>, String> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
    let decoder = decoder.map_err(|error| error.to_string())?;
    let mut unpacked = Vec::new();
    // One byte more than there may be shows that there are more.
    let mut decoder = decoder.take(whole as u64 + 1);
    decoder
        .read_to_end(&mut unpacked)
        .map_err(|error| error.to_string())?;
    Ok(unpacked)
}

/// The PTX for the newest compute capability that the device has.
fn of_fat_binary(entries: &[u8], capability: u32) -> std::result::Result<String, (Code, String)> {
    let invalid = |message: String| (Code::INVALID_IMAGE, message);
    let mut best: Option<(u32, &[u8], &[u8])> = None;
    let (mut others, mut at) = (0, 0);
    while at + 64 <= entries.len() {
        let entry = &entries[at..];
        let header = u32_at(entry, 4) as usize;
        let payload = usize::try_from(u64_at(entry, 8)).unwrap_or(usize::MAX);
        let end = header.checked_add(payload);
        let Some(end) = end.filter(|&end| end <= entry.len() && end > 0) else {
            return Err(invalid("a fat binary that is cut off".to_string()));
        };
        let architecture = u32_at(entry, 28);
        if u16_at(entry, 0) != PTX {
            others += 1;
        } else if architecture <= capability && best.is_none_or(|(best, ..)| architecture > best) {
            best = Some((architecture, entry, &entry[header..end]));
        }
        at += end;
    }
    let Some((_, entry, payload)) = best else {
        let (major, minor) = (capability / 10, capability % 10);
        return Err((
            Code::NO_BINARY_FOR_GPU,
            format!(
                "the fat binary has no PTX for compute capability {major}.{minor} or older \
                 ({others} entries of machine code): compile with PTX embedded, as with -gencode \
                 arch=compute_90,code=compute_90"
            ),
        ));
    };
    of_text(unpack(entry, payload).map_err(invalid)?)
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

    /// A text, and the same as LZ4 and zstd pack it.
    const TEXT: &[u8] = b"eighty eighty eighty eighty eighty eighty\n";
    const PACKED_LZ4: &[u8] = &[
        0x7f, b'e', b'i', b'g', b'h', b't', b'y', b' ', 7, 0, 10, 0x60, b'i', b'g', b'h', b't',
        b'y', b'\n',
    ];

    fn packed(flags: u64, payload: &[u8]) -> Vec<u8> {
        let mut padded = payload.to_vec();
        padded.resize(payload.len().next_multiple_of(8), 0);
        let mut entry = entry(PTX, 80, flags, &padded);
        entry[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        entry[56..64].copy_from_slice(&(TEXT.len() as u64).to_le_bytes());
        entry
    }

    #[test]
    fn compressed_texts_are_unpacked_and_damaged_ones_refused() {
        let zstd =
            ruzstd::encoding::compress_to_vec(TEXT, ruzstd::encoding::CompressionLevel::Fastest);
        let expected = str::from_utf8(TEXT).expect("ASCII");
        for (flags, payload) in [(LZ4, PACKED_LZ4), (ZSTD, zstd.as_slice())] {
            let mut entry = packed(flags, payload);
            assert_eq!(of_fat_binary(&entry, 90).as_deref(), Ok(expected));
            for length in 64..entry.len() {
                assert!(of_fat_binary(&entry[..length], 90).is_err());
            }
            entry[56] += 1;
            let (code, message) = of_fat_binary(&entry, 90).expect_err("another length");
            assert_eq!(code, Code::INVALID_IMAGE);
            assert!(message.contains("damaged"), "{message}");
            entry[60] = 1;
            let (_, message) = of_fat_binary(&entry, 90).expect_err("too long");
            assert!(message.contains("too long"), "{message}");
            for place in 64..entry.len() {
                let mut other = packed(flags, payload);
                other[place] ^= 0x55;
                // Whatever it becomes, it is no panic.
                _ = of_fat_binary(&other, 90);
            }
        }
    }

    #[test]
    fn objects_and_archives_give_the_ptx_of_their_fat_binaries() {
        let binary = |entries: &[u8]| {
            let mut all = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
            all.extend((entries.len() as u64).to_le_bytes());
            all.extend(entries);
            all
        };
        let machine_code = binary(&entry(2, 80, 0, b"machine "));
        let archive = |members: &[&[u8]]| [b"!<arch>\nname/   `\n", &members.concat()[..]].concat();
        let one = binary(&entry(PTX, 80, 0, b"eighty\0\0"));
        assert_eq!(of_object(&archive(&[&machine_code]), 90), Ok(Vec::new()));
        let found = of_object(&archive(&[&machine_code, &one, &one]), 90);
        assert_eq!(found, Ok(vec!["eighty".to_string(); 2]));
        let whole = archive(&[&one]);
        for length in 0..whole.len() {
            assert_eq!(of_object(&whole[..length], 90), Ok(Vec::new()));
        }
    }

    #[test]
    fn cut_off_binaries_are_refused() {
        let whole = entry(PTX, 70, 0, b"seventy\0");
        for length in 64..whole.len() {
            assert!(of_fat_binary(&whole[..length], 90).is_err());
        }
    }
}
