"""Intrinsic functions as CloudFormation resolves them; what is not known is refused."""

import pytest
from stack.pipe.intrinsics import Resolver, Unresolvable

TEMPLATE = {
    "Conditions": {
        "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
        "IsLocal": {"Fn::Not": [{"Condition": "IsProd"}]},
        "Both": {"Fn::And": [{"Condition": "IsProd"}, {"Condition": "IsLocal"}]},
        "Either": {"Fn::Or": [{"Condition": "IsProd"}, {"Condition": "IsLocal"}]},
    }
}


@pytest.fixture
def resolve():
    return Resolver(
        TEMPLATE,
        parameters={"Stage": "local", "Size": "10"},
        physical={"Queue": "http://queue"},
        attribute=lambda logical, name: f"arn:{logical}:{name}",
        pseudo={"AWS::Region": "eu-west-1", "AWS::StackName": "cascata"},
    ).resolve


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"Ref": "Stage"}, "local"),
        ({"Ref": "Queue"}, "http://queue"),
        ({"Ref": "AWS::Region"}, "eu-west-1"),
        ({"Fn::GetAtt": ["Queue", "Arn"]}, "arn:Queue:Arn"),
        ({"Fn::GetAtt": "Queue.Arn"}, "arn:Queue:Arn"),
        (
            {"Fn::Sub": "${AWS::StackName}-${Stage}-${Queue.Arn}-${!literal}"},
            "cascata-local-arn:Queue:Arn-${literal}",
        ),
        ({"Fn::Sub": ["${a}/${Size}", {"a": {"Ref": "Stage"}}]}, "local/10"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Stage"}]]}, "a-local"),
        ({"Fn::Select": ["1", {"Fn::Split": [",", "x,y"]}]}, "y"),
        ({"Fn::If": ["IsProd", 1, 2]}, 2),
        ({"Fn::If": ["Both", 1, 2]}, 2),
        ({"Fn::If": ["Either", 1, 2]}, 1),
        ({"a": {"Fn::If": ["IsProd", 1, {"Ref": "AWS::NoValue"}]}, "b": 1}, {"b": 1}),
        ([{"Ref": "Size"}, {"Ref": "AWS::NoValue"}], ["10"]),
        ("$.dynamodb.NewImage.x.S", "$.dynamodb.NewImage.x.S"),
    ],
)
def test_resolved(resolve, value, expected):
    assert resolve(value) == expected


@pytest.mark.parametrize(
    "value",
    [{"Ref": "Nothing"}, {"Fn::ImportValue": "x"}, {"Fn::If": ["Unknown", 1, 2]}, {"Fn::Sub": "${Nothing}"}],
)
def test_refused(resolve, value):
    with pytest.raises(Unresolvable):
        resolve(value)
