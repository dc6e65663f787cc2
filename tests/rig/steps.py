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

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.victim.removesuffix('Function').lower():<9} {self.point}"


@dataclass(frozen=True)
class Stage:
    """Steps under one weather. A lane's steps come one after another and have one victim; lanes go side by side."""

    weather: Callable[[Stack], AbstractContextManager]
    lanes: tuple[tuple[Step, ...], ...]

    @property
    def kills_the_relay(self) -> bool:
        """Whether the relay is a victim, so that it has to run often."""
        return any(step.victim == "RelayFunction" for lane in self.lanes for step in lane)


def _lane(victim: str, *points: str) -> tuple[Step, ...]:
    return tuple(Step(victim, point) for point in points)


STAGES = (
    Stage(
        fair,
        (
            _lane("WebhookFunction", AT_RANDOM, "webhook.verified", "webhook.recorded"),
            _lane(PIPE, AT_RANDOM),
            _lane(
                "ConsumerFunction",
                AT_RANDOM,
                *("consumer.read", "consumer.fenced", "consumer.routes-read", "consumer.rows-read"),
                *("consumer.plan-made", "consumer.plan-stored", "consumer.route-written", "consumer.cascaded"),
                *("consumer.purge-due.GraphqlCdn", "consumer.purge-sent.GraphqlCdn"),
                *("consumer.purge-confirmed.GraphqlCdn", "consumer.purge-due.Storefront"),
                *("consumer.purge-sent.Storefront", "consumer.purge-confirmed.Storefront"),
                *("consumer.purged", "consumer.head-moved", "consumer.marked"),
            ),
        ),
    ),
    Stage(stellate_down, (_lane("ConsumerFunction", "consumer.putting-off", "consumer.put-off"),)),
    Stage(pipe_paused, (_lane("RelayFunction", AT_RANDOM, "relay.claimed", "relay.sent"),)),
    Stage(queue_denied, (_lane("RelayFunction", "relay.unclaimed"),)),
)
