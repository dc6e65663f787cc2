//! The signature against whichever secrets are live.

use platform::{Refresh, Secret, SecretCache, SecretSource, SecretVersion};
use sanity::signature::{Claim, SignatureError, SignedAt};

use crate::answer::Refusal;

/// A body that is Sanity's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The signed time.
    pub signed_at: SignedAt,
    /// The secret that it was signed with.
    pub by: SecretVersion,
}

/// Verifies a body as received. What no secret could make right is refused before one is asked for.
///
/// A signature that fits no cached secret may be right all the same: the secret may have been rotated since. So the
/// cache is refreshed once, early, before the request is refused for good; and when that cannot be done, the request is
/// not refused but answered as a fault of ours.
///
/// # Errors
/// Why not.
pub async fn verify<S: SecretSource>(
    raw: &[u8],
    header: Option<&str>,
    secrets: &SecretCache<S>,
) -> Result<Verified, Refusal> {
    let header = header.ok_or(Refusal::SignatureMissing)?;
    let claim = Claim::parse(raw, header).map_err(refusal)?;
    let cached = secrets.current_and_previous().await.map_err(unavailable)?;
    if let Some(verified) = any_of(&claim, &cached)? {
        return Ok(verified);
    }
    match secrets.refresh_early().await.map_err(unavailable)? {
        Refresh::Renewed(live) => any_of(&claim, &live)?.ok_or(Refusal::SignatureMismatch),
        Refresh::AlreadyFresh => Err(Refusal::SignatureMismatch),
    }
}

fn any_of(claim: &Claim<'_>, secrets: &[(SecretVersion, Secret)]) -> Result<Option<Verified>, Refusal> {
    for (by, secret) in secrets {
        match claim.verify(secret.expose().as_bytes()) {
            Ok(signed_at) => return Ok(Some(Verified { signed_at, by: *by })),
            Err(SignatureError::Mismatch) => {}
            Err(error) => return Err(refusal(error)),
        }
    }
    Ok(None)
}

fn refusal(error: SignatureError) -> Refusal {
    match error {
        SignatureError::Missing => Refusal::SignatureMissing,
        SignatureError::Malformed | SignatureError::Timestamp => Refusal::SignatureMalformed,
        SignatureError::EmptyBody => Refusal::EmptyBody,
        SignatureError::EmptySecret => Refusal::SecretUnavailable,
        SignatureError::Mismatch => Refusal::SignatureMismatch,
    }
}

fn unavailable(error: platform::SecretError) -> Refusal {
    tracing::error!(%error, "the webhook secret cannot be read");
    Refusal::SecretUnavailable
}
