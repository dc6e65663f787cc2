//! Sizes of items and read units, as DynamoDB counts them.
//!
//! Sources: <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html> for sizes,
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html> for units: one for 4 KB read
//! consistently, half of it eventually; a Query and a Scan add their items up first, a BatchGetItem rounds each item.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// Bytes of one read unit.
pub const UNIT: usize = 4096;

/// Bytes of an item: its names and values.
pub fn item(attributes: &HashMap<String, AttributeValue>) -> usize {
    attributes
        .iter()
        .map(|(name, held)| name.len() + value(held))
        .sum()
}

fn value(held: &AttributeValue) -> usize {
    match held {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.trim_start_matches('-').len().div_ceil(2) + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::L(list) => 3 + list.iter().map(|held| 1 + value(held)).sum::<usize>(),
        AttributeValue::M(map) => 3 + item(map) + map.len(),
        AttributeValue::Ss(set) | AttributeValue::Ns(set) => set.iter().map(String::len).sum(),
        // Bool and Null take one byte; nothing else is in these tables.
        _ => 1,
    }
}

/// Units of one consistent read of `bytes`; what finds nothing costs one as well.
pub fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_units() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let attributes = HashMap::from([
            ("pk".to_owned(), text("é")),
            ("n".to_owned(), AttributeValue::N("-1234".to_owned())),
            ("list".to_owned(), AttributeValue::L(vec![text("ab"), text("c")])),
            ("gone".to_owned(), AttributeValue::Bool(true)),
        ]);
        assert_eq!(item(&attributes), (2 + 2) + (1 + 3) + (4 + 3 + 3 + 2) + (4 + 1));
        assert_eq!([0, 1, 4096, 4097].map(units), [1, 1, 1, 2]);
    }
}
