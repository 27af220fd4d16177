//! The listener for monitors: `/metrics` for Prometheus, `/health` and `/ready`.

use crate::metrics;
use crate::shared::Shared;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// The most monitor requests that are answered at a time.
const CONNECTIONS_MAX: usize = 32;
/// A monitor that sends nothing for this long is disconnected.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failure to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers monitors until the task is dropped.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                log::warn!("a monitor's connection could not be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let reply = answer(&shared, &request);
                async move { Ok::<_, Infallible>(reply) }
            });
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(hyper_util::rt::TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
            if let Err(error) = http.serve_connection(TokioIo::new(stream), answer).await {
                log::debug!("a monitor's connection ended: {error}");
            }
            drop(permit);
        });
    }
}

fn answer(shared: &Arc<Shared>, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n");
    }
    match request.uri().path() {
        "/metrics" => match metrics::text(shared) {
            Ok(text) => reply(StatusCode::OK, OPEN_METRICS, text),
            Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written\n"),
        },
        // The reply itself shows that the process runs.
        "/health" => plain(StatusCode::OK, "ok\n"),
        "/ready" => match ready(shared) {
            Ok(()) => plain(StatusCode::OK, "ready\n"),
            Err(reason) => plain(StatusCode::SERVICE_UNAVAILABLE, &format!("{reason}\n")),
        },
        _ => plain(StatusCode::NOT_FOUND, "there are /metrics, /health and /ready\n"),
    }
}

/// Returns the reason why clients should not connect to this server now.
fn ready(shared: &Shared) -> Result<(), String> {
    if shared.stopping.load(Ordering::Relaxed) {
        return Err("the server is shutting down".to_owned());
    }
    if shared.db.is_read_only() {
        return Ok(());
    }
    shared.db.store().check_writable().map_err(|error| error.to_string())
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    reply(status, "text/plain; charset=utf-8", text.to_owned())
}

fn reply(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}
