use super::*;

/// Credentials for a plain password, as in the test vectors of the RFCs, without MongoDB's hash of the password.
fn plain(mechanism: Mechanism, password: &str, salt: &str, iterations: u32) -> Credentials {
    let salt = BASE64.decode(salt).unwrap();
    let salted: Vec<u8> = match mechanism {
        Mechanism::Sha1 => pbkdf2::pbkdf2_hmac_array::<sha1::Sha1, 20>(password.as_bytes(), &salt, iterations).to_vec(),
        Mechanism::Sha256 => {
            return Credentials::derive(mechanism, "user", password, salt, iterations).unwrap();
        }
    };
    let stored_key = mechanism.hash(&mechanism.mac(&salted, b"Client Key"));
    let server_key = mechanism.mac(&salted, b"Server Key");
    Credentials { iterations, salt, stored_key, server_key }
}

fn begin(mechanism: Mechanism, first: &str, credentials: Credentials, nonce: &str) -> (Conversation, String) {
    let first = ClientFirst::parse(first.as_bytes()).unwrap();
    let (conversation, message) = Conversation::begin(mechanism, first, credentials, true, nonce, false);
    (conversation, String::from_utf8(message).unwrap())
}

#[test]
fn rfc_5802_vector() {
    let credentials = plain(Mechanism::Sha1, "pencil", "QSXCR+Q6sek8bf92", 4096);
    let first = "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL";
    let (mut conversation, message) = begin(Mechanism::Sha1, first, credentials, "3rfcNHYJY1ZVvWVs7j");
    assert_eq!(message, "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096");
    let last = "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=";
    let step = conversation.step(last.as_bytes()).unwrap();
    assert_eq!(step, Step { payload: b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=".to_vec(), done: false });
    assert_eq!(conversation.step(b""), Ok(Step { payload: Vec::new(), done: true }));
    assert_eq!(conversation.step(b""), Err(ScramError::Ended));
}

#[test]
fn rfc_7677_vector() {
    let credentials = plain(Mechanism::Sha256, "pencil", "W22ZaJ0SNY7soEsUEjb6gQ==", 4096);
    let first = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    let nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let (mut conversation, message) = begin(Mechanism::Sha256, first, credentials.clone(), nonce);
    assert_eq!(message, format!("r=rOprNGfwEbeRWgbNEkqO{nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"));
    let last = format!("c=biws,r=rOprNGfwEbeRWgbNEkqO{nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    let step = conversation.step(last.as_bytes()).unwrap();
    assert_eq!(step.payload, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");

    let first = ClientFirst::parse(first.as_bytes()).unwrap();
    let (mut short, _) = Conversation::begin(Mechanism::Sha256, first.clone(), credentials.clone(), true, nonce, true);
    assert!(short.step(last.as_bytes()).unwrap().done);
    let (mut unknown, _) = Conversation::begin(Mechanism::Sha256, first, credentials, false, nonce, true);
    assert_eq!(unknown.step(last.as_bytes()), Err(ScramError::Proof));
}

#[test]
fn wrong_last_messages_are_refused() {
    let last = |message: &str| {
        let credentials = plain(Mechanism::Sha1, "pencil", "QSXCR+Q6sek8bf92", 4096);
        let (mut conversation, _) = begin(Mechanism::Sha1, "n,,n=user,r=12345678", credentials, "abc");
        let refused = conversation.step(message.as_bytes());
        assert_eq!(conversation.step(b""), Err(ScramError::Ended));
        refused
    };
    assert_eq!(last("c=biws,r=12345678abc,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="), Err(ScramError::Proof));
    assert_eq!(last("c=biws,r=12345678abc,p=AAAA"), Err(ScramError::Proof));
    assert_eq!(last("c=biws,r=12345678abc,p="), Err(ScramError::Proof));
    for malformed in ["", "c=biws,r=12345678abc", "c=eSws,r=12345678abc,p=AAAA", "c=biws,r=12345678,p=AAAA", "r=,p=!"] {
        assert!(matches!(last(malformed), Err(ScramError::Malformed(_))), "{malformed}");
    }
}

#[test]
fn first_messages() {
    let user = |message: &str| ClientFirst::parse(message.as_bytes()).map(|first| first.user);
    assert_eq!(user("n,,n=user,r=12345678"), Ok("user".to_owned()));
    assert_eq!(user("y,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=12345678,x=1"), Ok("a,b=c".to_owned()));
    assert_eq!(user("p=tls-unique,,n=user,r=12345678"), Err(ScramError::ChannelBinding));
    for malformed in [
        "",
        "n",
        "n,,",
        "n,,n=user",
        "n,,n=,r=12345678",
        "n,,n=a=2cb,r=12345678",
        "n,a=other,n=user,r=12345678",
        "n,,m=ext,n=user,r=12345678",
        "n,,n=user,r=short",
        "x,,n=user,r=12345678",
    ] {
        assert!(matches!(user(malformed), Err(ScramError::Malformed(_))), "{malformed}");
    }
}

#[test]
fn credentials_are_those_of_mongodb() {
    let derive = |mechanism, password: &str| Credentials::derive(mechanism, "user", password, vec![7; 16], 5_000);
    // Characters that SASLprep treats as equal are equal in SCRAM-SHA-256, which applies SASLprep.
    assert_eq!(derive(Mechanism::Sha256, "\u{2168}"), derive(Mechanism::Sha256, "IX"));
    assert_ne!(derive(Mechanism::Sha1, "\u{2168}"), derive(Mechanism::Sha1, "IX"));
    assert_eq!(derive(Mechanism::Sha256, "bell\u{7}"), Err(ScramError::Password));
    // md5("user:mongo:pencil"), which the specification of drivers uses as an example.
    let legacy = plain(Mechanism::Sha1, "1c33006ec1ffd90f9cadcbcc0e118200", &BASE64.encode([7; 16]), 5_000);
    assert_eq!(derive(Mechanism::Sha1, "pencil"), Ok(legacy));
    assert!(!format!("{:?}", derive(Mechanism::Sha1, "pencil")).contains("key"));
}

#[test]
fn made_up_credentials_are_stable_and_differ_by_user() {
    let made = |secret: &[u8], user: &str| Credentials::made_up(Mechanism::Sha256, secret, "admin", user);
    assert_eq!(made(b"secret", "a"), made(b"secret", "a"));
    assert_ne!(made(b"secret", "a").salt, made(b"secret", "b").salt);
    assert_ne!(made(b"secret", "a").salt, made(b"other", "a").salt);
    let salt_bytes = |mechanism| Credentials::made_up(mechanism, b"secret", "admin", "a").salt.len();
    assert_eq!((salt_bytes(Mechanism::Sha1), salt_bytes(Mechanism::Sha256)), (16, 28));
}
