//! The host's memory.

/// Memory that can be used without swapping, in bytes; `None` where the system does not tell.
///
/// On Linux this is `MemAvailable` of `/proc/meminfo`: an allocation above it may succeed and end
/// the process later.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    parse(&text)
}

fn parse(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn available_memory_is_read_in_kibibytes() {
        let text = "MemTotal:       24576000 kB\nMemAvailable:    1024 kB\n";
        assert_eq!(super::parse(text), Some(1 << 20));
        assert_eq!(super::parse("MemTotal: 1 kB\n"), None);
    }
}
