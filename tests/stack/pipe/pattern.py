"""EventBridge filter patterns: the small part that is sure, everything else refused.

Looked at first: `event-ruler` 0.3.0 on PyPI (equality and `exists` only, one native wheel per Python version, last
release 2023); `quamina` is for Go and has no Python package. So this is a matcher of our own, and small.

A pattern that AWS takes but that means something else than it seems (one key twice: the last wins) is refused as well.
"""

import json
from typing import Any

MAX_PATTERN_CHARACTERS = 4096
# The Pipes guide lists the other envelope fields as not usable in patterns.
USABLE_FIELDS = ("eventName", "dynamodb")

_MISSING = object()


class PatternRefused(ValueError):
    """AWS refuses the pattern, or its meaning is not certain."""


class Pattern:
    """One parsed filter pattern."""

    def __init__(self, text: str):
        if not isinstance(text, str):
            raise PatternRefused("the pattern must be a JSON string, not an object")
        if len(text) > MAX_PATTERN_CHARACTERS:
            raise PatternRefused(
                f"the pattern has {len(text)} characters, at most {MAX_PATTERN_CHARACTERS} are allowed"
            )
        try:
            self._tree = json.loads(text, object_pairs_hook=_without_repeats)
        except json.JSONDecodeError as error:
            raise PatternRefused(f"the pattern is not JSON: {error}") from None
        if not isinstance(self._tree, dict) or not self._tree:
            raise PatternRefused("the pattern must be a JSON object with at least one field")
        for field in self._tree:
            if field not in USABLE_FIELDS:
                raise PatternRefused(f"`{field}` cannot be used in a pattern on a DynamoDB stream")
        _check(self._tree, "$")

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether a stream record passes."""
        return _matches_object(self._tree, record)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise PatternRefused(f"the key `{key}` stands twice; only the last one would count")
        found[key] = value
    return found


def _check(node: Any, where: str) -> None:
    if isinstance(node, dict):
        if not node:
            raise PatternRefused(f"{where}: an empty object matches nothing that is known")
        for key, below in node.items():
            if key.startswith("$"):
                raise PatternRefused(f"{where}: `{key}` is not supported here")
            _check(below, f"{where}.{key}")
    elif isinstance(node, list):
        if not node:
            raise PatternRefused(f"{where}: an empty list of values")
        for choice in node:
            _check_choice(choice, where)
    else:
        raise PatternRefused(f"{where}: a value must be in a list")


def _check_choice(choice: Any, where: str) -> None:
    if isinstance(choice, list):
        raise PatternRefused(f"{where}: a list in a list")
    if not isinstance(choice, dict):
        return
    if len(choice) != 1:
        raise PatternRefused(f"{where}: one matcher an object, not {sorted(choice)}")
    ((name, operand),) = choice.items()
    valid = {
        "exists": lambda: isinstance(operand, bool),
        "prefix": lambda: isinstance(operand, str),
        "anything-but": lambda: _is_anything_but(operand),
        "numeric": lambda: _is_numeric(operand),
    }.get(name)
    if valid is None:
        raise PatternRefused(f"{where}: the matcher `{name}` is not supported here")
    if not valid():
        raise PatternRefused(f"{where}: `{name}` cannot take {json.dumps(operand)}")


def _is_anything_but(operand: Any) -> bool:
    if isinstance(operand, dict):
        return set(operand) == {"prefix"} and isinstance(operand["prefix"], str)
    return isinstance(operand, list) and bool(operand) and all(isinstance(entry, str) for entry in operand)


def _is_numeric(operand: Any) -> bool:
    if not isinstance(operand, list) or len(operand) not in (2, 4):
        return False
    pairs = list(zip(operand[::2], operand[1::2], strict=True))
    return all(sign in ("=", "<", "<=", ">", ">=") and _is_number(bound) for sign, bound in pairs)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _matches_object(pattern: dict[str, Any], value: Any) -> bool:
    if isinstance(value, list):
        raise PatternRefused(
            "the record has a list where the pattern has an object; how AWS pairs them is not certain"
        )
    found = value if isinstance(value, dict) else {}
    return all(_matches_field(below, found.get(key, _MISSING)) for key, below in pattern.items())


def _matches_field(pattern: Any, value: Any) -> bool:
    if isinstance(pattern, dict):
        return _matches_object(pattern, value)
    return any(_matches_choice(choice, value) for choice in pattern)


def _matches_choice(choice: Any, value: Any) -> bool:
    if isinstance(choice, dict) and "exists" in choice:
        # Only a leaf exists: `{"attribute": [{"exists": true}]}` without its type key never matches, while its
        # absence is written exactly so.
        if choice["exists"]:
            return value is not _MISSING and not isinstance(value, dict)
        return value is _MISSING
    if value is _MISSING or isinstance(value, dict):
        return False
    leaves = value if isinstance(value, list) else [value]
    return any(_matches_leaf(choice, leaf) for leaf in leaves)


def _matches_leaf(choice: Any, leaf: Any) -> bool:
    if not isinstance(choice, dict):
        return type(choice) is type(leaf) and choice == leaf
    ((name, operand),) = choice.items()
    if name == "prefix":
        return isinstance(leaf, str) and leaf.startswith(operand)
    if name == "anything-but":
        if isinstance(operand, dict):
            return isinstance(leaf, str) and not leaf.startswith(operand["prefix"])
        return isinstance(leaf, str) and leaf not in operand
    # `numeric`: DynamoDB's N is a string in the record, so this never matches one.
    return _is_number(leaf) and all(
        _compare(leaf, sign, bound) for sign, bound in zip(operand[::2], operand[1::2], strict=True)
    )


def _compare(leaf: float, sign: str, bound: float) -> bool:
    return {
        "=": leaf == bound,
        "<": leaf < bound,
        "<=": leaf <= bound,
        ">": leaf > bound,
        ">=": leaf >= bound,
    }[sign]
