//! A server for this machine only.

use std::fs;
use std::io::{BufRead, BufReader, Read, Result as IoResult, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Serves the files of one folder to this machine.
pub struct Server {
    folder: PathBuf,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on `port`, or on any that is free if it is 0.
    pub fn open(folder: &Path, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("listening on port {port}"))?;
        Ok(Self { folder: folder.to_owned(), address: listener.local_addr()?, listener })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the program ends; a failed connection does not affect others.
    pub fn run(self) {
        for stream in self.listener.incoming().flatten() {
            let folder = self.folder.clone();
            std::thread::spawn(move || answer(stream, &folder));
        }
    }
}

fn answer(stream: TcpStream, folder: &Path) -> IoResult<()> {
    let mut lines = BufReader::new(stream.try_clone()?).take(16 << 10);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let (mut line, mut takes_brotli) = (String::new(), false);
    while lines.read_line(&mut line)? > 2 {
        takes_brotli |= is_brotli_accepted(&line);
        line.clear();
    }
    let found = asked(&first).and_then(|name| {
        let packed = format!("{name}.br");
        let packed = takes_brotli.then(|| fs::read(folder.join(packed)).ok()).flatten();
        Some(match packed {
            Some(bytes) => (kind(name)?, "Content-Encoding: br\r\n", bytes),
            None => (kind(name)?, "", fs::read(folder.join(name)).ok()?),
        })
    });
    let mut stream = stream;
    let (status, (kind, encoding, bytes)) = match found {
        Some(found) => ("200 OK", found),
        None => ("404 Not Found", ("text/plain", "", b"there is no such file\n".to_vec())),
    };
    // Cross-origin isolated pages have finer clocks.
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{encoding}\
         Cache-Control: no-cache\r\nVary: Accept-Encoding\r\nCross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
         Connection: close\r\n\r\n",
        bytes.len()
    )?;
    stream.write_all(&bytes)
}

/// Whether a line of a request says that its answer may come compressed by brotli.
fn is_brotli_accepted(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let Some(ways) = line.strip_prefix("accept-encoding:") else { return false };
    ways.split(',').any(|way| way.trim() == "br")
}

/// The file that a request names: one of the folder itself.
fn asked(line: &str) -> Option<&str> {
    let path = line.strip_prefix("GET /")?.split([' ', '?']).next()?;
    let name = if path.is_empty() { "index.html" } else { path };
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    (plain && !name.starts_with('.')).then_some(name)
}

fn kind(name: &str) -> Option<&'static str> {
    Some(match name.rsplit('.').next()? {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_are_served() {
        assert_eq!(asked("GET / HTTP/1.1"), Some("index.html"));
        assert_eq!(asked("GET /page.js?log=trace HTTP/1.1"), Some("page.js"));
        for wrong in ["GET /../Cargo.toml H", "GET /a/b.js H", "POST /page.js H", "GET /.git H"] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
        assert_eq!(kind("Cargo.toml"), None);
    }

    #[test]
    fn compressed_files_go_to_who_takes_them() {
        assert!(is_brotli_accepted("Accept-Encoding: gzip, deflate, br, zstd\r\n"));
        for none in ["accept-encoding: gzip\r\n", "Accept: br\r\n", "accept-encoding: brown\r\n"] {
            assert!(!is_brotli_accepted(none), "{none}");
        }
    }
}
