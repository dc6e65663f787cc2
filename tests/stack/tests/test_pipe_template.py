"""The golden records speak of the Pipe that the template declares."""

import yaml
from stack.places import ROOT


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as the text behind their tag."""


_Loader.add_multi_constructor("!", lambda loader, _, node: _plain(loader, node))


def _plain(loader, node):
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


def test_the_template_has_the_golden_pipe(golden):
    template = yaml.load((ROOT / "template.yaml").read_text(), _Loader)
    declared = template["Resources"]["OutboxPipe"]["Properties"]
    expected = golden("pipe")
    for section in ("SqsQueueParameters", "InputTemplate"):
        assert declared["TargetParameters"][section] == expected["TargetParameters"][section]
    declared_filters = declared["SourceParameters"]["FilterCriteria"]["Filters"]
    expected_filters = expected["SourceParameters"]["FilterCriteria"]["Filters"]
    assert [yaml.safe_load(one["Pattern"]) for one in declared_filters] == [
        yaml.safe_load(one["Pattern"]) for one in expected_filters
    ]
