use super::*;

#[test]
fn a_row_follows_from_seed_and_id() {
    assert_eq!(Row::new(1, 7, 10), Row::new(1, 7, 10));
    assert_ne!(Row::new(1, 7, 10).price, Row::new(2, 7, 10).price);
    assert_ne!(Row::new(1, 7, 10).price, Row::new(1, 8, 10).price);
    assert_eq!(Row::new(1, 7, 33).data.len(), 33);
}

#[test]
fn values_are_spread_over_their_ranges() {
    let rows: Vec<Row> = (0..20_000).map(|id| Row::new(1, id, 0)).collect();
    let mean = |value: fn(&Row) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
    assert!((49_000.0..51_000.0).contains(&mean(|row| row.customer.into())));
    assert!((490.0..510.0).contains(&mean(|row| row.cash_register.into())));
    assert!((4_900.0..5_100.0).contains(&mean(|row| row.product.into())));
    assert!(rows.iter().all(|row| (0.0..1_005.0).contains(&row.price)));
    assert!(rows.is_sorted_by_key(|row| row.date_ms));
}

#[test]
fn keys_sort_as_the_fields_do() {
    let mut rows: Vec<Row> = (0..2_000).map(|id| Row::new(1, id, 0)).collect();
    let key = |index: usize| {
        move |row: &Row| {
            let mut key = Vec::new();
            row.put_index_key(index, &mut key);
            key
        }
    };
    rows.sort_by_key(key(1));
    let fields = |row: &Row| (row.cash_register, row.price);
    assert!(rows.windows(2).all(|pair| fields(&pair[0]) <= fields(&pair[1])));
    rows.sort_by_key(key(2));
    assert!(rows.windows(2).all(|pair| pair[0].price <= pair[1].price));
}

#[test]
fn an_index_key_leads_to_the_key_of_its_row() {
    let (mut own, mut entry) = (Vec::new(), Vec::new());
    for id in [0, 1, 300, 123_456, 1 << 40] {
        let row = Row::new(1, id, 10);
        own.clear();
        row.put_key(&mut own);
        for index in 0..MAX_INDEXES {
            entry.clear();
            row.put_index_key(index, &mut entry);
            assert_eq!(row_key(index, &entry).unwrap(), own);
            assert!(row_key(index, &entry[..5]).is_err());
        }
    }
}

#[test]
fn pairs_hold_a_document_and_its_entries() {
    let rows: Vec<Row> = (0..3).map(|id| Row::new(1, id, 10)).collect();
    let mut pairs = Pairs::default();
    pairs.fill(&rows, 2);
    pairs.fill(&rows, 2);
    let all: Vec<_> = pairs.iter().collect();
    assert_eq!(all.iter().map(|(tree, _, _)| *tree).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    let document = alluvium_document::bson::decode_document(all[3].2).unwrap();
    assert_eq!(document, rows[1].document());
    assert!(all[4].2.is_empty() && all[4].1.ends_with(all[3].1));
}
