"""Every check against what others made, one after the other: `all.py`, or `all.py charts action`."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

from common import NODE, ROOT, folder, world

BIN = pathlib.Path(sys.executable).parent
HERE = ROOT / "tests" / "peers"


def run(*command: object, **environment: str) -> None:
    words = [str(word) for word in command]
    subprocess.run(words, cwd=ROOT, env={**os.environ, "COLDFRAME_NODE": str(NODE), **environment}, check=True)


def debian(package: str, command: str) -> None:
    """What only Debian has ready-made: installed where that is possible, else asked for."""
    if shutil.which(command) is None and shutil.which("apt-get") is not None:
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        run(*sudo, "apt-get", "update", "-qq")
        run(*sudo, "apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
    if shutil.which(command) is None:
        raise SystemExit(f"{command} is missing; on Debian: apt-get install {package}")


def graphql() -> None:
    run("node", HERE / "graphql.mjs")


def payloads() -> None:
    run("cargo", "test", "--locked", "--quiet", "--test", "peers", "payloads_", "--", "--ignored")


def charts() -> None:
    debian("docker-registry", "docker-registry")
    run(sys.executable, HERE / "charts.py")


def openapi() -> None:
    with world() as settings, folder() as scratch:
        run("node", HERE / "openapi.mjs", COLDFRAME_SCRATCH=str(scratch), **settings)


def workflows() -> None:
    check = BIN / "check-jsonschema"
    run(check, "--builtin-schema", "vendor.github-workflows", *sorted((ROOT / ".github/workflows").glob("*.yml")))
    run(check, "--builtin-schema", "vendor.github-actions", ROOT / "action.yml")
    run(BIN / "zizmor", "--offline", "--no-progress", "--quiet", ROOT / ".github", ROOT / "action.yml")


def action() -> None:
    run(sys.executable, HERE / "action.py")


CHECKS: list[Callable[[], None]] = [graphql, payloads, charts, openapi, workflows, action]


def main() -> None:
    wanted = sys.argv[1:] or [check.__name__ for check in CHECKS]
    unknown = set(wanted) - {check.__name__ for check in CHECKS}
    if unknown:
        sys.exit(f"no such check: {', '.join(sorted(unknown))}; there are {', '.join(check.__name__ for check in CHECKS)}")
    failed = []
    for check in CHECKS:
        if check.__name__ not in wanted:
            continue
        begun = time.monotonic()
        print(f"   {check.__name__}", flush=True)
        try:
            check()
        except (subprocess.CalledProcessError, SystemExit, OSError, RuntimeError) as error:
            failed.append(check.__name__)
            print(f"   {check.__name__} FAILED: {error}", flush=True)
        else:
            print(f"   {check.__name__} passed in {time.monotonic() - begun:.0f} s", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


main()
