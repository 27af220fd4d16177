//! A web server over a collection, with axum: `GET /pets/NAME`, and `POST /pets` with a document.
//!
//! ```text
//! cargo run --release -p alluvium --example web [ADDRESS]
//! curl http://127.0.0.1:8080/pets -d '{"_id": "rex", "age": 3}'
//! curl http://127.0.0.1:8080/pets/rex
//! ```
//!
//! Without an address, the program sends these two requests to itself, and exits.

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Collection, Database, Error, ErrorKind};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Reply = Result<String, (StatusCode, String)>;

/// Runs an operation on one of tokio's threads for blocking operations.
async fn blocking<T: Send + 'static>(
    operation: impl FnOnce() -> alluvium::Result<T> + Send + 'static,
) -> Result<T, (StatusCode, String)> {
    let result = tokio::task::spawn_blocking(operation).await.expect("the operation does not panic");
    result.map_err(|error: Error| match error.kind() {
        ErrorKind::DuplicateKey => (StatusCode::CONFLICT, error.to_string()),
        ErrorKind::Invalid => (StatusCode::BAD_REQUEST, error.to_string()),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    })
}

async fn pet(State(pets): State<Collection>, Path(name): Path<String>) -> Reply {
    // `get` takes a `&String`, a number, or any other value that an `_id` may have.
    let found = blocking(move || pets.get(&name)).await?;
    found.map(|pet| pet.to_string()).ok_or((StatusCode::NOT_FOUND, "no such pet".to_owned()))
}

async fn insert(State(pets): State<Collection>, document: String) -> Reply {
    let inserted = blocking(move || pets.insert_one(&document)).await?;
    Ok(inserted.inserted_id.to_string())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Database::open(folder.path().join("pets"))?;
    let app = Router::new().route("/pets", post(insert)).route("/pets/{name}", get(pet));
    let app = app.with_state(db.collection("pets"));
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let own = listener.local_addr()?;
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    if address.is_some() {
        return Ok(server.await??);
    }
    let body = r#"{"_id": "rex", "age": 3}"#;
    for request in
        [format!("POST /pets HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len()), get_of("rex"), get_of("tom")]
    {
        let mut connection = TcpStream::connect(own).await?;
        connection.write_all(request.as_bytes()).await?;
        let mut reply = String::new();
        connection.read_to_string(&mut reply).await?;
        let status = reply.split(' ').nth(1).unwrap_or_default();
        println!("{status} {}", reply.rsplit("\r\n").next().unwrap_or_default());
    }
    Ok(())
}

fn get_of(name: &str) -> String {
    format!("GET /pets/{name} HTTP/1.0\r\n\r\n")
}
