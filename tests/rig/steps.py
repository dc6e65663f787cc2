"""Where something is killed: at random moments, and at each fault point (`platform::fault`) that traffic comes by."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from stack.stack import Stack

from .weather import fair, pipe_paused, queue_denied, stellate_down

PIPE = "Pipe"
AT_RANDOM = "at random"


@dataclass(frozen=True)
class Step:
    """One victim at one point."""

    victim: str
    point: str = AT_RANDOM
    weather: Callable[[Stack], AbstractContextManager] = fair

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.victim.removesuffix('Function').lower():<9} {self.point}"


def _consumer(*points: str, weather=fair) -> list[Step]:
    return [Step("ConsumerFunction", f"consumer.{point}", weather) for point in points]


STEPS = [
    Step("WebhookFunction"),
    Step("WebhookFunction", "webhook.verified"),
    Step("WebhookFunction", "webhook.recorded"),
    Step(PIPE),
    Step("ConsumerFunction"),
    *_consumer(
        "read", "fenced", "routes-read", "rows-read", "plan-made", "plan-stored", "route-written", "cascaded"
    ),
    *_consumer("purge-due.GraphqlCdn", "purge-sent.GraphqlCdn", "purge-confirmed.GraphqlCdn"),
    *_consumer("purge-due.Storefront", "purge-sent.Storefront", "purge-confirmed.Storefront"),
    *_consumer("purged", "head-moved", "marked"),
    *_consumer("putting-off", "put-off", weather=stellate_down),
    Step("RelayFunction", weather=pipe_paused),
    Step("RelayFunction", "relay.claimed", pipe_paused),
    Step("RelayFunction", "relay.sent", pipe_paused),
    Step("RelayFunction", "relay.unclaimed", queue_denied),
]
