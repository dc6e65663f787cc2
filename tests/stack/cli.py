"""`python tests/stack COMMAND`: what `make run` and `make demo` call."""

import argparse
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from datetime import datetime
from typing import Any

from .demo import Demo
from .edits import Editor
from .emulator import Emulator
from .functions import FunctionFailed
from .neighbours.clients import Lake
from .neighbours.sender import Sender
from .neighbours.shop import Shop
from .places import ROOT, STATE, working_directory
from .stack import PROJECT, Stack
from .state import read_state
from .timeline import printed, timeline

RUN = "run"
RELAY_SECONDS = 5.0
WATCH_SECONDS = 0.5
EDIT = ".local/venv-stack/bin/python tests/stack edit"
FINAL = ("applied", "ignored", "in_review", "failed")


def main(arguments: list[str] | None = None) -> int:
    """Entry point; the exit status."""
    parser = argparse.ArgumentParser(prog="tests/stack", description="Cascata on this machine, without AWS.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("demo", help="play the demonstration and end").set_defaults(run=_demo)
    commands.add_parser("run", help="play the demonstration, then stay up until Ctrl-C").set_defaults(
        run=_run
    )
    edit = commands.add_parser("edit", help="edit a document in the stack that `run` keeps up")
    edit.add_argument("--id", required=True, help="the document's _id")
    edit.add_argument("--type", help="its _type: page, product, category, article, banner, menu, …")
    edit.add_argument("--slug", help="its path, such as /home")
    edit.add_argument("--title", help="its title; a fresh one when absent")
    edit.add_argument("--delete", action="store_true", help="delete it instead")
    edit.set_defaults(run=_edit)
    emulator = commands.add_parser("emulator", help="run a command with an empty emulator of its own")
    emulator.add_argument("command", nargs=argparse.REMAINDER, help="such as: cargo test -p ledger")
    emulator.set_defaults(run=_emulator)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        return 130


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _say(text: str) -> None:
    print(text, flush=True)


def _progress(text: str) -> None:
    _say(f"{datetime.now():%H:%M:%S}  {text}")


def _demo(_: argparse.Namespace) -> int:
    with Stack("demo", progress=_progress) as stack:
        stack.rebuild()
        passed = Demo(stack, _say).play()
    return 0 if passed else 1


def _run(_: argparse.Namespace) -> int:
    if read_state(STATE / RUN):
        _say("The stack is already up in another terminal; stop it there with Ctrl-C first.")
        return 1
    Shop.build()
    with Stack(RUN, shop=True, progress=_progress) as stack:
        _open_the_shop(stack)
        passed = Demo(stack, _say).play()
        _say(_instructions(stack))
        try:
            _stay(stack)
        except KeyboardInterrupt:
            _say("\nstopping")
    return 0 if passed else 1


def _open_the_shop(stack: Stack) -> None:
    """The content gets its routes, each page its first visit, and whoever watches an address and a command."""
    progress = stack.rebuild()
    _progress(f"rebuild: {progress['routed']} documents with pages, {progress['written']} routes written")
    statuses = Counter(
        stack.storefront.visit(*sorted(route["slug"] for route in stack.ledger.routes())).values()
    )
    _progress(f"each page was visited once: {dict(statuses)}")
    _say(f"""
The storefront is open. Watch this page:    {stack.storefront.address("/coffee/moka")}
and edit it from another terminal:          {EDIT} --id moka --title "My title"
Every page, with what was rebuilt just now: {stack.storefront.url}""")


def _instructions(stack: Stack) -> str:
    return f"""
The stack stays up; Ctrl-C stops it. The relay runs every {RELAY_SECONDS:g} s.
Send an edit of your own from another terminal, and reload the page when its way is told here:

  {EDIT} --id moka --title "My title"                      {stack.storefront.address("/coffee/moka")}
  {EDIT} --id banner-sale --title "On many pages"          {stack.storefront.url}
  {EDIT} --id moka --slug "/caffè/moka"                    {stack.storefront.address("/caffè/moka")}
  {EDIT} --id beans --delete                               {stack.storefront.address("/coffee/beans")}

Webhook        {stack.webhook_url}  (Host: {stack.webhook_host})
Emulated AWS   {stack.emulator.endpoint}  (key and secret: test)
Logs           {stack.directory.relative_to(ROOT)}/"""


def _stay(stack: Stack) -> None:
    """Runs the relay as its schedule would, and tells the way of every event that comes in."""
    told = {event["event_id"] for event in stack.ledger.scan("events")}
    next_relay, relay_trouble = time.monotonic(), None
    while True:
        if time.monotonic() >= next_relay:
            next_relay = time.monotonic() + RELAY_SECONDS
            try:
                stack.relay_once()
                relay_trouble = None
            except FunctionFailed as problem:
                if str(problem) != relay_trouble:
                    _say(f"the relay failed: {problem}")
                relay_trouble = str(problem)
        for event in stack.ledger.scan("events"):
            event_id = event["event_id"]
            if event_id not in told and stack.state(event_id) in FINAL:
                told.add(event_id)
                _say("\n" + "\n".join(printed(timeline(stack, event_id))))
        time.sleep(WATCH_SECONDS)


def _edit(options: argparse.Namespace) -> int:
    state = read_state(STATE / RUN)
    if state is None or "webhook_url" not in state:
        _say("No stack is up. Start it in another terminal: make run")
        return 1
    lake = Lake.at(state["lake_port"])
    sender = Sender(state["webhook_url"], state["webhook_host"], state["secret"])
    editor = Editor(lake, sender, PROJECT)
    if options.delete:
        edit = editor.delete(options.id, send=False)
    else:
        title = options.title or f"Title of {datetime.now():%H:%M:%S}"
        edit = editor.edit(options.id, options.type, options.slug, title=title, send=False)
    (answer,) = sender.send_as_sanity([edit.delivery])
    _say(f"{options.id}: {edit.change['operation']}, revision {edit.revision}")
    _say(f"the webhook answered {answer.status}: {answer.body}")
    return 0 if answer.status == 200 else 1


def _emulator(options: argparse.Namespace) -> int:
    """The command's own status. The emulator is addressed by the AWS variables that the SDKs read."""
    if not options.command:
        _say("Say what to run, such as: python tests/stack emulator cargo test -p ledger")
        return 2
    emulator = Emulator(working_directory(f"emulator-{os.getpid()}"))
    try:
        return subprocess.run(options.command, env=os.environ | emulator.client_environment()).returncode
    finally:
        emulator.stop()
        shutil.rmtree(working_directory(f"emulator-{os.getpid()}"), ignore_errors=True)
