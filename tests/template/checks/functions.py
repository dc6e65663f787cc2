"""The functions: runtime, logs, environment, schedule."""

import re

from contract import ENVIRONMENT, FUNCTIONS, SCHEDULES
from model import names_in, reference

from . import check

# Names that hold a secret. An ARN of one is no secret, nor is where one is to be put.
SECRET_NAME = re.compile(r"SECRET|TOKEN|PASSWORD|CREDENTIAL|API_KEY|PRIVATE")
NO_SECRET = re.compile(r"_ARN$|_SECRET_IN$")


def _functions(template):
    return template.of_type("AWS::Lambda::Function")


def _variables(function):
    return function.get("Environment", {}).get("Variables", {})


@check
def function_runtime(template):
    functions = _functions(template)
    if set(functions) != set(FUNCTIONS):
        yield f"the functions are {sorted(functions)}"
    for name, function in functions.items():
        if function.get("Runtime") != "provided.al2023" or function.get("Handler") != "bootstrap":
            yield f"{name} does not run bootstrap on provided.al2023"
        if [reference(value) for value in function.get("Architectures", [])] != [("Architecture", None)]:
            yield f"{name} does not take its architecture from the parameter"


@check
def function_build(template):
    for name, function in _functions(template).items():
        metadata = template.source["Resources"].get(name, {}).get("Metadata", {})
        if metadata.get("BuildMethod") != "rust-cargolambda":
            yield f"{name} is not built by rust-cargolambda"


@check
def function_timeout(template):
    limits = {
        "WebhookFunction": (30, "the API gives up after 30 s"),
        "RelayFunction": (60, "the next run begins after a minute"),
        "DeadLettersFunction": (120, "a letter stays hidden for two minutes"),
        "ReconcileFunction": (900, "the next run begins after a quarter of an hour"),
    }
    for name, (limit, why) in limits.items():
        if template.properties(name).get("Timeout", 3) >= limit:
            yield f"{name} may run for {template.properties(name).get('Timeout')} s, but {why}"


@check
def function_reserved_concurrency(template):
    for name, function in _functions(template).items():
        if "ReservedConcurrentExecutions" in function:
            yield f"{name} has reserved concurrency: throttled messages count as received"


@check
def function_log(template):
    groups = template.of_type("AWS::Logs::LogGroup")
    seen = []
    for name, function in _functions(template).items():
        logging = function.get("LoggingConfig", {})
        group, _ = reference(logging.get("LogGroup"))
        seen.append(group)
        if group not in groups:
            yield f"{name} writes to a log group that is not declared, so it is kept for ever"
        if logging.get("LogFormat") != "JSON":
            yield f"{name} does not log JSON"
    declared = [group for group in seen if group is not None]
    if len(declared) != len(set(declared)):
        yield "two functions share a log group"


@check
def log_retention(template):
    for name, group in template.of_type("AWS::Logs::LogGroup").items():
        if reference(group.get("RetentionInDays")) != ("LogRetentionDays", None):
            yield f"{name} is not kept for LogRetentionDays"


@check
def function_environment(template):
    known = set(template.parameters) | set(template.resources)
    for name, function in _functions(template).items():
        variables = _variables(function)
        missing = set(ENVIRONMENT.get(name, [])) - set(variables)
        extra = set(variables) - set(ENVIRONMENT.get(name, []))
        if missing:
            yield f"{name} lacks {', '.join(sorted(missing))}"
        if extra and not any(SECRET_NAME.search(variable) for variable in extra):
            yield f"{name} has {', '.join(sorted(extra))}, which it does not read"
        for variable, value in variables.items():
            for unknown in names_in(value) - known:
                if not unknown.startswith("AWS::"):
                    yield f"{name}: {variable} refers to {unknown}, which is not declared"
            parameter, _ = reference(value)
            if parameter in template.parameters and variable in ENVIRONMENT.get(name, []):
                if re.sub(r"(?<!^)(?=[A-Z])", "_", parameter).upper() != variable:
                    yield f"{name}: {variable} is filled from the parameter {parameter}"
            if "Fn::If" in str(value):
                yield f"{name}: {variable} has an Fn::If, which sam local does not resolve"


@check
def function_secrets(template):
    """A secret in an environment variable can be read by whoever can see the function, and is never rotated."""
    for name, function in _functions(template).items():
        for variable, value in _variables(function).items():
            if "{{resolve:" in str(value):
                yield f"{name}: {variable} is filled with a secret at deployment"
            elif SECRET_NAME.search(variable) and not NO_SECRET.search(variable) and value != "":
                yield f"{name}: {variable} holds a secret"


@check
def schedule(template):
    schedules = template.of_type("AWS::Scheduler::Schedule")
    started = {name: reference(each.get("Target", {}).get("Arn"))[0] for name, each in schedules.items()}
    if sorted(started.values()) != sorted(SCHEDULES):
        yield f"the schedules start {sorted(started.values())}"
    for name, each in schedules.items():
        wanted = SCHEDULES.get(started[name])
        if each.get("ScheduleExpression") != wanted:
            yield f"{name} does not run at {wanted}"
        if reference(each.get("State")) != ("SchedulesEnabled", None):
            yield f"{name} is not switched by SchedulesEnabled"
