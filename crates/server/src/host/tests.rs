use super::*;

fn parsed(text: &str) -> Result<String, HostError> {
    text.parse::<Host>().map(|host| host.to_string())
}

#[test]
fn addresses_have_a_port_and_brackets() {
    for (text, expected) in [
        ("db.example:1", "db.example:1"),
        ("db.example", "db.example:27017"),
        ("10.0.0.5:27018", "10.0.0.5:27018"),
        ("[fe80::1]:5", "[fe80::1]:5"),
        ("[::1]", "[::1]:27017"),
        ("[::ffff:10.0.0.5]:7", "10.0.0.5:7"),
        ("/run/a.sock", "/run/a.sock"),
    ] {
        assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_no_client_can_connect_to_is_refused() {
    for text in
        ["", ":1", "a:", "a:0", "a:65536", "a:+1", "::1", "[::1", "[a]:1", "[::1]x", "a b", "a,b", "a@b:1", "/run/a"]
    {
        assert_eq!(parsed(text), Err(HostError::Form(text.to_owned())), "{text}");
    }
    for text in ["0.0.0.0:27017", "0.0.0.0", "[::]:1"] {
        assert_eq!(parsed(text), Err(HostError::Unspecified(text.to_owned())), "{text}");
    }
}

#[test]
fn an_address_that_a_connection_arrived_at() {
    let at = |text: &str| Host::of_ip(text.parse().unwrap()).to_string();
    assert_eq!(at("127.0.0.1:1"), "127.0.0.1:1");
    assert_eq!(at("[::ffff:127.0.0.1]:1"), "127.0.0.1:1");
    assert_eq!(at("[::1]:1"), "[::1]:1");
    assert_eq!(Host::of_ip("[::1]:5".parse().unwrap()).parts(), ("[::1]", 5));
    let socket = Host::of_socket(Path::new("/run/a:b.sock"));
    assert_eq!((socket.as_str(), socket.parts()), ("/run/a:b.sock", ("/run/a:b.sock", 0)));
    assert!(Host::of_socket(Path::new("a.sock")).as_str().starts_with('/'));
}
