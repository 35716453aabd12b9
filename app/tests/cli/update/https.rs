//! Releases over HTTPS: whom isobox believes, and that no redirect leads out of it.

use super::machine::{Machine, assert_refused};
use super::server::Server;
use super::site::Site;
use isobox_tests::{Outcome, ignored, isobox_program, outcome};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A certificate for 127.0.0.1 and its key in `folder`; why not, where there is no program that makes one.
fn certificate(folder: &Path) -> Result<(PathBuf, PathBuf), String> {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let mut command = Command::new("openssl");
    command
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=isobox".split(' '));
    command.args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]);
    let made = command.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output();
    let made = made.map_err(|error| format!("openssl: {error}"))?;
    match made.status.success() {
        true => Ok((certificate, key)),
        false => Err(String::from_utf8_lossy(&made.stderr).into_owned()),
    }
}

/// Answers `requests` requests by TLS with what `answer` says for a path; the URL.
fn serve(
    (certificate, key): &(PathBuf, PathBuf),
    requests: usize,
    answer: impl Fn(&str) -> Vec<u8> + Send + 'static,
) -> String {
    let chain = vec![CertificateDer::from_pem_file(certificate).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).expect("a configuration"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            // A client that does not believe the certificate goes away.
            reply(&config, stream.expect("a connection"), &answer).ok();
        }
    });
    url
}

fn reply(config: &Arc<ServerConfig>, stream: TcpStream, answer: &impl Fn(&str) -> Vec<u8>) -> std::io::Result<()> {
    let connection = ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let (mut first, mut line) = (String::new(), String::new());
    stream.read_line(&mut first)?;
    while stream.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let stream = stream.get_mut();
    stream.write_all(&answer(path))?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn file(folder: &Path, path: &str) -> Vec<u8> {
    let content = fs::read(folder.join(path)).expect("a file");
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", content.len());
    [head.into_bytes(), content].concat()
}

fn update(machine: &Machine, site: &Site, url: &str, roots: Option<&Path>) -> Outcome {
    let mut command = machine.command(isobox_program());
    command.args(["update", "--timeout", "20", "--url", url, "--key", &site.key()]);
    command.envs(roots.map(|roots| ("SSL_CERT_FILE", roots)));
    outcome(command.output().expect("run isobox"))
}

#[test]
fn only_a_server_that_this_machine_trusts_is_believed() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    let pair = match certificate(&machine.at("home")) {
        Ok(pair) => pair,
        Err(reason) => return ignored("update over HTTPS", &reason),
    };
    site.publish_fake("0.2.0");
    let folder = site.public();
    let url = serve(&pair, 4, move |path| file(&folder, path));
    let ran = update(&machine, &site, &url, None);
    assert_refused(&ran, &["fetch https://127.0.0.1:", "certificate"]);
    let ran = update(&machine, &site, &url, Some(&pair.0));
    assert_eq!((ran.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{ran:?}");
}

#[test]
fn a_redirect_out_of_https_is_not_followed() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    let pair = match certificate(&machine.at("home")) {
        Ok(pair) => pair,
        Err(reason) => return ignored("update over HTTPS", &reason),
    };
    site.publish_fake("0.2.0");
    let plain = Server::start(&site.public());
    let to = plain.url();
    let url = serve(&pair, 1, move |path| {
        format!("HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: {to}/{path}\r\nContent-Length: 0\r\n\r\n")
            .into_bytes()
    });
    assert_refused(&update(&machine, &site, &url, Some(&pair.0)), &["https"]);
    assert_eq!((plain.asked(), machine.version("bin/isobox")), (Vec::new(), "0.1.0".to_owned()));
}
