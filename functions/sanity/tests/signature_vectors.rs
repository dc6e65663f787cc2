//! The signature check over what Sanity's package said to 106 requests.

#![allow(clippy::unwrap_used)]

mod vectors;

use sanity::signature::SignatureError;
use vectors::{Judgement, read};

const FILE: &[u8] = include_bytes!("vectors/sanity-signature.json");

#[test]
fn every_verdict_is_the_packages_or_differs_knowingly() {
    let cases = read(FILE).unwrap();
    assert_eq!(cases.len(), 106);
    let mut knowingly = vec![];
    for case in &cases {
        match case.judge() {
            Judgement::Right => {}
            Judgement::Wrong(why) => panic!("{}: {why}", case.name),
            Judgement::Knowingly(_) => knowingly.push(case.name.as_str()),
        }
    }
    assert_eq!(
        knowingly,
        [
            "req_header_name_titlecase",
            "req_header_name_uppercase",
            "req_invalid_utf8_signed_over_raw_bytes",
            "req_invalid_utf8_signed_over_replacement_text",
        ]
    );
}

#[test]
fn every_refusal_has_the_packages_status() {
    for case in read(FILE).unwrap() {
        let (Err(error), false, Some(status)) = (case.verdict(), case.expected_valid, case.error_status)
        else {
            continue;
        };
        if error != SignatureError::EmptySecret {
            assert_eq!(error.status(), status, "{}: {error}", case.name);
        }
    }
}
