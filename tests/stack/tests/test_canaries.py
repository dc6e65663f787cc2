"""A planted text is found wherever it stands in a line, and is not repeated by whoever tells of it."""

import pytest
from stack import canaries
from stack.canaries import CanaryFound, leaks, refuse

PLANTED = {"webhook_secret": "s3cr3t-value", "note": canaries.NOTE}


def test_a_log_of_ids_holds_none():
    lines = ['{"message":"delivery recorded","event_id":"evt_1"}', "START RequestId: 1"]
    assert leaks(lines, PLANTED) == []
    refuse({"WebhookFunction": lines}, PLANTED)


@pytest.mark.parametrize("line", ['{"body":"{\\"note\\":\\"%s\\"}"}', "%s", "panicked at: %s, and more"])
@pytest.mark.parametrize("name", list(PLANTED))
def test_a_planted_text_is_found_and_not_repeated(line, name):
    with pytest.raises(CanaryFound) as found:
        refuse({"ConsumerFunction": ["fine", line % PLANTED[name]]}, PLANTED)
    assert "ConsumerFunction" in str(found.value) and name in str(found.value)
    assert PLANTED[name] not in str(found.value)
