"""Alarms, the topic they go to, and the dashboard."""

import json
import re

from contract import ALARMS, DASHBOARD, METRICS, SCHEDULE_METRICS
from model import as_list, names_in, reference, text

from . import check


def _alarms(template):
    return template.of_type("AWS::CloudWatch::Alarm")


@check
def alarm_action(template):
    for name, alarm in _alarms(template).items():
        if ("AlarmTopic", None) not in map(reference, alarm.get("AlarmActions", [])):
            yield f"{name} tells nobody"
        if alarm.get("ActionsEnabled", True) is not True:
            yield f"the actions of {name} are switched off"


@check
def alarm_missing_data(template):
    for name, alarm in _alarms(template).items():
        scheduled = alarm.get("Namespace") == "Cascata" and alarm.get("MetricName") in SCHEDULE_METRICS
        wanted = "breaching" if scheduled else "notBreaching"
        if alarm.get("TreatMissingData") != wanted:
            yield f"{name} treats missing data as {alarm.get('TreatMissingData')}, not as {wanted}"


@check
def alarm_coverage(template):
    found = set()
    for alarm in _alarms(template).values():
        for dimension in alarm.get("Dimensions", []):
            found.add((alarm.get("Namespace"), alarm.get("MetricName"), reference(dimension["Value"])[0]))
    for namespace, metric, of in sorted(ALARMS - found):
        yield f"there is no alarm on {namespace} {metric} of {of}"


@check
def alarm_metric(template):
    """An alarm on a metric that nobody writes is never raised."""
    for name, alarm in _alarms(template).items():
        if "Metrics" in alarm:
            yield f"{name} computes over metrics"
        elif alarm.get("Namespace") == "Cascata":
            if alarm.get("MetricName") not in METRICS:
                yield f"{name} watches {alarm.get('MetricName')}, which no function writes"
            if alarm.get("Dimensions") != [{"Name": "Stage", "Value": {"Ref": "Stage"}}]:
                yield f"{name} does not watch this stage"


# One of these is one too many. The others are a rate, an age or a state, with a threshold of their own.
ONE_IS_ENOUGH = {
    "ApproximateNumberOfMessagesVisible",
    "CascadeBoundHit",
    "Errors",
    "EventsInReview",
    "EventsReconciled",
    "ExecutionFailed",
    "KeysRefused",
    "OutboxDied",
    "SignatureRefused",
    "TargetOutage",
    "TargetStageFailed",
    "Throttles",
    "WebhookFaults",
    "5xx",
}


@check
def alarm_threshold(template):
    for name, alarm in _alarms(template).items():
        limit = alarm.get("ComparisonOperator"), alarm.get("Threshold")
        if alarm.get("MetricName") in ONE_IS_ENOUGH:
            if limit != ("GreaterThanOrEqualToThreshold", 1) or alarm.get("EvaluationPeriods") != 1:
                yield f"{name} is not raised by the first"
            if alarm.get("Statistic") not in ("Sum", "Maximum"):
                yield f"{name} takes the {alarm.get('Statistic')}, which thins out a single one"
        elif alarm.get("MetricName") == "PipeRunning" and limit != ("LessThanThreshold", 1):
            yield f"{name} is not raised by a Pipe that does not run"
        elif alarm.get("MetricName") in ("ReconcileRuns", "SweepsCompleted", "DeadLetterRuns") and limit != ("LessThanThreshold", 1):
            yield f"{name} is not raised by a job that does not come to its end"


@check
def alarm_key(template):
    """Without these rights on the topic's key CloudWatch drops every notification without a word."""
    for name, topic in template.of_type("AWS::SNS::Topic").items():
        key, _ = reference(topic.get("KmsMasterKeyId"))
        if key not in template.of_type("AWS::KMS::Key"):
            yield f"{name} is not encrypted with a key of this stack"
            continue
        allowed = set()
        for statement in template.properties(key)["KeyPolicy"]["Statement"]:
            if statement.get("Principal") == {"Service": "cloudwatch.amazonaws.com"}:
                allowed |= set(as_list(statement["Action"]))
                if "aws:SourceAccount" not in statement.get("Condition", {}).get("StringEquals", {}):
                    yield f"{key} may be used for alarms of another account"
        if not {"kms:Decrypt", "kms:GenerateDataKey*"} <= allowed:
            yield f"CloudWatch may not use {key}"


@check
def alarm_topic(template):
    topics = set()
    for policy in template.of_type("AWS::SNS::TopicPolicy").values():
        for statement in policy["PolicyDocument"]["Statement"]:
            account = statement.get("Condition", {}).get("StringEquals", {}).get("aws:SourceAccount")
            if statement.get("Principal") != {"Service": "cloudwatch.amazonaws.com"} or account is None:
                yield "the alarm topic takes messages from others than this account's alarms"
            elif "sns:Publish" in as_list(statement["Action"]):
                topics |= names_in(policy["Topics"])
    if "AlarmTopic" not in topics:
        yield "CloudWatch may not publish to the alarm topic"


@check
def dashboard(template):
    for name, board in template.of_type("AWS::CloudWatch::Dashboard").items():
        body = text(board.get("DashboardBody"))
        try:
            widgets = json.loads(re.sub(r"\$\{([^}]+)\}", r"\1", body))["widgets"]
        except (ValueError, KeyError) as error:
            yield f"{name} is not JSON with widgets: {error}"
            continue
        shown, watched = set(), set()
        for widget in widgets:
            for metric in widget["properties"].get("metrics", []):
                shown.add(metric[1])
                if metric[0] == "Cascata" and metric[1] not in METRICS:
                    yield f"{name} shows {metric[1]}, which no function writes"
            watched |= {arn.split(".")[0] for arn in widget["properties"].get("alarms", [])}
        for metric in sorted(DASHBOARD - shown):
            yield f"{name} does not show {metric}"
        if watched != set(_alarms(template)):
            yield f"{name} shows other alarms than there are: {sorted(watched ^ set(_alarms(template)))}"
    if not template.of_type("AWS::CloudWatch::Dashboard"):
        yield "there is no dashboard"
