use super::*;

#[test]
fn addresses_that_mean_the_same_are_one() {
    let kept = |addresses: &[&str]| {
        let parsed: Vec<SocketAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        distinct(&parsed).iter().map(SocketAddr::to_string).collect::<Vec<_>>()
    };
    assert_eq!(kept(&["127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:2"]), ["127.0.0.1:1", "127.0.0.1:2"]);
    assert_eq!(kept(&["127.0.0.1:1", "0.0.0.0:1", "10.0.0.5:1", "10.0.0.5:2"]), ["0.0.0.0:1", "10.0.0.5:2"]);
    assert_eq!(kept(&["0.0.0.0:1", "[::1]:1", "[::]:1"]), ["[::]:1", "0.0.0.0:1"]);
    assert_eq!(kept(&["127.0.0.1:0", "127.0.0.1:0"]), ["127.0.0.1:0", "127.0.0.1:0"]);
}
