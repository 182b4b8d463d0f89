//! An HTTP server for this machine only.

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
    /// Listens on `port`, or on any free port if it is 0.
    pub fn open(folder: &Path, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("listening on port {port}"))?;
        Ok(Self { folder: folder.to_owned(), address: listener.local_addr()?, listener })
    }

    /// Address on which it listens.
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
    let (mut line, mut accepts_brotli) = (String::new(), false);
    while lines.read_line(&mut line)? > 2 {
        accepts_brotli |= is_brotli_accepted(&line);
        line.clear();
    }
    let found = requested_file(&first).and_then(|name| {
        let packed = format!("{name}.br");
        let packed = accepts_brotli.then(|| fs::read(folder.join(packed)).ok()).flatten();
        Some(match packed {
            Some(bytes) => (content_type(name)?, "Content-Encoding: br\r\n", bytes),
            None => (content_type(name)?, "", fs::read(folder.join(name)).ok()?),
        })
    });
    let mut stream = stream;
    let (status, (content_type, encoding, bytes)) = match found {
        Some(found) => ("200 OK", found),
        None => ("404 Not Found", ("text/plain", "", b"there is no such file\n".to_vec())),
    };
    // Browsers give cross-origin isolated pages finer clocks.
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{encoding}\
         Cache-Control: no-cache\r\nVary: Accept-Encoding\r\nCross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
         Connection: close\r\n\r\n",
        bytes.len()
    )?;
    stream.write_all(&bytes)
}

/// Whether a header line of a request accepts brotli compression.
fn is_brotli_accepted(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let Some(codings) = line.strip_prefix("accept-encoding:") else { return false };
    codings.split(',').any(|coding| coding.trim() == "br")
}

/// The file name in a request line; `None` unless it is a GET of a file directly in the folder.
fn requested_file(line: &str) -> Option<&str> {
    let path = line.strip_prefix("GET /")?.split([' ', '?']).next()?;
    let name = if path.is_empty() { "index.html" } else { path };
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    (plain && !name.starts_with('.')).then_some(name)
}

fn content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit('.').next()? {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
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
        assert_eq!(requested_file("GET / HTTP/1.1"), Some("index.html"));
        assert_eq!(requested_file("GET /page.js?log=trace HTTP/1.1"), Some("page.js"));
        for wrong in ["GET /../Cargo.toml H", "GET /a/b.js H", "POST /page.js H", "GET /.git H"] {
            assert_eq!(requested_file(wrong), None, "{wrong}");
        }
        assert_eq!(content_type("Cargo.toml"), None);
    }

    #[test]
    fn accept_encoding_with_brotli_is_recognised() {
        assert!(is_brotli_accepted("Accept-Encoding: gzip, deflate, br, zstd\r\n"));
        for none in ["accept-encoding: gzip\r\n", "Accept: br\r\n", "accept-encoding: brown\r\n"] {
            assert!(!is_brotli_accepted(none), "{none}");
        }
    }
}
