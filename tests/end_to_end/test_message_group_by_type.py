"""The queue grouped by `_type`, as article 000 has it."""

import sys

import pytest
from stack.stack import Stack
from witness import Witness


@pytest.fixture(scope="module")
def by_type():
    """A stack of its own: the grouping is a parameter of the template."""
    with Stack("by-type", {"MessageGroup": "type"}, seed=False, progress=lambda text: print(text, file=sys.stderr)) as stack:
        yield stack


def test_documents_of_a_type_share_a_group_and_all_are_handled(by_type):
    witness = Witness(by_type)
    pages = [by_type.edit(f"page-{n}", "page", f"/type/{n}") for n in range(3)]
    product = by_type.edit("product", "product", "/type/product")
    for edit in [*pages, product]:
        by_type.wait_state(edit)
    groups = [by_type.ledger.item(edit.event_id)["message_group_id"] for edit in [*pages, product]]
    assert groups == ["type-page"] * 3 + ["type-product"]
    assert sorted(witness.slugs()) == ["/type/0", "/type/1", "/type/2", "/type/product"]
