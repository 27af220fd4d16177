//! Readers hold and release partitions while the limit falls, under all orders that the memory
//! model allows: the counts always equal the held partitions. Run with `--features loom`.

use super::tests::{block, held};
use super::*;
use alluvium_env::thread::spawn;

#[test]
fn what_is_held_is_counted() {
    alluvium_env::orders::check(|| {
        let block = block(1000);
        let each = block.weight();
        let holder = Holder::new(each);
        let file = Held::new(1, Some(holder.clone()));
        let (reading, of_reader) = (file.clone(), block.clone());
        let reader = spawn("reader", move || {
            reading.put(0, &of_reader);
            let _used = reading.get(0);
        });
        let (other, of_other) = (file.clone(), block.clone());
        let taker = spawn("reader", move || {
            other.put(0, &of_other);
            drop(other.take(0));
        });
        reader.join().unwrap();
        taker.join().unwrap();
        let found = held(&file).len();
        assert_eq!((holder.blocks(), holder.bytes()), (found, found * each));
        assert!(holder.bytes() <= each, "{} bytes, and {each} is the limit", holder.bytes());
    });
}

#[test]
fn a_lower_limit_holds_afterwards() {
    alluvium_env::orders::check(|| {
        let block = block(1000);
        let each = block.weight();
        let holder = Holder::new(2 * each);
        let file = Held::new(2, Some(holder.clone()));
        let (reading, of_reader) = (file.clone(), block.clone());
        let reader = spawn("reader", move || {
            reading.put(0, &of_reader);
            reading.put(1, &of_reader);
        });
        holder.set_limit(each);
        reader.join().unwrap();
        // A thread that reserved just before the limit fell may exceed the limit. The next thread
        // that holds a partition releases the excess.
        file.put(0, &block);
        let found = held(&file).len();
        assert_eq!((holder.blocks(), holder.bytes()), (found, found * each));
    });
}
