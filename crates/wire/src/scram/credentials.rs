//! Stored credentials: the data that a server keeps instead of a password.

use super::ScramError;
use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;
use std::fmt::Write;

/// A mechanism of SCRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// SCRAM-SHA-1, over MongoDB's hash of the name and the password.
    Sha1,
    /// SCRAM-SHA-256.
    Sha256,
}

impl Mechanism {
    /// The mechanisms, the preferred one first.
    pub const ALL: [Self; 2] = [Self::Sha256, Self::Sha1];

    /// The name, as in `saslStart`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SCRAM-SHA-1",
            Self::Sha256 => "SCRAM-SHA-256",
        }
    }

    /// The mechanism with a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }

    /// The iterations of new credentials, as in MongoDB.
    pub fn iterations(self) -> u32 {
        match self {
            Self::Sha1 => 10_000,
            Self::Sha256 => 15_000,
        }
    }

    /// The bytes of a salt, as in MongoDB.
    pub fn salt_bytes(self) -> usize {
        match self {
            Self::Sha1 => 16,
            Self::Sha256 => 28,
        }
    }

    pub(super) fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }

    pub(super) fn mac(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => mac::<Hmac<Sha1>>(key, bytes),
            Self::Sha256 => mac::<Hmac<Sha256>>(key, bytes),
        }
    }

    fn stretched(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        match self {
            Self::Sha1 => pbkdf2::pbkdf2_hmac_array::<Sha1, 20>(password, salt, iterations).to_vec(),
            Self::Sha256 => pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(password, salt, iterations).to_vec(),
        }
    }
}

/// Computes an HMAC, whose key may have any length.
fn mac<M: Mac + KeyInit>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    match <M as KeyInit>::new_from_slice(key) {
        Ok(code) => code.chain_update(bytes).finalize().into_bytes().to_vec(),
        Err(_) => Vec::new(),
    }
}

/// The credentials derived from a password, for one mechanism.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The iterations of the key derivation.
    pub iterations: u32,
    /// The salt.
    pub salt: Vec<u8>,
    /// The hash of the key that a client proves to have.
    pub stored_key: Vec<u8>,
    /// The key with which the server proves that it knows the credentials.
    pub server_key: Vec<u8>,
}

/// The keys are not printed.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Derives the credentials from a password.
    ///
    /// # Errors
    /// [`ScramError::Password`] if SASLprep refuses the password; only SCRAM-SHA-256 applies SASLprep.
    pub fn derive(
        mechanism: Mechanism,
        user: &str,
        password: &str,
        salt: Vec<u8>,
        iterations: u32,
    ) -> Result<Self, ScramError> {
        let secret = match mechanism {
            Mechanism::Sha1 => legacy_hash(user, password),
            Mechanism::Sha256 => stringprep::saslprep(password).map_err(|_| ScramError::Password)?.into_owned(),
        };
        let salted = mechanism.stretched(secret.as_bytes(), &salt, iterations);
        let stored_key = mechanism.hash(&mechanism.mac(&salted, b"Client Key"));
        let server_key = mechanism.mac(&salted, b"Server Key");
        Ok(Self { iterations, salt, stored_key, server_key })
    }

    /// Credentials for a user who does not exist. The same name always has the same credentials, as an existing user
    /// has, so that a second attempt does not show the difference. No proof matches them.
    pub fn made_up(mechanism: Mechanism, secret: &[u8], db: &str, user: &str) -> Self {
        let bytes = |purpose: &str| {
            let input = format!("{purpose}\0{}\0{db}\0{user}", mechanism.name());
            Mechanism::Sha256.mac(secret, input.as_bytes())
        };
        let mut salt = bytes("salt");
        salt.truncate(mechanism.salt_bytes());
        let stored_key = mechanism.hash(&bytes("stored key"));
        let server_key = mechanism.hash(&bytes("server key"));
        Self { iterations: mechanism.iterations(), salt, stored_key, server_key }
    }
}

/// The string that MongoDB's SCRAM-SHA-1 uses as the password: the hexadecimal hash that MongoDB's first login
/// mechanism (MONGODB-CR) used.
fn legacy_hash(user: &str, password: &str) -> String {
    let mut out = String::new();
    for byte in Md5::digest(format!("{user}:mongo:{password}")) {
        // Writing to a string does not fail.
        let _written = write!(out, "{byte:02x}");
    }
    out
}
