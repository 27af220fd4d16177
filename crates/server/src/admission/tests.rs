use super::*;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[test]
fn no_principal_holds_all_permits() {
    let admission = Admission::new(4);
    let [reader, other] = ["reader", "other"].map(Principal::user);
    let mut own = Own::default();
    let held: Vec<_> =
        (0..4).map(|_| now(admission.admit(&mut own, &reader, Lane::Ordinary)).unwrap().unwrap()).collect();
    assert!(now(admission.admit(&mut own, &reader, Lane::Ordinary)).is_none());
    // Another connection of the same user has the same share.
    assert!(now(admission.admit(&mut Own::default(), &reader, Lane::Ordinary)).is_none());
    let theirs = now(admission.admit(&mut Own::default(), &other, Lane::Ordinary)).unwrap();
    assert!(theirs.is_ok());
    drop(held);
    assert!(now(admission.admit(&mut own, &reader, Lane::Ordinary)).is_some());
}

#[test]
fn control_needs_no_ordinary_permit() {
    let admission = Admission::new(1);
    let mut held = Vec::new();
    for n in 0..10 {
        let principal = Principal::user(&n.to_string());
        held.extend(now(admission.admit(&mut Own::default(), &principal, Lane::Ordinary)));
    }
    assert_eq!(held.len(), of_all(1));
    let principal = Principal::user("0");
    let mut own = Own::default();
    let mut control = Vec::new();
    while let Some(permit) = now(admission.admit(&mut own, &principal, Lane::Control)) {
        control.push(permit);
    }
    // One administrator does not hold all permits; another administrator can use the rest.
    assert_eq!(control.len(), CONTROL_OF_EACH);
    assert!(now(admission.admit(&mut Own::default(), &Principal::user("1"), Lane::Control)).is_some());
}

#[test]
fn shares_without_connections_are_forgotten() {
    let admission = Admission::new(1);
    for n in 0..10_000 {
        assert!(now(admission.admit(&mut Own::default(), &Principal::user(&n.to_string()), Lane::Ordinary)).is_some());
    }
    assert!(admission.shares.lock().len() <= 4);
}
