//! The trace that a request belongs to, in W3C's form (`traceparent`), so that the consumer's work can be joined to it.

use std::collections::BTreeMap;

/// The request's own `traceparent`, else the one that X-Ray's id of this invocation amounts to.
///
/// X-Ray writes `Root=1-<8 hex>-<24 hex>;Parent=<16 hex>;Sampled=<0|1>`; root and parent together are W3C's ids. Without
/// a parent (API Gateway adds none to its header) the root's last digits stand for it, since there must be one.
pub fn trace_parent(headers: &BTreeMap<String, String>, xray: Option<&str>) -> Option<String> {
    let own = headers
        .get("traceparent")
        .map(|text| text.trim())
        .filter(|text| is_traceparent(text));
    let from_header = || headers.get("x-amzn-trace-id").and_then(|text| from_xray(text));
    own.map(str::to_owned)
        .or_else(|| xray.and_then(from_xray))
        .or_else(from_header)
}

fn from_xray(text: &str) -> Option<String> {
    let field = |name: &str| {
        text.split(';')
            .find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))
    };
    let trace = field("Root")?.strip_prefix("1-")?.replacen('-', "", 1);
    let parent = field("Parent").or_else(|| trace.get(16..))?;
    let sampled = if field("Sampled") == Some("1") { "01" } else { "00" };
    Some(format!("00-{trace}-{parent}-{sampled}")).filter(|text| is_traceparent(text))
}

fn is_traceparent(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    let is_hex = |part: &str| {
        part.bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    lengths.eq([2, 32, 16, 2])
        && text.split('-').all(is_hex)
        && !text.starts_with("ff")
        && !text
            .split('-')
            .skip(1)
            .take(2)
            .any(|id| id.bytes().all(|b| b == b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const XRAY: &str = "Root=1-67891233-abcdef012345678912345678;Parent=53995c3f42cd8ad8;Sampled=1";

    fn found(headers: &[(&str, &str)], xray: Option<&str>) -> Option<String> {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        trace_parent(&headers, xray)
    }

    #[test]
    fn the_nearest_trace_is_taken() {
        let from_xray = "00-67891233abcdef012345678912345678-53995c3f42cd8ad8-01";
        assert_eq!(found(&[("traceparent", OWN)], Some(XRAY)).as_deref(), Some(OWN));
        assert_eq!(
            found(&[("traceparent", "junk")], Some(XRAY)).as_deref(),
            Some(from_xray)
        );
        let root_alone = [("x-amzn-trace-id", "Root=1-67891233-abcdef012345678912345678")];
        let expected = "00-67891233abcdef012345678912345678-2345678912345678-00";
        assert_eq!(found(&root_alone, None).as_deref(), Some(expected));
        assert_eq!(found(&[], None), None);
    }

    #[test]
    fn what_is_no_trace_is_left_out() {
        for text in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(found(&[("traceparent", text)], None), None, "{text}");
        }
        for text in [
            "",
            "Root=",
            "Root=1-é",
            "Root=1-67891233-abcdef01234567891234567;Parent=é",
        ] {
            assert_eq!(found(&[], Some(text)), None, "{text}");
        }
    }
}
