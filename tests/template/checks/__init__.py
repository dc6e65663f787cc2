"""The checks: each a function from a template to the problems it finds, as sentences.

Each looks at one thing only, so that one mistake is reported once, by the check that is named after it.
"""

from collections.abc import Callable

_CHECKS: dict[str, Callable] = {}


def check(function):
    """Registers a check; its name is the function's, with dashes."""
    _CHECKS[function.__name__.replace("_", "-")] = function
    return function


def problems(template):
    """What every check finds: name of the check -> its problems. Empty for a sound template."""
    found = {name: list(function(template)) for name, function in _CHECKS.items()}
    return {name: list_ for name, list_ in found.items() if list_}


def names():
    """Names of all checks."""
    return set(_CHECKS)


from . import alarms, functions, pipe, queues, rights, stack, tables  # noqa: E402,F401  (they register themselves)
