"""One change to a template."""

from dataclasses import dataclass
from typing import Any

REMOVED = object()


@dataclass(frozen=True)
class Mutation:
    """Puts `value` where `path` (steps with dots, numbers in lists) leads to.

    REMOVED takes away what is there; a function is given what is there and answers what is to be there.
    """

    caught_by: str
    name: str
    path: str
    value: Any

    def apply(self, template):
        *steps, last = self.path.split(".")
        place = template
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        if isinstance(place, list):
            last = int(last)
        if self.value is REMOVED:
            del place[last]
        elif isinstance(place, list) and last == len(place):
            place.append(self.value)
        elif callable(self.value):
            place[last] = self.value(place[last])
        else:
            place[last] = self.value


def properties(resource, path=""):
    """Path to a property of a resource."""
    return f"Resources.{resource}.Properties" + (f".{path}" if path else "")


def replacing(old, new):
    """Changes a text, which must hold `old`."""

    def change(text):
        assert old in text, f"{old!r} is not in {text!r}"
        return text.replace(old, new)

    return change


def adding(**more):
    """Adds to a map."""
    return lambda place: {**place, **more}


def arn(resource):
    """The ARN of a resource."""
    return {"Fn::GetAtt": [resource, "Arn"]}
