"""What a container prints, all of it.

SAM copies a container's output for a second at most once the function has answered, then removes the container; on a
busy machine lines are lost. So the engine is asked itself, from the container's start to its end.
"""

import threading

END_SECONDS = 30


class ContainerLog:
    """Collects the output of the next container that SAM starts for a function. Use as a context manager."""

    def __init__(self, client, function: str):
        self._client = client
        self._function = function
        self._chunks: list[bytes] = []
        self._seen = threading.Event()

    def __enter__(self):
        labels = ["sam.cli.container.type=lambda", f"sam.cli.function.name={self._function}"]
        self._events = self._client.events(decode=True, filters={"event": "start", "label": labels})
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()
        return self

    def _collect(self):
        for event in self._events:
            container = self._client.containers.get(event["id"])
            # Followed from the engine's log: attaching loses what is printed between the replay and the live stream.
            output = container.logs(stream=True, follow=True, stdout=True, stderr=True)
            self._seen.set()
            self._chunks.extend(output)
            return

    def __exit__(self, *_):
        if not self._seen.is_set():
            # No container: SAM failed before.
            self._events.close()
        self._thread.join(END_SECONDS)

    @property
    def text(self) -> str:
        """Everything the container printed. Complete once the context has been left."""
        return b"".join(self._chunks).decode("utf-8", errors="replace")
