"""Reads a built SAM template and expands it to the CloudFormation that AWS would be handed.

The checks look at the expanded template, so that what SAM adds or leaves out by itself is seen too.
"""

import copy
import logging
import os
import re

import yaml

os.environ.setdefault("AWS_DEFAULT_REGION", "eu-west-1")

from samtranslator.parser.parser import Parser  # noqa: E402  (wants a Region when it is imported)
from samtranslator.translator.translator import Translator  # noqa: E402

logging.getLogger("samtranslator").setLevel(logging.ERROR)


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags, which are turned into the long form."""


def _tag(loader, name, node):
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _tag)


def load(path):
    """The template in that file, with intrinsic functions in their long form."""
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, _Loader)


class Template:
    """A SAM template (`source`) and the plain CloudFormation it expands to."""

    def __init__(self, source):
        self.source = source
        uploaded = copy.deepcopy(source)
        for resource in uploaded["Resources"].values():
            if resource["Type"] == "AWS::Serverless::Function":
                # SAM expands only code that has been uploaded.
                resource["Properties"]["CodeUri"] = "s3://bucket/key"
        expanded = Translator({}, Parser()).translate(uploaded, {})
        self.resources = expanded["Resources"]
        self.parameters = expanded.get("Parameters", {})
        self.outputs = expanded.get("Outputs", {})

    def of_type(self, kind):
        """Logical id and properties of each resource of a type."""
        return {
            name: resource.get("Properties", {})
            for name, resource in self.resources.items()
            if resource["Type"] == kind
        }

    def properties(self, name):
        """Properties of a resource; empty if there is no such resource."""
        return self.resources.get(name, {}).get("Properties", {})

    def value(self, value):
        """The value itself, or the default of the parameter it refers to."""
        if isinstance(value, dict) and "Ref" in value:
            return self.parameters.get(value["Ref"], {}).get("Default")
        return value


def reference(value):
    """What a value refers to: `("EventsTable", "Arn")`, `("Stage", None)`; `(None, None)` for anything else."""
    if isinstance(value, dict) and len(value) == 1:
        if "Ref" in value:
            return value["Ref"], None
        if "Fn::GetAtt" in value:
            name, attribute = value["Fn::GetAtt"]
            return name, attribute
    return None, None


def text(value):
    """A value as one string, with references as `${Name}` or `${Name.Attribute}`."""
    if isinstance(value, dict):
        if "Fn::Sub" in value:
            return value["Fn::Sub"] if isinstance(value["Fn::Sub"], str) else value["Fn::Sub"][0]
        name, attribute = reference(value)
        if name:
            return "${" + name + (f".{attribute}" if attribute else "") + "}"
    return str(value)


def names_in(value):
    """Every name that a value refers to, at any depth."""
    if isinstance(value, dict):
        name, _ = reference(value)
        if name:
            return {name}
        found = set()
        if "Fn::Sub" in value:
            found |= {part.split(".")[0] for part in re.findall(r"\$\{([^!}]+)\}", text(value))}
        for inner in value.values():
            found |= names_in(inner)
        return found
    if isinstance(value, list):
        return set().union(*map(names_in, value)) if value else set()
    return set()


def as_list(value):
    """IAM and CloudFormation accept one value wherever they accept a list of them."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
