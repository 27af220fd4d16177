//! The server's side of SCRAM-SHA-1 and SCRAM-SHA-256 (RFC 5802, RFC 7677), as MongoDB uses them.
//!
//! [`ClientFirst::parse`] reads the client's first message, [`Conversation::begin`] answers it with the stored
//! [`Credentials`], and [`Conversation::step`] answers the following messages. For an unknown user, the caller begins
//! the same conversation with [`Credentials::made_up`]. That conversation fails at the same step as a wrong password.

mod credentials;

pub use credentials::{Credentials, Mechanism};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use subtle::{Choice, ConstantTimeEq};

/// The accepted lengths of a client's nonce, in bytes.
const NONCE_BYTES: std::ops::RangeInclusive<usize> = 8..=1024;

/// The reason why a conversation ends without a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// The message does not follow the SCRAM syntax.
    #[error("the message of the SCRAM conversation is malformed: {0}")]
    Malformed(&'static str),
    /// The client requires channel binding.
    #[error("channel binding is not supported: choose SCRAM-SHA-1 or SCRAM-SHA-256")]
    ChannelBinding,
    /// The password contains characters that SASLprep does not allow.
    #[error("the password contains characters that are not allowed in passwords (RFC 4013)")]
    Password,
    /// The client does not know the password, or the user does not exist.
    #[error("the proof of the password is wrong")]
    Proof,
    /// A message after the end of the conversation.
    #[error("the SCRAM conversation has ended")]
    Ended,
}

/// The first message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFirst {
    /// The name of the user.
    pub user: String,
    /// The nonce of the client.
    nonce: String,
    /// The header of the message, before `bare`; the client repeats it in its last message.
    header: String,
    /// The message without its header; this part is signed.
    bare: String,
}

impl ClientFirst {
    /// Reads the message, such as `n,,n=user,r=nonce`.
    ///
    /// # Errors
    /// [`ScramError::Malformed`], [`ScramError::ChannelBinding`].
    pub fn parse(payload: &[u8]) -> Result<Self, ScramError> {
        let text = std::str::from_utf8(payload).map_err(|_| ScramError::Malformed("it is not UTF-8"))?;
        let wrong = ScramError::Malformed("expected n,,n=user,r=nonce");
        let (binding, rest) = text.split_once(',').ok_or(wrong)?;
        match binding {
            "n" | "y" => {}
            _ if binding.starts_with("p=") => return Err(ScramError::ChannelBinding),
            _ => return Err(wrong),
        }
        let (authorized, bare) = rest.split_once(',').ok_or(wrong)?;
        let header = format!("{binding},{authorized},");
        let (name, rest) = bare.split_once(',').ok_or(wrong)?;
        let name = name.strip_prefix("n=").ok_or(wrong)?;
        // The nonce ends at the next comma or at the end of the message. Extensions may follow it; a server may ignore
        // them.
        let nonce = rest.split(',').next().and_then(|nonce| nonce.strip_prefix("r=")).ok_or(wrong)?;
        if !NONCE_BYTES.contains(&nonce.len()) || !nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ScramError::Malformed("the nonce has 8 to 1024 printable characters"));
        }
        if !authorized.is_empty() && authorized.strip_prefix("a=") != Some(name) {
            return Err(ScramError::Malformed("a user can only log in with the rights of the same user"));
        }
        Ok(Self { user: unescaped(name)?, nonce: nonce.to_owned(), header, bare: bare.to_owned() })
    }
}

/// Decodes a name: replaces the escapes of the comma and the equals sign.
fn unescaped(name: &str) -> Result<String, ScramError> {
    let mut parts = name.split('=');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (character, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            _ => return Err(ScramError::Malformed("the name of the user has an unknown escape")),
        };
        out.push(character);
        out.push_str(rest);
    }
    match out.is_empty() {
        true => Err(ScramError::Malformed("the name of the user is empty")),
        false => Ok(out),
    }
}

/// A conversation after the client's first message.
#[derive(Debug)]
pub struct Conversation {
    mechanism: Mechanism,
    credentials: Credentials,
    /// False for a user who does not exist.
    is_known: bool,
    /// True if the client accepts the server's last message as the end of the conversation (`skipEmptyExchange`).
    skips_empty_exchange: bool,
    /// The nonces of the client and of the server.
    nonce: String,
    header: String,
    /// The first message of the client and of the server, with a comma after each.
    signed: String,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The next message has to prove that the client knows the password.
    Proof,
    /// The client is logged in; its next message is empty.
    Empty,
    Ended,
}

/// An answer to a message of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The message to send.
    pub payload: Vec<u8>,
    /// True if the conversation has ended with a login of the user.
    pub done: bool,
}

impl Conversation {
    /// Begins a conversation, and returns the message that answers the client's first one. `nonce` is random text
    /// without commas. `is_known` is false if the credentials are made up.
    pub fn begin(
        mechanism: Mechanism,
        first: ClientFirst,
        credentials: Credentials,
        is_known: bool,
        nonce: &str,
        skips_empty_exchange: bool,
    ) -> (Self, Vec<u8>) {
        let nonce = format!("{}{nonce}", first.nonce);
        let salt = BASE64.encode(&credentials.salt);
        let message = format!("r={nonce},s={salt},i={}", credentials.iterations);
        let signed = format!("{},{message},", first.bare);
        let (header, state) = (first.header, State::Proof);
        let conversation =
            Self { mechanism, credentials, is_known, skips_empty_exchange, nonce, header, signed, state };
        (conversation, message.into_bytes())
    }

    /// Answers a message of the client.
    ///
    /// # Errors
    /// [`ScramError`]: the conversation is over.
    pub fn step(&mut self, payload: &[u8]) -> Result<Step, ScramError> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        match state {
            State::Proof => {
                let payload = self.verify(payload)?;
                let done = self.skips_empty_exchange;
                self.state = if done { State::Ended } else { State::Empty };
                Ok(Step { payload, done })
            }
            State::Empty if payload.is_empty() => Ok(Step { payload: Vec::new(), done: true }),
            State::Empty => Err(ScramError::Malformed("expected an empty message")),
            State::Ended => Err(ScramError::Ended),
        }
    }

    /// Returns the server's last message if the client's proof is right.
    fn verify(&self, payload: &[u8]) -> Result<Vec<u8>, ScramError> {
        let text = std::str::from_utf8(payload).map_err(|_| ScramError::Malformed("it is not UTF-8"))?;
        let wrong = ScramError::Malformed("expected c=binding,r=nonce,p=proof");
        let (before, proof) = text.rsplit_once(",p=").ok_or(wrong)?;
        let mut parts = before.split(',');
        let binding = parts.next().and_then(|part| part.strip_prefix("c=")).ok_or(wrong)?;
        let nonce = parts.next().and_then(|part| part.strip_prefix("r=")).ok_or(wrong)?;
        if BASE64.decode(binding).ok().as_deref() != Some(self.header.as_bytes()) {
            return Err(ScramError::Malformed("the header is not that of the first message"));
        }
        if nonce != self.nonce {
            return Err(ScramError::Malformed("the nonce is not that of the first messages"));
        }
        let proof = BASE64.decode(proof).map_err(|_| wrong)?;
        let signed = format!("{}{before}", self.signed);
        let Credentials { stored_key, server_key, .. } = &self.credentials;
        let signature = self.mechanism.mac(stored_key, signed.as_bytes());
        let is_whole = proof.len() == signature.len();
        let client_key: Vec<u8> = signature.iter().zip(&proof).map(|(a, b)| a ^ b).collect();
        let is_right = self.mechanism.hash(&client_key).ct_eq(stored_key);
        let accepted = is_right & Choice::from(u8::from(self.is_known)) & Choice::from(u8::from(is_whole));
        if !bool::from(accepted) {
            return Err(ScramError::Proof);
        }
        let signature = self.mechanism.mac(server_key, signed.as_bytes());
        Ok(format!("v={}", BASE64.encode(signature)).into_bytes())
    }
}

#[cfg(test)]
mod tests;
