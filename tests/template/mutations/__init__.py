"""Ways to break the template, each with the check that must catch it. One module for each module of checks."""

from . import alarms, functions, pipe, queues, rights, stack, tables
from .mutation import Mutation

MUTATIONS = [
    Mutation(caught_by, name, path, value)
    for module in (pipe, queues, functions, rights, tables, alarms, stack)
    for caught_by, rows in module.MUTATIONS.items()
    for name, path, value in rows
]
