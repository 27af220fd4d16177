//! With certificates, connections use TLS, and a client certificate can serve as a login.

use crate::common::{Client, Running};
use alluvium::{Database, doc};
use alluvium_server::{Config, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

/// A certificate authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate with its key, in PEM.
    fn issue(&self, name: &str) -> String {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "shop");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        format!("{}{}", certificate.pem(), key.serialize_pem())
    }
}

type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

fn connect(served: &Running, authority: &Authority, own: Option<&str>) -> TlsClient {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match own {
        Some(pem) => {
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            builder
                .with_client_auth_cert(vec![certificate], PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap())
                .unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    Client::new(StreamOwned::new(connection, TcpStream::connect(served.address).unwrap()))
}

#[allow(clippy::disallowed_methods)]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[test]
#[allow(clippy::disallowed_methods)]
fn connections_use_tls() {
    let dir = tempfile::tempdir().unwrap();
    let (authority, other) = (Authority::new(), Authority::new());
    let (certificate, authorities) = (dir.path().join("server.pem"), dir.path().join("ca.pem"));
    write(&certificate, &authority.issue("server"));
    write(&authorities, &authority.pem);
    let db = Database::open(dir.path().join("db")).unwrap();
    let files = TlsFiles {
        certificate: certificate.clone(),
        key: None,
        authorities: Some(authorities),
        requires_client_certificate: false,
    };
    let served = Running::of(&db, Config { tls: Some(files.clone()), ..Config::default() });
    let ping = || doc! {"ping": 1};
    assert!(connect(&served, &authority, None).try_run("a", ping()).is_some());
    // The connection is busy, and then idle for longer than a thread waits for a request.
    let (mut busy, began) = (connect(&served, &authority, None), std::time::Instant::now());
    for round in 0..300 {
        assert!(busy.try_run("a", ping()).is_some());
        if round % 100 == 99 {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "a thread waits for more than a request");
    assert!(connect(&served, &other, None).try_run("a", ping()).is_none(), "an authority that is not trusted");
    assert!(served.client().try_run("a", ping()).is_none(), "a plain connection");

    // `hello` returns the name in the certificate as the address of the server, so that the client accepts its next
    // connection, too.
    let hello = connect(&served, &authority, None).ok("admin", doc! {"hello": 1});
    let named = format!("localhost:{}", served.address.port());
    assert_eq!(hello.get("me").and_then(alluvium::Value::as_str), Some(named.as_str()));

    // A certificate is a login if a user with the name of its subject exists.
    let reports = authority.issue("reports");
    let mut client = connect(&served, &authority, Some(&reports));
    let log_in = || doc! {"authenticate": 1, "mechanism": "MONGODB-X509"};
    assert_eq!(client.code("$external", log_in()), Some(18));
    let user = doc! {"createUser": "CN=reports,O=shop", "roles": [
        {"role": "read", "db": "shop"}, {"role": "userAdminAnyDatabase", "db": "admin"}
    ]};
    assert_eq!(client.code("$external", user), None);
    assert_eq!(client.code("shop", doc! {"find": "c"}), Some(13));
    assert_eq!(client.code("$external", log_in()), None);
    assert_eq!(client.code("shop", doc! {"find": "c"}), None);
    assert_eq!(client.code("other", doc! {"find": "c"}), Some(13));
    assert_eq!(connect(&served, &authority, None).code("$external", log_in()), Some(18));
    assert!(connect(&served, &authority, Some(&other.issue("reports"))).try_run("a", ping()).is_none());

    // New connections use new certificates. Damaged files are never used.
    write(&certificate, &other.issue("server"));
    served.reloader.reload().unwrap();
    assert!(connect(&served, &other, None).try_run("a", ping()).is_some());
    assert_eq!(client.code("shop", doc! {"find": "c"}), None);
    write(&certificate, "no certificate");
    assert!(served.reloader.reload().is_err());
    assert!(connect(&served, &other, None).try_run("a", ping()).is_some());
    drop(served);

    write(&certificate, &authority.issue("server"));
    let files = TlsFiles { requires_client_certificate: true, ..files };
    let served = Running::of(&db, Config { tls: Some(files), ..Config::default() });
    assert!(connect(&served, &authority, None).try_run("a", ping()).is_none());
    assert!(connect(&served, &authority, Some(&reports)).try_run("a", ping()).is_some());
}
