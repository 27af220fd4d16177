use super::*;
use std::os::fd::AsFd;

fn example() -> Message {
    let facts = Facts { version: "1".to_owned(), root: (1, 2), umask: 0o22, input_is_terminal: true, has_pager: false };
    let arguments = vec![OsString::from("alluvium"), OsString::from_vec(vec![0xff, b'a']), OsString::new()];
    Message { facts, arguments, variables: vec![("TERM".to_owned(), "xterm".to_owned())] }
}

#[test]
fn a_message_arrives_with_its_descriptors() {
    let (one, other) = UnixStream::pair().expect("a pair");
    let (read, write) = std::io::pipe().expect("a pipe");
    example().send(&one, &[write.as_fd()]).expect("space");
    drop(write);
    let (received, mut descriptors) = Message::receive(&other).expect("a message");
    assert_eq!(received, example());
    rustix::io::write(descriptors.pop().expect("a descriptor"), b"x").expect("a pipe");
    let mut byte = [0; 2];
    assert_eq!(rustix::io::read(&read, &mut byte).expect("a byte"), 1);
    assert!(descriptors.is_empty());
}

#[test]
fn a_message_that_is_cut_or_too_long_is_refused() {
    let mut body = Vec::new();
    put_list(&mut body, [b"a".as_slice()].into_iter());
    for end in 0..body.len() {
        assert!(take_list(&mut &body[..end]).is_err());
    }
    let (mut one, other) = UnixStream::pair().expect("a pair");
    one.write_all(b"ALRN\xff\xff\xff\xff").expect("space");
    assert!(Message::receive(&other).is_err());
}
