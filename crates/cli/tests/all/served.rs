//! A server in a separate process, and connections to it.

use crate::common::Place;
use alluvium::Map;
use alluvium_document::bson::{decode_document, encode_document};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// Starts the server, and returns it with its port.
pub fn serve(place: &Place) -> (Child, u16) {
    serve_with(place, &[])
}

/// Like [`serve`], with additional arguments.
#[allow(clippy::zombie_processes, reason = "a server that ends at once fails the test")]
pub fn serve_with(place: &Place, arguments: &[&str]) -> (Child, u16) {
    let usual = ["serve", "db", "--listen", "127.0.0.1:0", "--memory", "16M"];
    let mut command: Command = place.command(&[&usual, arguments].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("text") > 0, "the server ended");
        if let Some(address) = line.strip_prefix("listening at ") {
            let port = address.trim().rsplit(':').next().expect("a port").parse().expect("a port");
            return (child, port);
        }
    }
}

/// Kills the server with -9.
pub fn kill(server: &mut Child) {
    server.kill().expect("a child");
    server.wait().expect("a child");
}

/// Sends a command, to the database `shop` if it names no database; `None` if the server has ended.
pub fn send(stream: &mut TcpStream, mut body: Map) -> Option<()> {
    if !body.contains("$db") {
        body.push("$db", "shop");
    }
    let mut message = vec![0; 16];
    message[12..].copy_from_slice(&2013_i32.to_le_bytes());
    message.extend_from_slice(&[0; 5]);
    encode_document(&body, &mut message).expect("BSON");
    let length = u32::try_from(message.len()).expect("short");
    message[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&message).ok()
}

/// Like [`send`], and returns the reply.
pub fn run(stream: &mut TcpStream, body: Map) -> Option<Map> {
    send(stream, body)?;
    let mut head = [0; 16];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_le_bytes(*head.first_chunk().expect("16 bytes")) as usize;
    let mut rest = vec![0; length - 16];
    stream.read_exact(&mut rest).ok()?;
    Some(decode_document(&rest[5..]).expect("BSON"))
}
