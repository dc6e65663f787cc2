//! The signature of a webhook: `sanity-webhook-signature: t=<unix milliseconds>,v1=<base64url of an HMAC-SHA256>`.
//!
//! The HMAC's key is the secret as typed, its message `<t>.<body>`. Nothing else is signed, no header in particular.
//! The verdicts are those of Sanity's own package (`@sanity/webhook` 4.0.4, `src/signature.ts`), down to the difference
//! between a malformed header (400) and a wrong one (401), with the exceptions below. `tests/vectors` holds what that
//! package says to 106 requests; `cargo run -p sanity --example verify -- FILE` compares.
//!
//! # Where the package and a strict check of the bytes differ
//!
//! | case | package | here | why |
//! |---|---|---|---|
//! | empty body, right HMAC | refused, 400 | same | no webhook has an empty body; one that arrives so lost it on the way |
//! | `t` in seconds, 0, before 2021 | refused, 400 | same | Sanity never signs so; it bounds what a leaked old request is good for |
//! | `t` that a JavaScript number does not write back as it came: leading zero, 2^53+1, 22 or 400 digits | refused, 401 | same | what Sanity's own check refuses, Sanity does not send |
//! | header name in capitals | refused, 401 | **accepted** | HTTP header names have no case, and a proxy may change it; the package reads one key of a plain object |
//! | header name with a prefix (`x-…`) | refused, 401 | same | another name |
//! | body handed over parsed | throws | refused | there are no signed bytes to check; writing the JSON anew gives others |
//! | bytes that are not UTF-8, signed as they are | refused, 401 | **accepted** | the bytes are what was signed; the package decodes them first and checks others. Refusing would lose an authentic edit for good; accepted, it is kept for review |
//! | bytes that are not UTF-8, signed after replacement by U+FFFD | accepted | **refused**, 401 | these bytes were never signed |
//!
//! There is no upper bound on `t` here: whether Sanity signs its retries anew is not documented, so a window is the
//! webhook's own, off by default, and never shorter than Sanity's half hour of retries.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use time::OffsetDateTime;

/// Name of the header, in lower case.
pub const HEADER: &str = "sanity-webhook-signature";

/// 2021-01-01, the package's minimum, in milliseconds.
const MINIMUM_MILLISECONDS: f64 = 1_609_459_200_000.0;

/// When a webhook was signed, by Sanity's clock: the signed `t`, unix milliseconds.
///
/// A number beyond 64 bits, which the package accepts up to 21 digits, is held as the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignedAt(pub u64);

impl SignedAt {
    /// Unix milliseconds.
    pub fn milliseconds(self) -> u64 {
        self.0
    }

    /// The instant, unless it lies beyond the year 9999.
    pub fn instant(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000).ok()
    }
}

impl std::fmt::Display for SignedAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Why a webhook does not verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is no signature header: the hook was set up without a secret, or it is not Sanity's request.
    #[error("there is no signature header")]
    Missing,
    /// The header does not have the form `t=<milliseconds>,v1=<signature>`.
    #[error("the signature header is malformed")]
    Malformed,
    /// The time is before 2021; seconds instead of milliseconds look like that.
    #[error("the signature's time is not a unix time in milliseconds since 2021")]
    Timestamp,
    /// The body is empty: something on the way has consumed it.
    #[error("the body is empty")]
    EmptyBody,
    /// The secret to verify with is empty: a fault of ours, and no verdict on the request.
    #[error("the secret to verify with is empty")]
    EmptySecret,
    /// The signature is not that of this body, this time and this secret.
    #[error("the signature does not match")]
    Mismatch,
}

impl SignatureError {
    /// The HTTP status that says it: 401 or 400 as the package has it; 503 for a fault of ours.
    pub fn status(self) -> u16 {
        match self {
            Self::Missing | Self::Mismatch => 401,
            Self::Malformed | Self::Timestamp | Self::EmptyBody => 400,
            Self::EmptySecret => 503,
        }
    }
}

/// A signature as claimed by a well-formed header: all that can be said of it without the secret.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    raw: &'a [u8],
    timestamp: &'a str,
    /// The 32 bytes claimed, unless the header is one that the package refuses whatever the secret.
    mac: Option<[u8; 32]>,
}

impl<'a> Claim<'a> {
    /// Reads the header of a body as received.
    ///
    /// Decoding is strict: of the four texts that lax decoders take for one signature, only the canonical one can
    /// match, as in the package's comparison of texts.
    ///
    /// # Errors
    /// [`SignatureError::Malformed`], [`SignatureError::EmptyBody`] and [`SignatureError::Timestamp`]: no secret could
    /// make it right.
    pub fn parse(raw: &'a [u8], header: &'a str) -> Result<Self, SignatureError> {
        let (timestamp, signature) = parse(header).ok_or(SignatureError::Malformed)?;
        if raw.is_empty() {
            return Err(SignatureError::EmptyBody);
        }
        let number: f64 = timestamp.parse().map_err(|_| SignatureError::Malformed)?;
        if number < MINIMUM_MILLISECONDS {
            return Err(SignatureError::Timestamp);
        }
        // The package writes the header anew from what it parsed and compares texts.
        let is_canonical = header
            .strip_prefix("t=")
            .and_then(|rest| rest.strip_prefix(timestamp))
            == Some(&format!(",v1={signature}"))
            && javascript_integer(number).as_deref() == Some(timestamp);
        let decoded = URL_SAFE_NO_PAD.decode(signature).ok().filter(|_| is_canonical);
        Ok(Self {
            raw,
            timestamp,
            mac: decoded.and_then(|bytes| bytes.try_into().ok()),
        })
    }

    /// Compares the claim with what this secret makes of body and time. The comparison takes the same time whatever
    /// was claimed.
    ///
    /// # Errors
    /// [`SignatureError::Mismatch`] and [`SignatureError::EmptySecret`].
    pub fn verify(&self, secret: &[u8]) -> Result<SignedAt, SignatureError> {
        if secret.is_empty() {
            return Err(SignatureError::EmptySecret);
        }
        let claimed = self.mac.ok_or(SignatureError::Mismatch)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(|_| SignatureError::EmptySecret)?;
        mac.update(self.timestamp.as_bytes());
        mac.update(b".");
        mac.update(self.raw);
        mac.verify_slice(&claimed).map_err(|_| SignatureError::Mismatch)?;
        Ok(SignedAt(self.timestamp.parse().unwrap_or(u64::MAX)))
    }
}

/// Verifies a body as received, byte for byte, against the value of its signature header: [`Claim::parse`], then
/// [`Claim::verify`].
///
/// # Errors
/// Theirs.
pub fn verify(raw: &[u8], header: &str, secret: &[u8]) -> Result<SignedAt, SignatureError> {
    Claim::parse(raw, header)?.verify(secret)
}

/// The package's `/^t=(\d+)[, ]+v1=([^, ]+)$/` on the trimmed header.
fn parse(header: &str) -> Option<(&str, &str)> {
    let rest = trim_as_javascript(header).strip_prefix("t=")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (timestamp, rest) = rest.split_at(digits);
    let signature = rest.trim_start_matches([',', ' ']);
    let separated = signature.len() < rest.len();
    let signature = signature.strip_prefix("v1=")?;
    let well_formed = digits > 0 && separated && !signature.is_empty() && !signature.contains([',', ' ']);
    well_formed.then_some((timestamp, signature))
}

/// JavaScript's `trim` drops a byte order mark, which has no White_Space in Unicode, and keeps U+0085, which has.
fn trim_as_javascript(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}

/// How JavaScript writes a whole number: its shortest digits that read back as the same number, filled up with zeros.
/// `None` from 10^21 on, where it writes an exponent.
fn javascript_integer(number: f64) -> Option<String> {
    if !(0.0..1e21).contains(&number) {
        return None;
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let width = exponent.parse::<usize>().ok()? + 1;
    let digits = mantissa.replace('.', "");
    Some(format!("{digits:0<width$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &[u8] = b"whsec_test";

    fn sign(timestamp: &str, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET).unwrap();
        mac.update(timestamp.as_bytes());
        mac.update(b".");
        mac.update(body);
        format!(
            "t={timestamp},v1={}",
            URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
        )
    }

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        for (text, written) in [
            ("0", "0"),
            ("1754041234567", "1754041234567"),
            ("9007199254740993", "9007199254740992"),
            ("9007199254740994", "9007199254740994"),
            ("1152921504606846976", "1152921504606847000"),
            ("100000000000000000000", "100000000000000000000"),
        ] {
            assert_eq!(
                javascript_integer(text.parse().unwrap()).as_deref(),
                Some(written),
                "{text}"
            );
        }
        assert_eq!(javascript_integer(1e21), None);
        assert_eq!(javascript_integer(f64::INFINITY), None);
    }

    #[test]
    fn a_time_beyond_64_bits_is_held_as_the_largest() {
        let header = sign("100000000000000000000", b"{}");
        assert_eq!(verify(b"{}", &header, SECRET), Ok(SignedAt(u64::MAX)));
        assert_eq!(SignedAt(u64::MAX).instant(), None);
        assert_eq!(
            SignedAt(1_754_041_234_567).instant().unwrap().unix_timestamp(),
            1_754_041_234
        );
    }

    #[test]
    fn an_empty_secret_is_a_fault_of_ours() {
        let header = sign("1754041234567", b"{}");
        assert_eq!(
            verify(b"{}", &header, b"").map_err(SignatureError::status),
            Err(503)
        );
    }

    #[test]
    fn trimming_follows_javascript() {
        let header = sign("1754041234567", b"{}");
        for (around, error) in [
            ("\u{feff}", SignatureError::Mismatch),
            ("\u{85}", SignatureError::Malformed),
        ] {
            assert_eq!(verify(b"{}", &format!("{around}{header}"), SECRET), Err(error));
        }
    }

    proptest! {
        #[test]
        fn no_header_and_no_body_panics(header in ".*", body in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = verify(&body, &header, SECRET);
        }

        #[test]
        fn nothing_near_a_right_header_verifies(at in 0_usize..60, with in any::<char>()) {
            let right = sign("1754041234567", b"{}");
            let mut changed: Vec<char> = right.chars().collect();
            changed[at] = with;
            let changed: String = changed.into_iter().collect();
            prop_assert_eq!(verify(b"{}", &changed, SECRET).is_ok(), changed == right);
        }

        #[test]
        fn every_signed_body_verifies_and_no_other(
            body in proptest::collection::vec(any::<u8>(), 1..64), at in any::<proptest::sample::Index>(), bit in 0..8_u32
        ) {
            let header = sign("1754041234567", &body);
            prop_assert!(verify(&body, &header, SECRET).is_ok());
            let mut other = body.clone();
            other[at.index(body.len())] ^= 1_u8 << bit;
            prop_assert_eq!(verify(&other, &header, SECRET), Err(SignatureError::Mismatch));
        }
    }
}
