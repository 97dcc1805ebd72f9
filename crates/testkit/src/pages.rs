//! A web server of fixed pages, for tools that fetch.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// Serves pages until it is dropped.
#[derive(Debug)]
pub struct Pages {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

/// What lies at each path: a content type and bytes. Nothing at all: no answer ever comes.
type Shelf = Option<HashMap<String, (String, Vec<u8>)>>;

impl Pages {
    /// A server of these pages: path, content type, bytes.
    pub fn serve(pages: &[(&str, &str, &[u8])]) -> io::Result<Pages> {
        let page = |(path, kind, body): &(&str, &str, &[u8])| {
            ((*path).to_owned(), ((*kind).to_owned(), body.to_vec()))
        };
        Pages::start(Some(pages.iter().map(page).collect()))
    }

    /// A server that takes every question and never answers.
    pub fn silent() -> io::Result<Pages> {
        Pages::start(None)
    }

    fn start(shelf: Shelf) -> io::Result<Pages> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        // Ends with the process: a test's process is short, and an open socket costs nothing.
        thread::spawn(move || {
            let shelf = Arc::new(shelf);
            for stream in listener.incoming().flatten() {
                let (shelf, kept) = (Arc::clone(&shelf), Arc::clone(&kept));
                thread::spawn(move || answer(stream, &shelf, &kept));
            }
        });
        Ok(Pages { address, asked })
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The paths that were asked for so far, with what stands behind `?`.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut stream: TcpStream, shelf: &Shelf, asked: &Mutex<Vec<String>>) {
    let Some(path) = path(&mut stream) else { return };
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(path.clone());
    let Some(pages) = shelf else {
        // Returns when the other side has given up.
        let _ = stream.read(&mut [0; 1]);
        return;
    };
    let page = pages.get(path.split('?').next().unwrap_or_default());
    let (status, kind, body) = match page {
        Some((kind, body)) => ("200 OK", kind.as_str(), body.as_slice()),
        _ => ("404 Not Found", "text/plain", b"nothing here".as_slice()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // Who hangs up early has what it wanted.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
}

/// The path of a request, once its head is complete.
fn path(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    head.split_whitespace().nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_served_and_its_asking_is_kept() {
        let pages = Pages::serve(&[("/a", "text/plain", b"hello")]).unwrap();
        let ask = |path: &str| {
            let mut stream = TcpStream::connect(pages.address).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        assert!(ask("/a?q=1").ends_with("\r\n\r\nhello"));
        assert!(ask("/b").starts_with("HTTP/1.1 404"));
        assert_eq!(pages.asked(), ["/a?q=1", "/b"]);
    }
}
