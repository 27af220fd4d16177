//! Logins of the test client.

use super::Client;
use alluvium::{Binary, Map, Value, doc};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};

impl<S: Read + Write> Client<S> {
    /// Logs in with SCRAM-SHA-256. Returns the error code.
    pub fn log_in(&mut self, db: &str, user: &str, password: &str) -> Option<i64> {
        let reply = self.try_log_in(db, user, password).expect("a reply");
        reply.get("code").and_then(Value::as_i64)
    }

    /// Logs in as [`Client::log_in`] does. Returns the last reply, or `None` if the server has closed the connection.
    pub fn try_log_in(&mut self, db: &str, user: &str, password: &str) -> Option<Map> {
        let first = format!("n={user},r=0123456789abcdef");
        let payload = |text: &str| Value::Binary(Binary { subtype: 0, bytes: text.as_bytes().to_vec() });
        let start = doc! {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": payload(&format!("n,,{first}")),
        "options": {"skipEmptyExchange": true}};
        let reply = self.try_run(db, start)?;
        let Some(Value::Binary(answer)) = reply.get("payload") else { return Some(reply) };
        let answer = String::from_utf8(answer.bytes.clone()).unwrap();
        let part = |prefix: &str| answer.split(',').find_map(|part| part.strip_prefix(prefix)).unwrap().to_owned();
        let (nonce, salt, count) = (part("r="), BASE64.decode(part("s=")).unwrap(), part("i=").parse().unwrap());
        let salted = pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(password.as_bytes(), &salt, count);
        let before = format!("c=biws,r={nonce}");
        let key = mac(&salted, b"Client Key");
        let signature = mac(&Sha256::digest(&key), format!("{first},{answer},{before}").as_bytes());
        let proof: Vec<u8> = key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let last = payload(&format!("{before},p={}", BASE64.encode(proof)));
        self.try_run(db, doc! {"saslContinue": 1, "conversationId": 1, "payload": last})
    }
}

fn mac(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let code = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
    code.chain_update(bytes).finalize().into_bytes().to_vec()
}
