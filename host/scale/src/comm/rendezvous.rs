//! How the processes of a run get the identifier that rank 0 made: through a file in a folder that
//! all share, or a TCP connection to rank 0. Nothing else is exchanged this way.

use crate::error::CommError;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Bytes of `ncclUniqueId` (`NCCL_UNIQUE_ID_BYTES`).
pub const ID_BYTES: usize = 128;

/// What NCCL calls a unique identifier.
pub type UniqueId = [u8; ID_BYTES];

/// What a process says when it connects, with its rank and the size behind: other programs that
/// connect to the port are turned away.
const GREETING: [u8; 8] = *b"wlscale1";

/// How often a process tries again.
const RETRY: Duration = Duration::from_millis(20);

/// How long a connection may take to say that it is a rank.
const GREETING_LIMIT: Duration = Duration::from_secs(2);

/// Where processes find each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rendezvous {
    /// One process needs no other.
    Alone,
    /// A file that rank 0 writes and the others read.
    File(PathBuf),
    /// Host and port where rank 0 listens.
    Tcp(String),
}

impl FromStr for Rendezvous {
    type Err = CommError;

    fn from_str(text: &str) -> Result<Self, CommError> {
        match text.split_once(':') {
            Some(("file", path)) if !path.is_empty() => Ok(Rendezvous::File(path.into())),
            Some(("tcp", address)) if is_address(address) => {
                Ok(Rendezvous::Tcp(address.to_owned()))
            }
            _ => Err(CommError::Rendezvous(format!(
                "{text:?} is no meeting place: give file:PATH or tcp:HOST:PORT"
            ))),
        }
    }
}

fn is_address(text: &str) -> bool {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    port.is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0))
}

impl Rendezvous {
    /// Gives every rank the identifier that `make` returns on rank 0.
    ///
    /// # Errors
    /// Those of `make`; [`CommError::Rendezvous`] where the ranks do not meet within `limit`, or a
    /// file is left of another run.
    pub fn exchange(
        &self,
        rank: usize,
        size: usize,
        limit: Duration,
        make: impl FnOnce() -> Result<UniqueId, CommError>,
    ) -> Result<UniqueId, CommError> {
        let deadline = Instant::now() + limit;
        match (self, rank) {
            (Rendezvous::Alone, 0) if size == 1 => make(),
            (Rendezvous::Alone, _) => Err(CommError::Rendezvous(format!(
                "rank {rank} of {size} has no meeting place: give file:PATH or tcp:HOST:PORT"
            ))),
            (Rendezvous::File(path), 0) => {
                let id = make()?;
                write_file(path, &id).map_err(|error| at(&path.display().to_string(), &error))?;
                Ok(id)
            }
            (Rendezvous::File(path), _) => read_file(path, rank, deadline),
            (Rendezvous::Tcp(address), 0) => {
                // It listens before the others may give up.
                let listener = TcpListener::bind(address).map_err(|error| at(address, &error))?;
                let id = make()?;
                serve(&listener, &id, size, deadline).map_err(|error| at(address, &error))?;
                Ok(id)
            }
            (Rendezvous::Tcp(address), _) => ask(address, rank, size, deadline),
        }
    }

    /// Removes what rank 0 left: to be called when all ranks have the identifier.
    pub fn clear(&self, rank: usize) {
        if let (Rendezvous::File(path), 0) = (self, rank) {
            // A file that stays is refused by name the next time.
            _ = std::fs::remove_file(path);
        }
    }
}

fn at(place: &str, error: &io::Error) -> CommError {
    CommError::Rendezvous(match error.kind() {
        ErrorKind::AlreadyExists => {
            format!("{place} is there already, left of another run: remove it")
        }
        _ => format!("cannot meet at {place}: {error}"),
    })
}

/// Writes the identifier under another name first: a reader sees all of it or nothing.
fn write_file(path: &Path, id: &UniqueId) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}", std::process::id()));
    let unfinished = PathBuf::from(unfinished);
    std::fs::write(&unfinished, id)?;
    // A link, unlike a rename, fails where the name is taken.
    let linked = std::fs::hard_link(&unfinished, path);
    std::fs::remove_file(&unfinished)?;
    linked
}

fn read_file(path: &Path, rank: usize, deadline: Instant) -> Result<UniqueId, CommError> {
    loop {
        match std::fs::read(path) {
            Ok(bytes) => {
                return UniqueId::try_from(bytes.as_slice()).map_err(|_| {
                    CommError::Rendezvous(format!(
                        "{} has {} bytes and not {ID_BYTES}: it is not of this program",
                        path.display(),
                        bytes.len()
                    ))
                });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(at(&path.display().to_string(), &error)),
        }
        if Instant::now() >= deadline {
            return Err(CommError::Rendezvous(format!(
                "rank {rank} found no {}: see whether rank 0 lives and shares the folder",
                path.display()
            )));
        }
        std::thread::sleep(RETRY);
    }
}

/// Sends the identifier to all other ranks.
fn serve(listener: &TcpListener, id: &UniqueId, size: usize, deadline: Instant) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut served = vec![false; size];
    served[0] = true;
    while served.contains(&false) {
        match listener.accept() {
            Ok((stream, _)) => {
                // A connection that breaks off is tried again by its rank.
                if let Ok(rank) = greet(stream, id, size, deadline) {
                    served[rank] = true;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(RETRY),
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline && served.contains(&false) {
            let missing: Vec<usize> = (0..size).filter(|&rank| !served[rank]).collect();
            let message = format!("ranks {missing:?} did not come within the time limit");
            return Err(io::Error::new(ErrorKind::TimedOut, message));
        }
    }
    Ok(())
}

/// Answers one connection, and returns its rank.
fn greet(
    mut stream: TcpStream,
    id: &UniqueId,
    size: usize,
    deadline: Instant,
) -> io::Result<usize> {
    // A stranger that says nothing does not keep the ranks waiting.
    limit_time(&stream, deadline.min(Instant::now() + GREETING_LIMIT))?;
    let mut greeting = [0; 24];
    stream.read_exact(&mut greeting)?;
    let number = |at: usize| {
        let bytes = greeting[at..at + 8].try_into();
        bytes.map_or(u64::MAX, u64::from_le_bytes)
    };
    let (rank, of) = (number(8), number(16));
    if greeting[..8] != GREETING || of != size as u64 || rank >= of {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "not a rank of this run",
        ));
    }
    stream.write_all(id)?;
    Ok(rank as usize)
}

/// Asks rank 0 for the identifier.
fn ask(address: &str, rank: usize, size: usize, deadline: Instant) -> Result<UniqueId, CommError> {
    let once = || -> io::Result<UniqueId> {
        let left = deadline
            .saturating_duration_since(Instant::now())
            .max(RETRY);
        let mut resolved = address.to_socket_addrs()?;
        let unknown = || io::Error::new(ErrorKind::NotFound, "the name has no address");
        let mut stream = TcpStream::connect_timeout(&resolved.next().ok_or_else(unknown)?, left)?;
        limit_time(&stream, deadline)?;
        let mut greeting = GREETING.to_vec();
        greeting.extend((rank as u64).to_le_bytes());
        greeting.extend((size as u64).to_le_bytes());
        stream.write_all(&greeting)?;
        let mut id = [0; ID_BYTES];
        stream.read_exact(&mut id)?;
        Ok(id)
    };
    loop {
        match once() {
            Ok(id) => return Ok(id),
            Err(error) if Instant::now() >= deadline => {
                return Err(CommError::Rendezvous(format!(
                    "rank {rank} did not reach rank 0 at {address} within the time limit: {error}"
                )));
            }
            Err(_) => std::thread::sleep(RETRY),
        }
    }
}

/// Lets reads and writes of a connection end at the deadline.
fn limit_time(stream: &TcpStream, deadline: Instant) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Some(left.max(RETRY));
    stream.set_read_timeout(left)?;
    stream.set_write_timeout(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: UniqueId = [7; ID_BYTES];

    fn all(place: &Rendezvous, size: usize, limit: Duration) -> Vec<Result<UniqueId, CommError>> {
        std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..size)
                .map(|rank| scope.spawn(move || place.exchange(rank, size, limit, || Ok(ID))))
                .collect();
            let joined = ranks.into_iter().map(|rank| rank.join().unwrap());
            joined.collect()
        })
    }

    fn free_port() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    }

    #[test]
    fn all_ranks_get_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id");
        let places = [
            Rendezvous::File(path.clone()),
            Rendezvous::Tcp(format!("127.0.0.1:{}", free_port())),
        ];
        for place in places {
            for id in all(&place, 5, Duration::from_secs(20)) {
                assert_eq!(id.unwrap(), ID);
            }
        }
        // A file of another run is refused, and gone after `clear`.
        let place = Rendezvous::File(path.clone());
        let error = place.exchange(0, 2, RETRY, || Ok(ID)).unwrap_err();
        assert!(error.to_string().contains("remove it"), "{error}");
        place.clear(1);
        assert!(path.exists());
        place.clear(0);
        assert!(!path.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn ranks_that_do_not_come_are_errors_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_millis(100);
        let start = Instant::now();
        let tcp = Rendezvous::Tcp(format!("127.0.0.1:{}", free_port()));
        let error = tcp
            .exchange(0, 3, limit, || Ok(ID))
            .unwrap_err()
            .to_string();
        assert!(error.contains("ranks [1, 2]"), "{error}");
        for place in [tcp, Rendezvous::File(folder.path().join("id"))] {
            let error = place
                .exchange(1, 3, limit, || Ok(ID))
                .unwrap_err()
                .to_string();
            assert!(error.contains("rank 1"), "{error}");
        }
        assert!(Rendezvous::Alone.exchange(1, 2, limit, || Ok(ID)).is_err());
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn strangers_are_turned_away() {
        let address = format!("127.0.0.1:{}", free_port());
        let place = Rendezvous::Tcp(address.clone());
        let limit = Duration::from_secs(20);
        std::thread::scope(|scope| {
            let zero = scope.spawn(|| place.exchange(0, 2, limit, || Ok(ID)));
            let mut stream = loop {
                match TcpStream::connect(&address) {
                    Ok(stream) => break stream,
                    Err(_) => std::thread::sleep(RETRY),
                }
            };
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                .unwrap();
            let mut answer = Vec::new();
            // The connection is closed without a byte.
            _ = stream.read_to_end(&mut answer);
            assert!(answer.is_empty());
            assert_eq!(place.exchange(1, 2, limit, || Ok(ID)).unwrap(), ID);
            assert_eq!(zero.join().unwrap().unwrap(), ID);
        });
    }

    #[test]
    fn places_are_parsed() {
        for wrong in [
            "",
            "tcp:",
            "tcp:host",
            "tcp::1",
            "tcp:host:0",
            "tcp:host:x",
            "file:",
            "x:y",
        ] {
            let error = wrong.parse::<Rendezvous>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
        let place: Rendezvous = "tcp:[::1]:29500".parse().unwrap();
        assert_eq!(place, Rendezvous::Tcp("[::1]:29500".to_owned()));
    }
}
