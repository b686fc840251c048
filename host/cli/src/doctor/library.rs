//! Libraries that are loaded at run time, by the names that the loader knows them by.

use super::Check;

/// NVIDIA's libraries for GPUs are looked for on Linux only.
#[cfg(not(all(target_os = "linux", feature = "gpu")))]
pub(super) fn all() -> Vec<Check> {
    Vec::new()
}

#[cfg(all(target_os = "linux", feature = "gpu"))]
pub(super) use linux::all;

#[cfg(all(target_os = "linux", feature = "gpu"))]
mod linux {
    use super::Check;
    use libloading::os::unix::Library;
    use std::error::Error;

    /// A library: the start of its file's name, names to load it by in this order, and what its
    /// absence means.
    struct Wanted {
        stem: &'static str,
        names: &'static [&'static str],
        without: &'static str,
    }

    const WANTED: [Wanted; 4] = [
        Wanted {
            stem: "libcuda.so",
            names: &["libcuda.so.1"],
            without: "no GPU can be used: it comes with the NVIDIA driver",
        },
        Wanted {
            stem: "libnvidia-ml.so",
            names: &["libnvidia-ml.so.1"],
            without: "clocks, power and temperature are not known: it comes with the NVIDIA driver",
        },
        Wanted {
            stem: "libcublas.so",
            names: &warpladder_lab::peer::cublas::NAMES,
            without: "nothing can be compared with cuBLAS: it comes with the CUDA toolkit, whose \
                      folder goes into LD_LIBRARY_PATH",
        },
        Wanted {
            stem: "libcublasLt.so",
            names: &warpladder_lab::peer::cublaslt::NAMES,
            without: "nothing can be compared with cuBLASLt: it comes with the CUDA toolkit, whose \
                      folder goes into LD_LIBRARY_PATH",
        },
    ];

    /// A line for each library.
    pub(in super::super) fn all() -> Vec<Check> {
        WANTED.iter().map(check).collect()
    }

    fn check(wanted: &Wanted) -> Check {
        // The driver may lie where only `cuda_driver` looks; then it is loaded already.
        if let Some(path) = where_loaded(wanted.stem) {
            return Check::ok(wanted.stem, path);
        }
        let mut reason = None;
        for &name in wanted.names {
            // SAFETY: the constructors that run are those of NVIDIA's libraries, which any thread
            // may load, and nothing of them is called before they are unloaded.
            match unsafe { Library::new(name) } {
                Ok(_library) => {
                    let path = where_loaded(wanted.stem);
                    return Check::ok(wanted.stem, path.unwrap_or_else(|| name.to_owned()));
                }
                Err(error) => {
                    // The dynamic linker's own message is the source of libloading's.
                    let message = error
                        .source()
                        .map_or_else(|| error.to_string(), ToString::to_string);
                    reason.get_or_insert(message)
                }
            };
        }
        let reason = reason.unwrap_or_default();
        Check::missing(wanted.stem, format!("{reason}; {}", wanted.without))
    }

    /// The file of a library that this process has loaded.
    fn where_loaded(stem: &str) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        find(&maps, stem)
    }

    /// The first file in a process's list of mappings whose name starts with `stem`
    /// (proc_pid_maps(5): the path is the sixth field, and may contain spaces).
    fn find(maps: &str, stem: &str) -> Option<String> {
        maps.lines().find_map(|line| {
            let path = &line[line.find('/')?..];
            let (_, file) = path.rsplit_once('/')?;
            file.starts_with(stem).then(|| path.to_owned())
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::doctor::State;

        const MAPS: &str = "\
55d0c0a00000-55d0c0a02000 r--p 00000000 fe:00 1234                       /usr/bin/libcuda.so/program
7f1d2c000000-7f1d2c021000 rw-p 00000000 00:00 0
7f1d30000000-7f1d30028000 r--p 00000000 fe:00 5678                       /opt/my libs/libcuda.so.580.95.05
7ffc0a000000-7ffc0a021000 rw-p 00000000 00:00 0                          [stack]
";

        #[test]
        fn a_loaded_library_is_found_by_its_file_name() {
            let found = find(MAPS, "libcuda.so");
            assert_eq!(found.as_deref(), Some("/opt/my libs/libcuda.so.580.95.05"));
            assert_eq!(find(MAPS, "libcublas.so"), None);
        }

        #[test]
        fn a_library_that_is_not_there_is_missing_with_the_reason() {
            let wanted = Wanted {
                stem: "libwarpladder-absent.so",
                names: &["libwarpladder-absent.so.2", "libwarpladder-absent.so.1"],
                without: "nothing",
            };
            let check = check(&wanted);
            assert_eq!(check.state, State::Missing);
            assert!(
                check.detail.contains("libwarpladder-absent.so.2"),
                "{check:?}"
            );
            assert!(check.detail.ends_with("; nothing"), "{check:?}");
        }
    }
}
