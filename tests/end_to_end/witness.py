"""What the neighbours were asked since a moment: the proof of what happened outside."""

from typing import Any

from stack.stack import Stack
from stack.waiting import wait_until


class Witness:
    """Looks at the logs of Stellate and of the storefront from the moment it is made."""

    def __init__(self, stack: Stack):
        self._stack = stack
        self.forget()

    def forget(self) -> None:
        """Begins anew."""
        self._purges = len(self._stack.stellate.purges())
        self._revalidations = len(self._stack.storefront.revalidations())
        self._asked = {"stellate": self._stack.stellate.last(), "storefront": self._stack.storefront.last()}

    def objects(self) -> list[str]:
        """`Type:id` of every object purged."""
        return [f"{purge['type']}:{purge['value']}" for purge in self._new_purges() if purge["name"] == "_id"]

    def routings(self) -> list[str]:
        """Slugs purged as `Routing`."""
        return [purge["value"] for purge in self._new_purges() if purge["name"] == "slug"]

    def slugs(self, of: str = "") -> list[str]:
        """Slugs revalidated by the storefront that hold this text: other tests' documents may wake once more meanwhile."""
        entries = self._stack.storefront.revalidations(self._revalidations)
        return [entry["slug"] for entry in entries if of in entry["slug"]]

    def requests(self, neighbour: str) -> list[dict[str, Any]]:
        """Requests that a neighbour got, answered or not."""
        return getattr(self._stack, neighbour).log(self._asked[neighbour])

    def wait_request(self, neighbour: str, deadline: float = 20) -> None:
        """Waits until a neighbour has got a request."""
        wait_until(lambda: self.requests(neighbour), deadline, f"{neighbour} is asked")

    def _new_purges(self) -> list[dict[str, Any]]:
        purges = self._stack.stellate.purges(self._purges)
        assert not any(purge["whole_type"] for purge in purges), "an empty key list means the whole type"
        return purges
