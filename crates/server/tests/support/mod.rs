//! A server in this process, and a client that knows as much of the protocol as the tests need.

#![allow(clippy::disallowed_methods, dead_code)]

use alluvium::{Binary, Database, Map, Value, doc};
use alluvium_document::bson::{decode_document, encode_document};
use alluvium_server::{Config, Reloader, Server};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A server that ends when this is dropped.
pub struct Served {
    pub address: SocketAddr,
    pub reloader: Reloader,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub fn start(db: &Database, config: Config) -> Self {
        let listen = vec!["127.0.0.1:0".parse().unwrap()];
        let server = Server::bind(db, Config { listen, ..config }).unwrap();
        let (address, reloader) = (server.addresses()[0], Reloader::new(&server));
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            server.run(move || {
                let _dropped_or_sent = stopped.recv();
            });
        });
        Self { address, reloader, stop: Some(stop), thread: Some(thread) }
    }

    pub fn client(&self) -> Client<TcpStream> {
        Client::new(TcpStream::connect(self.address).unwrap())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(JoinHandle::join);
    }
}

pub struct Client<S> {
    stream: S,
}

impl<S: Read + Write> Client<S> {
    pub fn new(stream: S) -> Self {
        Self { stream }
    }

    /// Sends a command, and returns the reply; `None` if the server has closed the connection.
    pub fn try_run(&mut self, db: &str, mut body: Map) -> Option<Map> {
        body.push("$db", db);
        let mut message = vec![0; 16];
        message[12..].copy_from_slice(&2013_i32.to_le_bytes());
        message.extend_from_slice(&[0; 5]);
        encode_document(&body, &mut message).unwrap();
        let length = i32::try_from(message.len()).unwrap();
        message[..4].copy_from_slice(&length.to_le_bytes());
        self.stream.write_all(&message).ok()?;
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_le_bytes(*head.first_chunk().unwrap()) as usize;
        let mut rest = vec![0; length - 16];
        self.stream.read_exact(&mut rest).ok()?;
        Some(decode_document(&rest[5..]).unwrap())
    }

    pub fn run(&mut self, db: &str, body: Map) -> Map {
        self.try_run(db, body).expect("the connection is open")
    }

    /// The code of the error of a command; `None` if it succeeds.
    pub fn code(&mut self, db: &str, body: Map) -> Option<i64> {
        self.run(db, body).get("code").and_then(Value::as_i64)
    }

    /// Logs in by SCRAM-SHA-256. Returns the code of the error.
    pub fn log_in(&mut self, db: &str, user: &str, password: &str) -> Option<i64> {
        let first = format!("n={user},r=0123456789abcdef");
        let payload = |text: &str| Value::Binary(Binary { subtype: 0, bytes: text.as_bytes().to_vec() });
        let start = doc! {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": payload(&format!("n,,{first}")),
        "options": {"skipEmptyExchange": true}};
        let reply = self.run(db, start);
        let Some(Value::Binary(answer)) = reply.get("payload") else {
            return reply.get("code").and_then(Value::as_i64);
        };
        let answer = String::from_utf8(answer.bytes.clone()).unwrap();
        let part = |prefix: &str| answer.split(',').find_map(|part| part.strip_prefix(prefix)).unwrap().to_owned();
        let (nonce, salt, count) = (part("r="), BASE64.decode(part("s=")).unwrap(), part("i=").parse().unwrap());
        let salted = pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(password.as_bytes(), &salt, count);
        let before = format!("c=biws,r={nonce}");
        let key = mac(&salted, b"Client Key");
        let signature = mac(&Sha256::digest(&key), format!("{first},{answer},{before}").as_bytes());
        let proof: Vec<u8> = key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let last = payload(&format!("{before},p={}", BASE64.encode(proof)));
        let reply = self.run(db, doc! {"saslContinue": 1, "conversationId": 1, "payload": last});
        reply.get("code").and_then(Value::as_i64)
    }
}

fn mac(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let code = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
    code.chain_update(bytes).finalize().into_bytes().to_vec()
}
