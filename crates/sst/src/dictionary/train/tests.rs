use super::*;

fn samples() -> (Vec<u8>, Vec<usize>) {
    let each =
        (0..400).map(|n| format!("{{\"author\":\"somebody {}\",\"text\":\"words that come again {n}\"}}", n % 17));
    let (mut content, mut sizes) = (Vec::new(), Vec::new());
    for sample in each {
        content.extend_from_slice(sample.as_bytes());
        sizes.push(sample.len());
    }
    (content, sizes)
}

#[test]
fn what_comes_again_is_in_the_dictionary() {
    let (content, sizes) = samples();
    let dictionary = train(&content, &sizes, 4096).unwrap();
    assert!(dictionary.len() > 256 && dictionary.len() <= 4096);
    let text = String::from_utf8_lossy(&dictionary).into_owned();
    assert!(text.contains("words that come again"), "{text}");
}

#[test]
fn samples_that_are_not_there_are_none() {
    let (content, mut sizes) = samples();
    sizes.push(1);
    assert!(train(&content, &sizes, 4096).is_none());
    sizes.push(usize::MAX);
    assert!(train(&content, &sizes, 4096).is_none());
}

#[test]
fn too_few_samples_and_too_little_room_train_nothing() {
    let (content, sizes) = samples();
    assert!(train(&content[..sizes[0]], &sizes[..1], 4096).is_none());
    assert!(train(&content, &[], 4096).is_none());
    assert!(train(&content, &sizes, 0).is_none());
    assert!(train(&[], &[0; 20], 4096).is_none());
}
