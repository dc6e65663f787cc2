"""Every sample of events/ through `sam local invoke`, with what must come of it."""

import base64
import json
import subprocess

import content
import make_events
import pytest
import sanity_webhook
from expectations import EXPECTED, NEVER_SHOWN, Asked, Batch, Request, Schedule
from local_lambda import FunctionFailed
from make_events import EVENTS

FILES = sorted(path.stem for path in EVENTS.glob("*.json"))


def names_of(kind):
    return [name for name, expected in EXPECTED.items() if isinstance(expected, kind)]


# ------------------------------------------------------------------------------- the files, without any function

def test_every_sample_has_an_expectation():
    assert FILES == sorted(EXPECTED)


def test_samples_are_what_the_program_writes():
    assert make_events.differences() == []


def test_samples_run_after_what_they_build_upon():
    order = list(EXPECTED)
    for name, expected in EXPECTED.items():
        assert all(order.index(earlier) < order.index(name) for earlier in expected.after), name


def test_signatures_are_those_of_sanitys_package():
    """The same bodies, times and secrets, signed by the program that the local stack signs with."""
    checked = 0
    for name in names_of(Request):
        sample = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
        signature = sample["headers"].get("sanity-webhook-signature", "")
        if EXPECTED[name].status != 200 or name == "not-utf8":
            # The package signs text only.
            continue
        body = base64.b64decode(sample["body"]).decode() if sample["isBase64Encoded"] else sample["body"]
        secret = make_events.PREVIOUS_SECRET if name == "previous-secret" else make_events.SECRET
        milliseconds = int(signature.split(",")[0].removeprefix("t="))
        assert _sign_with_package(body, milliseconds, secret) == signature, name
        checked += 1
    assert checked >= 12


def _sign_with_package(body, milliseconds, secret):
    from stack.places import HERE

    program = (
        "import { encodeSignatureHeader } from '@sanity/webhook';"
        "const [body, time, secret] = process.argv.slice(1);"
        "process.stdout.write(await encodeSignatureHeader(body, Number(time), secret))"
    )
    return subprocess.run(
        ["node", "--input-type=module", "--eval", program, "--", body, str(milliseconds), secret],
        cwd=HERE, capture_output=True, text=True, check=True,
    ).stdout


# -------------------------------------------------------------------------------------------- the functions

@pytest.mark.parametrize("name", list(EXPECTED))
def test_sample(stage, name):
    expected = EXPECTED[name]
    played = stage.play(name)
    checks = {Request: check_request, Batch: check_batch, Schedule: check_schedule, Asked: check_asked}
    checks[type(expected)](stage, name, expected, played)
    for metric, value in expected.metrics.items():
        assert played.answer.metrics.get(metric) == value, f"{metric}: {played.answer.metrics}\n{played.answer.output}"
    shown = played.answer.output + json.dumps(played.answer.result, ensure_ascii=False)
    assert not [secret for secret in NEVER_SHOWN if secret in shown]


def check_request(stage, name, expected, played):
    result = played.answer.result
    assert result["statusCode"] == expected.status, result
    headers = {key.lower(): value for key, value in result["headers"].items()}
    assert headers["content-type"].startswith("application/json")
    assert expected.headers.items() <= headers.items(), headers
    answer = json.loads(result["body"])
    assert expected.answer.items() <= answer.items(), answer
    if expected.status != 200:
        assert answer["message"].endswith("."), "a refusal says in a sentence what to do"
    assert played.added["EventsTable"] == played.added["OutboxTable"] == expected.adds
    if expected.adds:
        check_stored(stage, name, expected, answer["event_id"])


def check_stored(stage, name, expected, event_id):
    sample = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    event = stage.ledger.item("EventsTable", event_id=event_id)
    assert expected.event.items() <= event.items(), event
    item = stage.ledger.item("OutboxTable", pk=event["document_key"], sk=event["outbox_sort_key"])
    assert (item["event_id"], item["state"]) == (event_id, expected.state or "in_review")
    assert (item.get("status") == "READY") is expected.ready
    assert ("message_group_id" in item) is expected.ready
    if "reason" in expected.answer:
        assert item["reason"] == expected.answer["reason"]
    if expected.edit:
        # The ids that the consumer's samples were made with.
        assert event["document_key"] == expected.edit.document_key
        assert event["outbox_sort_key"] == expected.edit.sort_key(event_id)
    raw = base64.b64decode(sample["body"]) if sample["isBase64Encoded"] else sample["body"].encode()
    assert event["payload_encoding"] == "identity" and bytes(event["payload"]) == raw


def check_batch(stage, name, expected, played):
    assert played.answer.result == {"batchItemFailures": expected.failures(name)}
    for edit in expected.applied:
        item = stage.item_of(edit)
        assert (item["state"], item.get("status")) == ("applied", "SENT"), item
    purged = {(one["type"], one.get("value", "the whole type")): one["at"] for one in played.purges}
    revalidated = {one["slug"]: one["at"] for one in played.revalidations}
    assert set(purged) == expected.purged
    assert set(revalidated) == expected.revalidated
    # Each once, and the inner layer first.
    assert (len(purged), len(revalidated)) == (len(played.purges), len(played.revalidations))
    assert all(purged["Routing", slug] <= at for slug, at in revalidated.items())


def check_schedule(stage, name, expected, played):
    summary = played.answer.result
    assert (summary["faults"], summary["unsent"], summary["died"], summary["complete"]) == (0, 0, 0, True), summary
    sent = stage.ledger.messages()
    assert len(sent) == summary["resent"]
    wanted = {
        (edit.document_key.removeprefix("DOC#"), f"{make_events.event_id_of(edit)}#a1", make_events.from_pipe(edit))
        for edit in expected.resent
    }
    assert wanted <= set(sent), sent


def check_asked(stage, name, expected, played):
    assert holds(expected.answer, played.answer.result), played.answer.result
    if expected.adds is not None:
        assert played.added["OutboxTable"] == expected.adds
        assert played.added["EventsTable"] == 0


def holds(wanted, found):
    """Whether `found` has all of `wanted`, at any depth."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and holds(value, found[name]) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(map(holds, wanted, found))
    return wanted == found


# --------------------------------------------------------------------------------------- the tests themselves

def test_a_failing_function_is_noticed(stage):
    """SAM exits 0 when a function fails; the configuration below makes this one fail."""
    with pytest.raises(FunctionFailed):
        stage.functions.invoke("WebhookFunction", EVENTS / "publish.json", {"EVENTS_TABLE": ""})


def test_a_wrong_answer_is_noticed(stage):
    """With another secret the first sample must not be what it is expected to be."""
    answer = stage.functions.invoke("WebhookFunction", EVENTS / "publish.json", {"LOCAL_WEBHOOK_SECRET": "another"})
    assert answer.result["statusCode"] == 401


def test_the_stated_secrets_sign_the_samples():
    sample = json.loads((EVENTS / "publish.json").read_text(encoding="utf-8"))
    signature = sanity_webhook.sign(
        sample["body"].encode(), "local-webhook-secret", make_events.signed_at(content.MOKA_PUBLISHED)
    )
    assert sample["headers"]["sanity-webhook-signature"] == signature
