use super::{Rare, count, mark};

#[test]
fn each_path_is_counted_by_itself() {
    let before: Vec<u64> = Rare::ALL.iter().map(|rare| count(*rare)).collect();
    mark(Rare::SortSpilled);
    mark(Rare::SortSpilled);
    for (rare, before) in Rare::ALL.iter().zip(before) {
        let expected = if *rare == Rare::SortSpilled { before + 2 } else { before };
        assert_eq!(count(*rare), expected, "{rare:?}");
    }
}

#[test]
fn no_two_paths_have_the_same_words() {
    let mut words: Vec<&str> = Rare::ALL.iter().map(|rare| rare.words()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Rare::ALL.len());
}
