"""Makes servers on loopback reachable for the engine's containers, and for nothing else.

The local stack listens on 127.0.0.1 only. A forwarder takes connections on the address that the engine's bridge has on
this machine (in our own engine: within its network namespace) and passes them to the same port on loopback.
"""

import asyncio
import contextlib
import ipaddress
import threading

LOOPBACK = "127.0.0.1"


class Bridge:
    """Starts on construction; `open` one port after the other, `stop` closes all."""

    def __init__(self, client):
        self.address = gateway(client.networks.get("bridge").attrs["IPAM"]["Config"])
        self._loop = asyncio.new_event_loop()
        self._tasks = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self, port):
        """Forwards the bridge's port to the same port on loopback; returns the URL for containers."""
        future = asyncio.run_coroutine_threadsafe(self._listen(port), self._loop)
        try:
            future.result(10)
        except OSError as error:
            raise SystemExit(
                f"bridge: {self.address}, the gateway of the engine's bridge, is no address of this machine ({error}).\n"
                "        The engine runs in a virtual machine or without root; start one that runs on this machine."
            ) from error
        return f"http://{self.address}:{port}"

    async def _listen(self, port):
        async def serve(reader, writer):
            task = asyncio.current_task()
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            # Cancelled is how `stop` ends it.
            with contextlib.suppress(OSError, asyncio.CancelledError):
                inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, port)
                await asyncio.gather(_pass(reader, inner_writer), _pass(inner_reader, writer))
            writer.close()

        await asyncio.start_server(serve, self.address, port)

    def stop(self):
        """Closes every port and connection."""

        async def cancel():
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(cancel(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


def gateway(configurations):
    """The bridge's own address, of the engine's answer about it.

    An engine that has just made its first bridge (Docker 20.10 on an empty folder) names the subnet only; the bridge then
    has the subnet's first address.
    """
    first = configurations[0]
    return first.get("Gateway") or str(next(ipaddress.ip_network(first["Subnet"]).hosts()))


async def _pass(reader, writer):
    """Copies until the sender is done, then tells the receiver."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
