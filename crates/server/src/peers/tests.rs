use super::*;

#[test]
fn an_address_has_its_limit() {
    let peers = Peers::new(2);
    let (one, two) = (peers.admit("::1"), peers.admit("::1"));
    assert!(one.is_some() && two.is_some() && peers.admit("::1").is_none() && peers.admit("::2").is_some());
    drop(one);
    assert!(peers.admit("::1").is_some());
    drop(two);
    assert!(peers.counts.lock().is_empty());
    let unlimited = Peers::new(0);
    let admitted: Vec<_> = (0..100).map(|_| unlimited.admit("::1")).collect();
    assert!(admitted.iter().all(Option::is_some));
}
