"""Planted texts that no log line may hold: secrets, tokens, and what stands in bodies (law: logs carry ids).

Every stack plants them: the generated webhook secret, the targets' tokens, and a note in every document and every webhook's
body. `Stack` looks through every function's log when it ends, so whatever runs on one, tests, demonstration or rig, fails
where one is found.
"""

from collections.abc import Iterable, Mapping

NOTE = "canary-note-8c1e5b7d"
"""In every document, and so in what the content lake answers and in the bodies of webhooks."""

TOKENS = {
    "sanity_token": "canary-sanity-token-41f7",
    "stellate_token": "canary-stellate-token-9a02",
    "storefront_secret": "canary-storefront-secret-d36b",
}
"""What the functions read from the targets' secret."""

SHOWN = 160


class CanaryFound(AssertionError):
    """A log line holds what no log line may hold."""


def leaks(lines: Iterable[str], planted: Mapping[str, str]) -> list[str]:
    """Each line that holds a planted text, by the text's name and without the text itself."""
    found = []
    for line in lines:
        for name, text in planted.items():
            at = line.find(text)
            if at >= 0:
                around = (
                    line[max(0, at - SHOWN) : at]
                    + f"<{name}>"
                    + line[at + len(text) : at + len(text) + SHOWN]
                )
                found.append(f"{name} in: …{around}…")
    return found


def refuse(logs: Mapping[str, Iterable[str]], planted: Mapping[str, str]) -> None:
    """Raises `CanaryFound` when a log, by the name of its function, holds a planted text."""
    found = [f"{function}: {leak}" for function, lines in logs.items() for leak in leaks(lines, planted)]
    if found:
        raise CanaryFound("\n".join(found[:20]))
