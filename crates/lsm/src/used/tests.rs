use super::*;

#[test]
fn each_number_is_there_once_and_in_order() {
    let mut used = Used::default();
    let numbers = [70, 0, 63, 64, 1, 70, END - 1, END, u32::MAX];
    numbers.iter().for_each(|&number| used.insert(number));
    assert_eq!(used.iter().collect::<Vec<_>>(), [0, 1, 63, 64, 70, END - 1]);
    assert_eq!(Used::default().iter().next(), None);
}
