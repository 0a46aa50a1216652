"""What the peers' scripts share: folders, processes that end with the script, ports."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target" / "debug" / "coldframe"
NODE = pathlib.Path(os.environ.get("COLDFRAME_NODE", ROOT / "target" / "npm"))


@contextlib.contextmanager
def folder() -> Iterator[pathlib.Path]:
    """A folder that vanishes."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="coldframe-peers-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def process(*command: object, **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended with the block."""
    running = subprocess.Popen([str(word) for word in command], text=True, **options)  # type: ignore[call-overload]
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(timeout=10)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(url: str, seconds: float = 20) -> None:
    """Until somebody answers there, whatever the answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"{url} does not answer after {seconds} s")


@contextlib.contextmanager
def world() -> Iterator[dict[str, str]]:
    """The sandbox without the bot; gives the settings that it prints."""
    with process(PROGRAM, "demo", "--world", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        settings: dict[str, str] = {}
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                settings[name] = value.split(" #")[0].strip().strip("'\"")
            if name_is_last(line):
                break
        if "COLDFRAME_HUB" not in settings:
            raise RuntimeError(f"`coldframe demo --world` printed no settings and ended with {running.poll()}")
        wait_for(settings["COLDFRAME_HUB"])
        yield settings


def name_is_last(line: str) -> bool:
    return line.startswith("# curl")
