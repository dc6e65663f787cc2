"""What counts as a failed function, though SAM exits 0 in each of these cases (texts as SAM 1.170 prints them)."""

import pytest
from local_lambda import FunctionFailed, metrics_of, read

GOOD = 'START RequestId: 1\n{"_aws":{"CloudWatchMetrics":[{"Metrics":[{"Name":"A"}]}]},"A":[1,2]}\nEND RequestId: 1\n'


def test_an_answer_is_the_last_line_of_standard_output():
    answer = read(0, '\n{"statusCode": 200, "body": "{\\"errorType\\":1}"}\n', "", GOOD, 1.0)
    assert answer.result["statusCode"] == 200
    assert answer.metrics == {"A": 3}
    assert read(0, "null", "", GOOD, 1.0).result is None


@pytest.mark.parametrize(
    ("status", "answer", "output"),
    [
        (1, '{"statusCode": 200}', "Error: no such function"),
        (0, "", GOOD),
        (0, "\n", "Function 'WebhookFunction' timed out after 10 seconds"),
        (0, "not JSON", GOOD),
        (0, '{"errorType": "&str", "errorMessage": "no"}', GOOD),
        (0, '{"errorMessage": "2025-11-03T09:00:00Z 1 Task timed out after 10.00 seconds"}', GOOD),
        (0, "", "[ERROR] (rapid) Init failed error=Runtime exited with error: exit status 1 InvokeID="),
        (0, '{"batchItemFailures": []}', "thread 'main' (13) panicked at src/main.rs:12:58:\nno\n"),
        (0, "", "No response from invoke container for WebhookFunction"),
    ],
)
def test_a_failure_is_a_failure(status, answer, output):
    for said, printed in [(output, ""), ("", output)]:
        with pytest.raises(FunctionFailed):
            read(status, answer, said, printed, 1.0)


def test_other_lines_are_no_metrics():
    assert metrics_of('{"level":"INFO"}\n{"_aws"\nplain text {"_aws": broken\n') == {}
