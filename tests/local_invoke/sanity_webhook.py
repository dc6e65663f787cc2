"""A Sanity webhook delivery as API Gateway's HTTP API hands it to a function (payload format 2.0)."""

import base64
import hashlib
import hmac
import json

PATH = "/webhooks/sanity"
DOMAIN = "hooks0demo.execute-api.eu-west-1.amazonaws.com"
ACCOUNT = "123456789012"


def sign(body: bytes, secret: str, milliseconds: int) -> str:
    """The `sanity-webhook-signature` of a body: HMAC-SHA256 over `<t>.<body>`, base64url without padding."""
    digest = hmac.new(secret.encode(), f"{milliseconds}.".encode() + body, hashlib.sha256).digest()
    return f"t={milliseconds},v1={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def hook_headers(body: bytes, signature: str | None, document: dict, project: str, dataset: str, operation: str) -> dict:
    """The headers Sanity sends (lower case, as the HTTP API hands them on)."""
    transaction = document["_rev"]
    return {
        "accept-encoding": "gzip",
        "content-length": str(len(body)),
        "content-type": "application/json",
        "host": DOMAIN,
        "idempotency-key": hashlib.sha256(f"{document['_id']} {transaction} {operation}".encode()).hexdigest()[:32],
        "sanity-dataset": dataset,
        "sanity-document-id": document["_id"],
        "sanity-operation": operation,
        "sanity-project-id": project,
        "sanity-transaction-id": transaction,
        "sanity-transaction-time": document["_updatedAt"],
        "sanity-webhook-id": "hook0demo",
        **({"sanity-webhook-signature": signature} if signature else {}),
        "user-agent": "Sanity.io webhook delivery",
        "x-amzn-trace-id": f"Root=1-69086b10-{hashlib.sha256(transaction.encode()).hexdigest()[:24]}",
        "x-forwarded-for": "192.0.2.10",
        "x-forwarded-port": "443",
        "x-forwarded-proto": "https",
    }


def request(body: bytes, headers: dict, milliseconds: int, method: str = "POST", as_base64: bool = False) -> dict:
    """The function's event."""
    text = base64.b64encode(body).decode() if as_base64 else body.decode("utf-8")
    return {
        "version": "2.0",
        "routeKey": f"ANY {PATH}",
        "rawPath": PATH,
        "rawQueryString": "",
        "headers": dict(sorted(headers.items())),
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": DOMAIN.split(".", maxsplit=1)[0],
            "domainName": DOMAIN,
            "domainPrefix": DOMAIN.split(".", maxsplit=1)[0],
            "http": {
                "method": method,
                "path": PATH,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.10",
                "userAgent": headers["user-agent"],
            },
            "requestId": hashlib.sha256(body + method.encode()).hexdigest()[:15] + "=",
            "routeKey": f"ANY {PATH}",
            "stage": "$default",
            "time": "03/Nov/2025:09:00:00 +0000",
            "timeEpoch": milliseconds,
        },
        **({"body": text} if body else {}),
        "isBase64Encoded": as_base64,
    }


def compact(document: dict) -> bytes:
    """A body as Sanity writes it: JSON without spaces, UTF-8."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
