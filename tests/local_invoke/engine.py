"""A container engine for `sam local invoke`, for the length of one command.

    .local/venv-sam/bin/python tests/local_invoke/engine.py -- COMMAND [ARGUMENT...]

An engine that already answers is used as it is. Where none does, and this is Debian or Ubuntu and the user is root
(a bare CI machine, say), docker.io is installed with apt-get and a dockerd of our own is started inside network,
mount and process namespaces of its own, together with COMMAND:

* Nothing listens on the machine's network: the only interfaces in there are loopback and the engine's bridge, over
  which a container reaches what COMMAND starts.
* Nothing outlives the run. The first process in there stops the engine by its pid; should that process be killed,
  the kernel ends every process and mount of the namespaces with it.
* The engine's files stay under .local/engine. It has no way to a registry, hence the image of image.py.

COMMAND finds the engine through DOCKER_HOST. Whatever ends the run, its exit status is COMMAND's.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import docker

PROJECT = Path(__file__).resolve().parents[2]
HOME = PROJECT / ".local" / "engine"
START_SECONDS = 30
STOP_SECONDS = 30
# The engine's own control group, so that it can be taken away again.
CONTROL_GROUP = "cascata-engine"
# Made by containerd wherever its other files are told to be.
PLUGINS = Path("/opt/containerd")
# A unix socket's path may have 107 bytes; containerd appends about 30 to the exec root.
LONGEST_HOME = 70


def say(text):
    print(f"engine: {text}", file=sys.stderr, flush=True)


def answers(host):
    """Whether an engine answers at this address (None: the default one)."""
    try:
        client = docker.DockerClient(base_url=host, timeout=10) if host else docker.from_env(timeout=10)
        client.ping()
        client.close()
        return True
    except (docker.errors.DockerException, OSError):
        return False


def running_engine():
    """The address of an engine that is already running: '' for the default one, None if there is none."""
    if answers(None):
        return ""
    if os.environ.get("DOCKER_HOST") or not shutil.which("docker"):
        return None
    # Docker Desktop, colima and others are found through the context of the docker command.
    context = subprocess.run(
        ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"],
        capture_output=True, text=True, check=False,
    ).stdout.strip()
    return context if context and answers(context) else None


def install():
    """Installs what an engine of our own needs, if it is missing. Starts no service."""
    needed = {"dockerd": "docker.io", "ip": "iproute2", "unshare": "util-linux"}
    packages = [package for program, package in needed.items() if not shutil.which(program)]
    if os.geteuid() != 0 or sys.platform != "linux" or (packages and not shutil.which("apt-get")):
        raise SystemExit(
            "engine: sam local invoke needs a Docker engine, and none answers.\n"
            "        Start Docker (or set DOCKER_HOST) and try again. Only on Debian or Ubuntu, as root, can this\n"
            "        program install and start one itself."
        )
    if not packages:
        return
    say(f"no Docker engine answers: installing {', '.join(packages)} with apt-get; no service is started")
    # The package would start a system-wide engine; this is Debian's way to say no, for the time of the installation.
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "--yes", "-qq", "--option=Dpkg::Use-Pty=0", "--no-install-recommends", *packages]
    try:
        if subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode != 0:
            subprocess.run(["apt-get", "update", "--quiet"], env=environment, stdout=sys.stderr, check=True)
            subprocess.run(command, env=environment, stdout=sys.stderr, check=True)
    finally:
        if ours:
            policy.unlink(missing_ok=True)


def run_outside(command):
    """Enters the namespaces with this same program and waits; ends them when this process is told to end."""
    HOME.mkdir(parents=True, exist_ok=True)
    lock = open(HOME / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another run uses the engine of this folder: waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)
    # Inside, the end of this pipe means the end of the run: also when this process is killed.
    lifeline, hold = os.pipe()
    plugins_were_there = PLUGINS.exists()
    namespaces = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*namespaces, "true"], check=False).returncode != 0:
        raise SystemExit("engine: namespaces of our own are not allowed here. Start Docker, or use a machine that is.")
    process = subprocess.Popen(
        [*namespaces, sys.executable, __file__, "--inside", str(lifeline), "--", *command], pass_fds=[lifeline]
    )
    os.close(lifeline)

    def end(*_):
        nonlocal hold
        if hold is not None:
            os.close(hold)
            hold = None
            threading.Timer(STOP_SECONDS + 10, process.kill).start()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    status = process.wait()
    for group in Path("/sys/fs/cgroup").glob(f"**/{CONTROL_GROUP}"):
        remove_empty(group)
    if not plugins_were_there:
        remove_empty(PLUGINS)
    # Whatever timer is left has nothing to do any more.
    os._exit(status if status >= 0 else 128 - status)


def remove_empty(folder):
    """Removes a folder with the empty folders in it; leaves anything else."""
    for path, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def run_inside(lifeline, command):
    """The first process of the namespaces: engine up, COMMAND, engine down."""

    def end(*_):
        raise SystemExit(143)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)

    def watch():
        os.read(lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # Whatever its settings, the engine puts sockets and a key here; these places vanish with the namespace.
    for place in ("/run", "/etc/docker"):
        if os.path.isdir(place):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)

    engine, child, status = None, None, 1
    try:
        engine = start_engine()
        child = subprocess.Popen(command, start_new_session=True)
        status = child.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if child:
            # Interrupted first, so that tests can put away what they started.
            stop(child, [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], group=True)
        if engine:
            stop(engine)
    raise SystemExit(status if status >= 0 else 128 - status)


def start_engine():
    """Starts dockerd, waits until it answers, and points DOCKER_HOST at it."""
    home = HOME if len(str(HOME)) <= LONGEST_HOME else Path("/run/engine")
    execution, socket, pid_file = home / "exec", home / "docker.sock", home / "docker.pid"
    # Left by a run that was killed; the lock says that it is over.
    shutil.rmtree(execution, ignore_errors=True)
    pid_file.unlink(missing_ok=True)
    home.mkdir(parents=True, exist_ok=True)
    HOME.joinpath("config.json").write_text("{}")
    log_path = HOME / "dockerd.log"
    with open(log_path, "w", encoding="utf-8") as log:
        engine = subprocess.Popen(
            [
                "dockerd", "--config-file", str(HOME / "config.json"), "--data-root", str(HOME / "data"),
                "--exec-root", str(execution), "--pidfile", str(pid_file), "--host", f"unix://{socket}",
                # The bridge needs no rules: containers talk to this namespace only.
                "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
                "--cgroup-parent", f"/{CONTROL_GROUP}", "--live-restore=false", "--shutdown-timeout", "2",
            ],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )
    address = f"unix://{socket}"
    deadline = time.monotonic() + START_SECONDS
    while not answers(address):
        if engine.poll() is not None or time.monotonic() > deadline:
            stop(engine)
            tail = "\n".join(log_path.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
            raise SystemExit(f"engine: dockerd did not start. The end of {log_path}:\n{tail}")
        time.sleep(0.05)
    os.environ["DOCKER_HOST"] = address
    remove_leftovers(address)
    return engine


def remove_leftovers(address):
    """Containers of a run that was killed."""
    client = docker.DockerClient(base_url=address)
    for container in client.containers.list(all=True):
        container.remove(force=True)
    client.close()


def stop(process, numbers=(signal.SIGTERM, signal.SIGKILL), group=False):
    """Ends a process we started, or all of its process group, kindly first."""
    for number in numbers:
        try:
            if group:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            process.wait(STOP_SECONDS / len(numbers))
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def main(arguments):
    lifeline = None
    if arguments[:1] == ["--inside"]:
        lifeline, arguments = int(arguments[1]), arguments[2:]
    if arguments[:1] != ["--"] or len(arguments) < 2:
        raise SystemExit(__doc__)
    command = arguments[1:]
    if lifeline is not None:
        run_inside(lifeline, command)
    host = running_engine()
    if host is None:
        install()
        run_outside(command)
    if host:
        os.environ["DOCKER_HOST"] = host
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
