use proptest::prelude::*;

use super::*;

fn decimal(text: &str) -> Value {
    Value::Decimal(text.parse().unwrap())
}

fn add(a: Value, b: Value) -> Result<Value, NumberError> {
    compute(Operation::Add, &a, &b)
}

fn multiply(a: Value, b: Value) -> Result<Value, NumberError> {
    compute(Operation::Multiply, &a, &b)
}

#[test]
fn decimals_are_rounded_as_decimal128_unless_they_hold_more() {
    let nines = "9".repeat(34);
    assert_eq!(add(decimal(&nines), decimal("1")), Ok(decimal("1.000000000000000000000000000000000E+34")));
    assert_eq!(add(decimal(&nines), decimal("0.4")), Ok(decimal(&nines)));
    assert_eq!(multiply(decimal("1E+20"), decimal("1.5")), Ok(decimal("1.5E+20")));
    assert_eq!(multiply(decimal("1E+6000"), decimal("-1E+6000")), Ok(decimal("-Infinity")));
    assert_eq!(multiply(decimal("1E-6000"), decimal("1E-6000")), Ok(decimal("0E-6176")));
    assert_eq!(add(decimal("9E+6144"), decimal("9E+6144")), Ok(decimal("Infinity")));
    let padded = format!("1.{}E+6144", "0".repeat(33));
    assert_eq!(add(decimal("1E+6144"), decimal("1E-6176")), Ok(decimal(&padded)));
    // Operands of 35 digits exceed decimal128. Results of such operands are exact.
    let long = "9".repeat(35);
    assert_eq!(add(decimal(&long), decimal("1")), Ok(decimal(&format!("1{}", "0".repeat(35)))));
    assert_eq!(multiply(decimal(&long), Value::from(10)), Ok(decimal(&format!("{long}0"))));
    assert_eq!(add(decimal("1E+2000000000"), decimal("1")), Err(NumberError::Overflow));
    assert_eq!(multiply(decimal("1E+2000000000"), decimal("1E+2000000000")), Err(NumberError::Overflow));
}

#[test]
fn numbers_that_are_none() {
    assert_eq!(add(decimal("NaN"), Value::from(1)), Ok(decimal("NaN")));
    assert_eq!(add(Value::from(f64::INFINITY), decimal("1")), Ok(decimal("Infinity")));
    assert_eq!(add(Value::from(f64::NAN), Value::from(1)), Ok(Value::from(f64::NAN)));
    assert_eq!(multiply(Value::from(f64::INFINITY), Value::from(0)), Ok(Value::from(f64::NAN)));
    for other in [Value::Null, Value::from("1"), Value::from(true), Value::DateTime(1)] {
        for number in [Value::from(1), Value::from(1i64), Value::from(1.0), decimal("1")] {
            assert_eq!(add(other.clone(), number.clone()), Err(NumberError::NotANumber));
            assert_eq!(multiply(number, other.clone()), Err(NumberError::NotANumber));
        }
    }
}

proptest! {
    #[test]
    fn integers_give_the_smaller_width_that_both_have_or_the_result_needs(a in any::<i64>(), b in any::<i64>(), shift in 0..60) {
        for (a, b) in [(a, b), (a >> shift, b), (a >> shift, b >> shift)] {
            for (operation, exact) in [
                (Operation::Add, i128::from(a) + i128::from(b)),
                (Operation::Multiply, i128::from(a) * i128::from(b)),
            ] {
                let wide = i64::try_from(exact).map(Value::Int64).map_err(|_| NumberError::Overflow);
                prop_assert_eq!(compute(operation, &Value::Int64(a), &Value::Int64(b)), wide.clone());
                let (Ok(small_a), Ok(small_b)) = (i32::try_from(a), i32::try_from(b)) else { continue };
                let narrow = i32::try_from(exact).map_or(wide.clone(), |n| Ok(Value::Int32(n)));
                prop_assert_eq!(compute(operation, &Value::Int32(small_a), &Value::Int32(small_b)), narrow);
                prop_assert_eq!(compute(operation, &Value::Int32(small_a), &Value::Int64(b)), wide.clone());
                prop_assert_eq!(compute(operation, &Value::Int64(a), &Value::Int32(small_b)), wide);
            }
        }
    }
}
