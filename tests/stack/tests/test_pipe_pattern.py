"""Filter patterns: what facts say of them, and what is refused."""

import json

import pytest
from stack.pipe.pattern import Pattern, PatternRefused


def record(**attributes):
    return {"eventName": "INSERT", "dynamodb": {"NewImage": attributes}}


def image(name, below):
    return json.dumps({"dynamodb": {"NewImage": {name: below}}})


@pytest.mark.parametrize(
    ("pattern", "attributes", "expected"),
    [
        (image("x", {"S": ["a", "b"]}), {"x": {"S": "b"}}, True),
        (image("x", {"S": ["a"]}), {"x": {"S": "A"}}, False),
        (image("x", {"S": [{"exists": True}]}), {"x": {"S": ""}}, True),
        (image("x", {"S": [{"exists": True}]}), {"x": {"N": "1"}}, False),
        (image("x", [{"exists": True}]), {"x": {"S": "a"}}, False),
        (image("x", [{"exists": False}]), {"y": {"S": "a"}}, True),
        (image("x", [{"exists": False}]), {"x": {"S": "a"}}, False),
        (image("x", ["a"]), {"x": {"S": "a"}}, False),
        (image("x", {"S": [{"prefix": "OUT#"}]}), {"x": {"S": "OUT#1"}}, True),
        (image("x", {"S": [{"prefix": "OUT#"}]}), {"x": {"S": "IN#1"}}, False),
        (image("x", {"S": [{"anything-but": ["a", "b"]}]}), {"x": {"S": "c"}}, True),
        (image("x", {"S": [{"anything-but": ["a"]}]}), {}, False),
        (image("x", {"S": [{"anything-but": {"prefix": "a"}}]}), {"x": {"S": "ab"}}, False),
        (image("x", {"N": [{"numeric": [">", 3]}]}), {"x": {"N": "5"}}, False),
        (image("x", {"N": ["5"]}), {"x": {"N": "5"}}, True),
        (image("x", {"N": [5]}), {"x": {"N": "5"}}, False),
        (image("x", {"BOOL": [True]}), {"x": {"BOOL": True}}, True),
        (image("x", {"BOOL": [1]}), {"x": {"BOOL": True}}, False),
        (image("x", {"SS": ["b"]}), {"x": {"SS": ["a", "b"]}}, True),
        (json.dumps({"eventName": ["INSERT", "MODIFY"]}), {}, True),
        (json.dumps({"eventName": ["REMOVE"]}), {}, False),
    ],
)
def test_match(pattern, attributes, expected):
    assert Pattern(pattern).matches(record(**attributes)) is expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ('{"eventName":["INSERT"]', "not JSON"),
        ('["INSERT"]', "JSON object"),
        ("{}", "at least one"),
        ({"eventName": ["INSERT"]}, "JSON string"),
        ('{"eventName":"INSERT"}', "in a list"),
        ('{"eventName":[]}', "empty list"),
        ('{"dynamodb":{}}', "empty object"),
        ('{"eventSource":["aws:dynamodb"]}', "eventSource"),
        ('{"eventSourceARN":["x"]}', "eventSourceARN"),
        ('{"awsRegion":["eu-west-1"]}', "awsRegion"),
        ('{"dynamodb.NewImage.entity.S":["x"]}', "cannot be used"),
        ('{"eventName":[{"suffix":"T"}]}', "suffix"),
        ('{"eventName":[{"exists":"true"}]}', "exists"),
        ('{"eventName":[{"anything-but":"INSERT"}]}', "anything-but"),
        ('{"eventName":[{"numeric":["=="]}]}', "numeric"),
        ('{"dynamodb":{"$or":[{"a":["b"]}]}}', "or"),
        ('{"eventName":["INSERT"],"eventName":["MODIFY"]}', "twice"),
        ('{"eventName":["' + "x" * 4096 + '"]}', "4096"),
    ],
)
def test_refused(pattern, reason):
    with pytest.raises(PatternRefused, match=reason):
        Pattern(pattern)
