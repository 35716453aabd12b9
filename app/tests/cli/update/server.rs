//! A server on loopback that hands out a directory, and for some paths something else.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is sent in place of a file.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// The file's length, and half of its bytes.
    Half,
    /// Nothing, for as long as the client waits.
    Silence,
    /// The beginning of an answer, and then a byte now and again.
    Trickle,
    /// Bytes without end.
    Endless,
    /// A redirect.
    Redirect(String),
    /// An error.
    Missing,
}

/// A server that goes away with this value.
pub(crate) struct Server {
    address: String,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

struct Shared {
    directory: PathBuf,
    replies: Mutex<BTreeMap<String, Reply>>,
    asked: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

impl Server {
    /// Serves `directory` under `/` on a free port.
    pub(crate) fn start(directory: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            directory: directory.to_owned(),
            replies: Mutex::default(),
            asked: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let listening = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || listen(&listener, &shared)
        });
        Self { address, shared, listening: Some(listening) }
    }

    /// Its URL, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        self.address.clone()
    }

    /// From now on, `reply` is what is sent for the file `name`.
    pub(crate) fn reply(&self, name: &str, reply: Reply) {
        self.shared.replies.lock().expect("replies").insert(name.to_owned(), reply);
    }

    /// The names of the files that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("requests").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the listener, so that it sees that it is over.
        TcpStream::connect(self.address.trim_start_matches("http://")).ok();
        if let Some(listening) = self.listening.take() {
            listening.join().expect("the server ends");
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            if shared.is_over.load(Ordering::Relaxed) {
                break;
            }
            let stream = stream.expect("a connection");
            // A client that goes away in the middle is what some tests are about.
            scope.spawn(move || answer(stream, shared).ok());
        }
    });
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut request = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    request.read_line(&mut first)?;
    let mut line = String::new();
    while request.read_line(&mut line)? > 2 {
        line.clear();
    }
    let name = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    shared.asked.lock().expect("requests").push(name.clone());
    let file = fs::read(shared.directory.join(&name)).ok();
    let reply = shared.replies.lock().expect("replies").get(&name).cloned();
    let mut head = |status: &str, rest: &str| {
        stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n{rest}\r\n").as_bytes())
    };
    let length = |bytes: &[u8]| format!("Content-Length: {}\r\n", bytes.len());
    match (reply, file) {
        (None, Some(bytes)) => {
            head("200 OK", &length(&bytes))?;
            stream.write_all(&bytes)
        }
        (Some(Reply::Half), file) => {
            let bytes = file.unwrap_or_default();
            head("200 OK", &length(&bytes))?;
            stream.write_all(&bytes[..bytes.len() / 2])?;
            stream.shutdown(Shutdown::Both)
        }
        (Some(Reply::Silence), _) => wait(&mut stream, shared, false),
        (Some(Reply::Trickle), _) => {
            head("200 OK", "Content-Length: 1000000\r\n")?;
            wait(&mut stream, shared, true)
        }
        (Some(Reply::Endless), _) => {
            head("200 OK", "")?;
            while !shared.is_over.load(Ordering::Relaxed) {
                stream.write_all(&[b'#'; 64 << 10])?;
            }
            Ok(())
        }
        (Some(Reply::Redirect(to)), _) => head("302 Found", &format!("Location: {to}\r\nContent-Length: 0\r\n")),
        (Some(Reply::Missing), _) | (None, None) => head("404 Not Found", "Content-Length: 0\r\n"),
    }
}

/// Until the client gives up, or the test is over.
fn wait(stream: &mut TcpStream, shared: &Shared, with_bytes: bool) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    while !shared.is_over.load(Ordering::Relaxed) {
        if with_bytes {
            stream.write_all(b"#")?;
        }
        if matches!(stream.read(&mut [0]), Ok(0)) {
            break;
        }
    }
    Ok(())
}
