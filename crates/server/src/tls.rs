//! TLS: certificates from files, and handshakes.

use crate::socket::Socket;
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, FileReader, OpenMode};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::der::Decode;

/// A client that has not completed the handshake within this time is disconnected.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// The TLS files, all in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, followed by the certificates that lead to its authority.
    pub certificate: PathBuf,
    /// The private key of the certificate; by default it is in the same file.
    pub key: Option<PathBuf>,
    /// The authorities that sign client certificates; with `None`, clients are not asked for a certificate.
    pub authorities: Option<PathBuf>,
    /// True if clients without a certificate are refused.
    pub requires_client_certificate: bool,
}

/// The reason why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] alluvium_env::Error),
    /// A file lacks the required content.
    #[error("{path} has no {what} in PEM")]
    Content {
        /// The file.
        path: PathBuf,
        /// The missing part.
        what: &'static str,
    },
    /// The certificate and the key cannot be used.
    #[error("the certificate {path} cannot be used: {source}")]
    Certificate {
        /// The file of the certificate.
        path: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
    /// The authorities for client certificates cannot be used.
    #[error("the authorities {path} cannot be used: {reason}")]
    Authorities {
        /// The file of the authorities.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Client certificates are required, and no authority for them is set.
    #[error("certificates of clients are required, and no file with their authorities is set")]
    NoAuthorities,
}

/// The data that a client has sent in the handshake.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    /// The subject of the client certificate.
    pub subject: Option<String>,
    /// The name that the client has for this server.
    pub server_name: Option<String>,
}

/// TLS with the certificates that were read last.
pub(crate) struct Tls {
    files: TlsFiles,
    acceptor: Mutex<TlsAcceptor>,
    env: Env,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`].
    pub(crate) fn open(env: &Env, files: TlsFiles) -> Result<Self, TlsError> {
        let acceptor = Mutex::new(acceptor(env, &files)?);
        Ok(Self { files, acceptor, env: env.clone() })
    }

    /// Reads the files again. Open connections keep their keys.
    ///
    /// # Errors
    /// [`TlsError`]; the previous certificates remain in use then.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let fresh = acceptor(&self.env, &self.files)?;
        *self.acceptor.lock() = fresh;
        Ok(())
    }

    /// Completes the handshake.
    ///
    /// # Errors
    /// Errors of the connection, and of the handshake.
    pub(crate) async fn accept(&self, socket: Socket) -> io::Result<(TlsStream<Socket>, Greeting)> {
        let acceptor = self.acceptor.lock().clone();
        let stream = match tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(socket)).await {
            Ok(stream) => stream?,
            Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake within 10 seconds")),
        };
        let (_, connection) = stream.get_ref();
        let subject = connection.peer_certificates().and_then(|chain| chain.first()).and_then(subject);
        let server_name = connection.server_name().map(str::to_owned);
        Ok((stream, Greeting { subject, server_name }))
    }
}

/// The subject of a certificate in the form of RFC 4514, such as `CN=client,O=shop`.
fn subject(certificate: &CertificateDer<'_>) -> Option<String> {
    let certificate = x509_cert::Certificate::from_der(certificate).ok()?;
    Some(certificate.tbs_certificate().subject().to_string())
}

fn read(env: &Env, path: &Path) -> Result<Vec<u8>, TlsError> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut bytes = Vec::new();
    FileReader::new(file)
        .read_to_end(&mut bytes)
        .map_err(|error| alluvium_env::Error::of_stream("read", path, error))?;
    Ok(bytes)
}

fn certificates(env: &Env, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let missing = || TlsError::Content { path: path.to_owned(), what: "certificate" };
    let bytes = read(env, path)?;
    let found = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>().map_err(|_| missing())?;
    match found.is_empty() {
        true => Err(missing()),
        false => Ok(found),
    }
}

fn acceptor(env: &Env, files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let wrong = |source| TlsError::Certificate { path: files.certificate.clone(), source };
    let chain = certificates(env, &files.certificate)?;
    let key_path = files.key.as_ref().unwrap_or(&files.certificate);
    let key = PrivateKeyDer::from_pem_slice(&read(env, key_path)?)
        .map_err(|_| TlsError::Content { path: key_path.clone(), what: "private key" })?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(wrong)?;
    let builder = match &files.authorities {
        Some(path) => {
            let verifier = client_verifier(env, path, files.requires_client_certificate, provider)?;
            builder.with_client_cert_verifier(verifier)
        }
        None if files.requires_client_certificate => return Err(TlsError::NoAuthorities),
        None => builder.with_no_client_auth(),
    };
    let config = builder.with_single_cert(chain, key).map_err(wrong)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn client_verifier(
    env: &Env,
    path: &Path,
    required: bool,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let wrong = |reason: String| TlsError::Authorities { path: path.to_owned(), reason };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(env, path)? {
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if required { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| wrong(error.to_string()))
}
