"""`$.a.b[0]` paths into a record, and the input template made of them."""

import json
import re
from dataclasses import dataclass
from typing import Any

MAX_TEMPLATE_CHARACTERS = 8192
MAX_PARAMETER_CHARACTERS = 100

MISSING = object()
"""What a path that leads nowhere resolves to."""

_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+|\*)\]")
_VARIABLE = re.compile(r"<([^<>]*)>")


class PathRefused(ValueError):
    """Not a path, a parameter or a template that AWS takes with certainty."""


@dataclass(frozen=True)
class Path:
    """A parsed path."""

    text: str
    steps: tuple[str | int, ...]

    @staticmethod
    def parse(text: str) -> "Path":
        """Dots, dashes, underscores, letters, digits, indexes and `[*]`; nothing else is reachable."""
        if not text.startswith("$."):
            raise PathRefused(f"`{text}` is not a path: it must begin with `$.`")
        steps: list[str | int] = []
        position = 1
        while position < len(text):
            step = _STEP.match(text, position)
            if step is None:
                raise PathRefused(f"`{text}` cannot be read from `{text[position:]}` on")
            name, index = step.groups()
            steps.append(name if name is not None else index if index == "*" else int(index))
            position = step.end()
        return Path(text, tuple(steps))

    def of(self, record: dict[str, Any]) -> Any:
        """The value at this path of the original record, or `MISSING`."""
        return _walk(record, self.steps)


def _walk(value: Any, steps: tuple[str | int, ...]) -> Any:
    for position, step in enumerate(steps):
        if step == "*":
            if not isinstance(value, list):
                return MISSING
            below = [_walk(entry, steps[position + 1 :]) for entry in value]
            return [entry for entry in below if entry is not MISSING]
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value


@dataclass(frozen=True)
class Parameter:
    """A target parameter: a whole path into the original record, or the same text for every record."""

    text: str
    path: Path | None

    @staticmethod
    def parse(text: Any) -> "Parameter":
        """`<$.path>` belongs into templates; here AWS would send those very characters."""
        if not isinstance(text, str) or not text:
            raise PathRefused("must be a string that is not empty")
        if len(text) > MAX_PARAMETER_CHARACTERS:
            raise PathRefused(f"has {len(text)} characters, at most {MAX_PARAMETER_CHARACTERS} are allowed")
        if "<" in text or ">" in text:
            raise PathRefused(f"`{text}`: a target parameter takes the bare path, without `<` and `>`")
        if "$" in text:
            return Parameter(text, Path.parse(text))
        return Parameter(text, None)

    def of(self, record: dict[str, Any]) -> Any:
        """The value for a record, or `MISSING`."""
        return self.text if self.path is None else self.path.of(record)


class InputTemplate:
    """The text sent for each record, with `<$.path>` replaced."""

    def __init__(self, text: str, reserved: dict[str, str]):
        """`reserved` gives the `aws.pipes.*` values."""
        if not isinstance(text, str) or not text:
            raise PathRefused("the input template must be a string that is not empty")
        if len(text) > MAX_TEMPLATE_CHARACTERS:
            raise PathRefused(
                f"the input template has {len(text)} characters, at most {MAX_TEMPLATE_CHARACTERS}"
            )
        if _VARIABLE.fullmatch(text.strip()):
            # A bare path to an object loses its inner quotes; nobody wants that, so nobody gets it.
            raise PathRefused("the input template is one bare variable; put it under a key")
        self._pieces: list[tuple[str, Any, bool]] = []
        position, in_string = 0, False
        for variable in _VARIABLE.finditer(text):
            in_string = self._literal(text[position : variable.start()], in_string)
            self._pieces.append(("variable", self._variable(variable.group(1), reserved), in_string))
            position = variable.end()
        self._literal(text[position:], in_string)

    def _literal(self, text: str, in_string: bool) -> bool:
        if "<" in text or ">" in text:
            raise PathRefused("the input template has a `<` or `>` that is no variable")
        self._pieces.append(("literal", text, in_string))
        quotes = re.findall(r'(?<!\\)"', text)
        return in_string ^ (len(quotes) % 2 == 1)

    @staticmethod
    def _variable(name: str, reserved: dict[str, str]) -> Path | str:
        if name.startswith("$"):
            return Path.parse(name)
        if name in reserved:
            return reserved[name]
        raise PathRefused(f"`<{name}>` is neither a path nor a reserved variable known here")

    def render(self, record: dict[str, Any]) -> str:
        """The message body for one record.

        Two answers of AWS are not known, so the worst is taken and the reader must bear it: a path that leads nowhere
        leaves nothing at all, and a value inside quotes is put there as it is, even if it has a quote in it.
        Outside quotes a string gets its quotes and escapes, as EventBridge does.
        """
        return "".join(self._piece(kind, value, in_string, record) for kind, value, in_string in self._pieces)

    @staticmethod
    def _piece(kind: str, value: Any, in_string: bool, record: dict[str, Any]) -> str:
        if kind == "literal":
            return value
        found = value.of(record) if isinstance(value, Path) else value
        if found is MISSING:
            return ""
        if in_string and isinstance(found, str):
            return found
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
