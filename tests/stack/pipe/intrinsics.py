"""Intrinsic functions, resolved against a deployed stack. What is not known is refused, never skipped."""

import re
from collections.abc import Callable
from typing import Any

_SUBSTITUTION = re.compile(r"\$\{(!?)([^}]*)\}")


class Unresolvable(ValueError):
    """A reference to something the stack does not have, or a function not known here."""


class Resolver:
    """Resolves a processed template's values.

    `parameters` are the stack's effective parameters, `physical` maps logical to physical ids, `attribute` answers
    Fn::GetAtt for a logical id and an attribute name, and `pseudo` holds the `AWS::` parameters.
    """

    def __init__(
        self,
        template: dict[str, Any],
        parameters: dict[str, str],
        physical: dict[str, str],
        attribute: Callable[[str, str], str],
        pseudo: dict[str, str],
    ):
        self._template = template
        self._parameters = parameters
        self._physical = physical
        self._attribute = attribute
        self._pseudo = pseudo

    def resolve(self, value: Any) -> Any:
        """The value without intrinsics; keys whose value is AWS::NoValue are left out."""
        if isinstance(value, list):
            resolved = [self.resolve(entry) for entry in value]
            return [entry for entry in resolved if entry is not _NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, operand),) = value.items()
            if name == "Ref" or name == "Condition" or name.startswith("Fn::"):
                return self._function(name, operand)
        resolved = {key: self.resolve(entry) for key, entry in value.items()}
        return {key: entry for key, entry in resolved.items() if entry is not _NO_VALUE}

    def _function(self, name: str, operand: Any) -> Any:
        if name == "Ref":
            return self._reference(operand)
        if name == "Fn::GetAtt":
            logical, attribute = operand.split(".", 1) if isinstance(operand, str) else operand
            return self._attribute(logical, attribute)
        if name == "Fn::Sub":
            return self._substitute(operand)
        if name == "Fn::Join":
            return operand[0].join(str(entry) for entry in self.resolve(operand[1]))
        if name == "Fn::Select":
            return self.resolve(operand[1])[int(operand[0])]
        if name == "Fn::Split":
            return self.resolve(operand[1]).split(operand[0])
        if name == "Fn::If":
            condition, positive, negative = operand
            return self.resolve(positive if self._condition(condition) else negative)
        raise Unresolvable(f"{name} is not supported here")

    def _reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _NO_VALUE
        for known in (self._pseudo, self._parameters, self._physical):
            if name in known:
                return known[name]
        raise Unresolvable(f"Ref to `{name}`, which the stack does not have")

    def _substitute(self, operand: Any) -> str:
        text, given = (operand, {}) if isinstance(operand, str) else operand
        given = {key: self.resolve(entry) for key, entry in given.items()}

        def replace(match: re.Match) -> str:
            literal, name = match.groups()
            if literal:
                return "${" + name + "}"
            if name in given:
                return str(given[name])
            if "." in name:
                return self._attribute(*name.split(".", 1))
            return str(self._reference(name))

        return _SUBSTITUTION.sub(replace, text)

    def _condition(self, name: str) -> bool:
        conditions = self._template.get("Conditions", {})
        if name not in conditions:
            raise Unresolvable(f"the condition `{name}` is not declared")
        return self._holds(conditions[name])

    def _holds(self, expression: Any) -> bool:
        ((name, operand),) = expression.items()
        if name == "Condition":
            return self._condition(operand)
        if name == "Fn::Equals":
            return str(self.resolve(operand[0])) == str(self.resolve(operand[1]))
        if name == "Fn::Not":
            return not self._holds(operand[0])
        if name == "Fn::And":
            return all(self._holds(entry) for entry in operand)
        if name == "Fn::Or":
            return any(self._holds(entry) for entry in operand)
        raise Unresolvable(f"{name} is not supported in a condition")


_NO_VALUE = object()
