"""The Python signature is the one Sanity's package makes."""

import json
import os
import subprocess

import pytest
from stack.neighbours.sender import signature
from stack.places import HERE

SIGN = """
import { encodeSignatureHeader, isValidSignature } from '@sanity/webhook'
const { body, secret, t } = JSON.parse(process.argv[1])
const header = await encodeSignatureHeader(body, t, secret)
console.log(JSON.stringify({ header, valid: await isValidSignature(body, header, secret) }))
"""


@pytest.mark.parametrize(
    ("body", "secret"),
    [('{"_id":"home"}', "secret"), ('{"title":"caffè 日本 🎈"}', "sëcret with space "), ("[]", "x" * 200)],
)
def test_the_same_as_sanitys_package(body, secret):
    done = subprocess.run(
        [
            "node",
            "--input-type=module",
            "-e",
            SIGN,
            json.dumps({"body": body, "secret": secret, "t": 1795262400123}),
        ],
        cwd=HERE,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
    )
    theirs = json.loads(done.stdout)
    assert theirs == {"header": signature(body.encode(), secret, 1795262400123), "valid": True}
