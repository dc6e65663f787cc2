"""Paths, target parameters and the input template."""

import pytest
from stack.pipe.paths import MISSING, InputTemplate, Parameter, Path, PathRefused

RECORD = {
    "eventName": "INSERT",
    "dynamodb": {
        "NewImage": {
            "s": {"S": 'a "b" \\ è'},
            "n": {"N": "101"},
            "m": {"M": {"k": {"S": "v"}}},
            "l": {"L": [{"S": "one"}, {"S": "two"}]},
            "with-dash_1": {"S": "x"},
        }
    },
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.eventName", "INSERT"),
        ("$.dynamodb.NewImage.n.N", "101"),
        ("$.dynamodb.NewImage.l.L[1].S", "two"),
        ("$.dynamodb.NewImage.l.L[*].S", ["one", "two"]),
        ("$.dynamodb.NewImage.with-dash_1.S", "x"),
        ("$.dynamodb.NewImage.l.L[2].S", MISSING),
        ("$.dynamodb.OldImage.s.S", MISSING),
        ("$.eventName.x", MISSING),
    ],
)
def test_path(path, value):
    assert Path.parse(path).of(RECORD) == value


@pytest.mark.parametrize(
    "text", ["dynamodb.x", "$", "$.", "$.a..b", "$.a b", "$['a']", "$.a[x]", "$.è", "$.a:b"]
)
def test_path_refused(text):
    with pytest.raises(PathRefused):
        Path.parse(text)


@pytest.mark.parametrize(
    "text", ["<$.dynamodb.Keys.pk.S>", "", None, 7, "$." + "a" * 99, "prefix-$.dynamodb.Keys.pk.S"]
)
def test_parameter_refused(text):
    with pytest.raises(PathRefused):
        Parameter.parse(text)


@pytest.mark.parametrize(
    ("template", "body"),
    [
        ('{"a": <$.dynamodb.NewImage.s.S>}', '{"a": "a \\"b\\" \\\\ è"}'),
        ('{"a": "<$.dynamodb.NewImage.s.S>"}', '{"a": "a "b" \\ è"}'),
        ('{"a": <$.dynamodb.NewImage.n.N>}', '{"a": "101"}'),
        ('{"a": <$.dynamodb.NewImage.m.M>}', '{"a": {"k":{"S":"v"}}}'),
        ('{"a": "x-<$.dynamodb.NewImage.n.N>-y"}', '{"a": "x-101-y"}'),
        ('{"a": <$.nothing>}', '{"a": }'),
        ('{"a": "<$.nothing>"}', '{"a": ""}'),
        ('{"p": "<aws.pipes.pipe-name>"}', '{"p": "mine"}'),
    ],
)
def test_template(template, body):
    assert InputTemplate(template, {"aws.pipes.pipe-name": "mine"}).render(RECORD) == body


@pytest.mark.parametrize(
    "template",
    ["", "<$.a>", " <$.a> ", '{"a": <a.b>}', '{"a": "<b"}', '{"a": <$.a b>}', '{"a": <>}', "x" * 8193],
)
def test_template_refused(template):
    with pytest.raises(PathRefused):
        InputTemplate(template, {})
