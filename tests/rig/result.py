"""What a part of the rig came to: one row of its table."""

from dataclasses import dataclass, field

COLUMNS = ("lost", "stuck", "stale", "panics")


@dataclass
class Result:
    """`lost`: accepted and nowhere, or without its effect. `stuck`: in no final state. `stale`: not what the source shows.
    `panics`: a process that ended by itself. `problems`: anything else that must not be, in words. `None`: cannot happen here."""

    name: str
    ran: str
    lost: int | None = 0
    stuck: int | None = 0
    stale: int | None = 0
    panics: int | None = 0
    problems: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Nothing of it happened."""
        return not self.problems and not any(getattr(self, column) for column in COLUMNS)


def table(results: list[Result]) -> list[str]:
    """The table, a row a part."""
    width = max(len(result.ran) for result in results)
    lines = [f"{'':<10} {'':<{width}}" + "".join(f"{column:>8}" for column in COLUMNS) + f"{'time':>9}"]
    for result in results:
        cells = "".join(f"{_cell(getattr(result, column)):>8}" for column in COLUMNS)
        verdict = "" if result.good else "   NOT good"
        lines.append(f"{result.name:<10} {result.ran:<{width}}{cells}{result.seconds:>7.0f} s{verdict}")
    return lines


def _cell(count: int | None) -> str:
    return "-" if count is None else str(count)
