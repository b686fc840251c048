//! A file server of plain files, and a visit of a browser to it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Serves a folder, opens `page` of it in the browser that `command` starts, and gives what a
/// script of the page sends by `POST` to `/done`.
///
/// # Errors
/// Where there is no port or no browser, or nothing was sent within `limit`.
pub fn visit(
    mut command: Command,
    folder: &Path,
    page: &str,
    limit: Duration,
) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (sender, receiver) = mpsc::channel();
    let folder = folder.to_owned();
    // It ends with the test's process: a listener cannot be woken.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (folder, sender) = (folder.clone(), sender.clone());
            // A connection that breaks is the browser's to open again.
            std::thread::spawn(move || _ = serve(stream, &folder, &sender));
        }
    });
    let url = format!("http://{address}/{page}");
    command.arg(url).stdin(Stdio::null());
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _browser = Killed(child);
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the page has sent nothing");
    receiver.recv_timeout(limit).map_err(late)
}

/// A process that ends with this value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended by itself.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Answers one request.
fn serve(stream: TcpStream, folder: &Path, done: &mpsc::Sender<String>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split_whitespace();
    let (method, path) = (words.next(), words.next().unwrap_or("/"));
    let mut stream = reader.into_inner();
    if method == Some("POST") && path == "/done" {
        stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")?;
        // The test may have given up.
        _ = done.send(String::from_utf8_lossy(&body).into_owned());
        return Ok(());
    }
    match file(folder, path).and_then(|path| Some((std::fs::read(&path).ok()?, path))) {
        Some((content, path)) => {
            let (kind, length) = (kind(&path), content.len());
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes())?;
            stream.write_all(&content)
        }
        None => stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}

/// The file of a path of a URL; none where it leads out of the folder.
fn file(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = path.split(['?', '#']).next()?.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let path = Path::new(path);
    let is_inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    is_inside.then(|| folder.join(path))
}

/// The media type by a file's ending.
fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("wasm") => "application/wasm",
        _ => "text/plain; charset=utf-8",
    }
}
