"""Each way to break the template is caught, by the one check that is named after it."""

import copy

import pytest

import checks
from model import Template
from mutations import MUTATIONS


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mutation_is_caught(mutation, built, record_property):
    broken = copy.deepcopy(built)
    mutation.apply(broken)
    assert broken != built, "the mutation changes nothing"
    found = checks.problems(Template(broken))
    record_property("mutation", (mutation.name, f"caught by {', '.join(found)}" if found else "NOT CAUGHT"))
    assert set(found) == {mutation.caught_by}, found


def test_every_check_has_caught_a_mutation():
    assert checks.names() == {mutation.caught_by for mutation in MUTATIONS}
