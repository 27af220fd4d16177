use super::*;

#[test]
fn every_day_of_800_years_has_the_next_number() {
    let mut number = Date { year: -401, month: 1, day: 1 }.day_number();
    for year in -401..400 {
        for month in 1..=12 {
            for day in 1..=month_days(year, month) {
                let date = Date { year, month, day };
                assert_eq!(date.day_number(), number, "{date:?}");
                assert_eq!(Date::of_day(number), date);
                number += 1;
            }
        }
    }
}

#[test]
fn known_days() {
    for (year, month, day, number) in
        [(1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (0, 1, 1, -719_528), (9999, 12, 31, 2_932_896)]
    {
        assert_eq!(Date { year, month, day }.day_number(), number);
        assert_eq!(Date::of_day(number), Date { year, month, day });
    }
    // A day beyond the end of the month is counted from its first day.
    assert_eq!(Date { year: 2024, month: 2, day: 31 }.day_number(), Date { year: 2024, month: 3, day: 2 }.day_number());
    assert!(Date { year: 2024, month: 2, day: 29 }.is_valid());
    assert!(!Date { year: 1900, month: 2, day: 29 }.is_valid());
    assert!(!Date { year: 2024, month: 13, day: 1 }.is_valid());
    assert!(!Date { year: 2024, month: 1, day: 0 }.is_valid());
}
