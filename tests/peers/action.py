"""README's workflow in `act`, against the sandbox: the Action fetches the binary as a checksummed release
file from this machine, and its one pass opens the first tier's pull request. A wrong checksum and a
forbidden event must run nothing."""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import threading
import urllib.request

from common import PROGRAM, ROOT, folder, world

ACT = pathlib.Path(sys.executable).parent / "act"
TARGETS = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def workflow_of_readme() -> str:
    readme = (ROOT / "README.md").read_text()
    found = re.search(r"```yaml\n(# \.github/workflows/promote\.yml.*?)```", readme, re.DOTALL)
    if found is None:
        sys.exit("README.md has no workflow for the Action any more")
    return found.group(1)


def for_the_sandbox(workflow: str, settings: dict[str, str], files: str, checksum: str) -> str:
    """The same workflow with the Action of this tree and the inputs that point it at the sandbox."""
    used = re.search(r"^( *)- uses: coldframe/coldframe@.*$", workflow, re.MULTILINE)
    inputs = re.search(r"^( *)app-private-key: .*$", workflow, re.MULTILINE)
    assert used is not None and inputs is not None
    indent = used.group(1)
    checkout = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2"
    workflow = workflow.replace(used.group(0), f"{indent}- uses: {checkout}\n{indent}- uses: ./action")
    more = {
        "hub": settings["COLDFRAME_HUB"],
        "repository": settings["COLDFRAME_REPOSITORY"],
        "allow-hosts": settings["COLDFRAME_ALLOW_HOSTS"],
        "download-url": files,
        "checksum": checksum,
    }
    lines = "".join(f"\n{inputs.group(1)}{name}: {json.dumps(value)}" for name, value in more.items())
    return workflow.replace(inputs.group(0), inputs.group(0) + lines)


def git(place: pathlib.Path, *words: str) -> None:
    identity = ["-c", "user.name=tests", "-c", "user.email=tests@localhost"]
    subprocess.run(["git", *identity, *words], cwd=place, check=True, stdout=subprocess.DEVNULL)


def act(place: pathlib.Path, settings: dict[str, str], event: str) -> subprocess.CompletedProcess[str]:
    key = pathlib.Path(settings["COLDFRAME_APP_KEY"]).read_text()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place / "home"),
        "XDG_CONFIG_HOME": str(place / "home"),
        "XDG_CACHE_HOME": str(place / "home/cache"),
        # Secrets that act takes from its environment when they are named without a value.
        "COLDFRAME_APP_KEY": key,
        "COLDFRAME_CLUSTERS": settings["COLDFRAME_CLUSTERS"],
    }
    command = [ACT, event, "-P", "ubuntu-latest=-self-hosted", "--no-cache-server", "--pull=false"]
    command += ["--var", f"COLDFRAME_APP_ID={settings['COLDFRAME_APP_ID']}"]
    command += ["-s", "COLDFRAME_APP_KEY", "-s", "COLDFRAME_CLUSTERS"]
    said = subprocess.PIPE, subprocess.STDOUT
    return subprocess.run(
        [str(word) for word in command],
        cwd=place / "repo",
        env=environment,
        stdout=said[0],
        stderr=said[1],
        text=True,
        timeout=300,
    )


def pulls(settings: dict[str, str]) -> list[dict[str, object]]:
    url = f"{settings['COLDFRAME_HUB']}/api/v3/repos/{settings['COLDFRAME_REPOSITORY']}/pulls?state=all"
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {settings['SANDBOX_TOKEN']}"})
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def prepare(place: pathlib.Path, workflow: str) -> None:
    repo = place / "repo"
    shutil.rmtree(repo, ignore_errors=True)
    (repo / ".github/workflows").mkdir(parents=True)
    (repo / "action").mkdir()
    (place / "home/act").mkdir(parents=True, exist_ok=True)
    (place / "home/act/actrc").write_text("-P ubuntu-latest=-self-hosted\n")
    (repo / ".github/workflows/promote.yml").write_text(workflow)
    shutil.copy(ROOT / "action.yml", repo / "action/action.yml")
    git(repo, "init", "--quiet", "--initial-branch=main")
    git(repo, "remote", "add", "origin", "https://github.com/acme/fleet.git")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message=fleet")


def expect(holds: bool, what: str, said: str) -> None:
    print(("ok    " if holds else "FAILED ") + what)
    if not holds:
        sys.exit(said[-6000:])


def main() -> None:
    if platform.system() != "Linux" or platform.machine() not in TARGETS:
        sys.exit("the Action is tried on Linux only")
    name = f"coldframe-{TARGETS[platform.machine()]}"
    with folder() as place, world() as settings:
        files = place / "files"
        files.mkdir()
        shutil.copy(PROGRAM, files / name)
        right = hashlib.sha256((files / name).read_bytes()).hexdigest()
        (files / f"{name}.sha256").write_text(f"{right}  {name}\n")
        handler = functools.partial(Quiet, directory=str(files))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        served = f"http://127.0.0.1:{server.server_address[1]}"
        workflow = workflow_of_readme()

        prepare(place, for_the_sandbox(workflow, settings, served, "0" * 64))
        ran = act(place, settings, "workflow_dispatch")
        expect(ran.returncode != 0 and "nothing was run" in ran.stdout, "a wrong checksum runs nothing", ran.stdout)

        hostile = workflow.replace("  workflow_dispatch:\n", "  workflow_dispatch:\n  pull_request_target:\n  issue_comment:\n")
        prepare(place, for_the_sandbox(hostile, settings, served, right))
        for event in ("pull_request_target", "issue_comment"):
            ran = act(place, settings, event)
            expect(ran.returncode != 0 and "refuses this event" in ran.stdout, f"{event} is refused", ran.stdout)
        expect(not pulls(settings), "nothing was opened so far", ran.stdout)

        # Twice: the first pass may only take the fleet as it is into the ledger. Without `checksum` the
        # file beside the binary is believed.
        prepare(place, for_the_sandbox(workflow, settings, served, ""))
        for _ in range(3):
            ran = act(place, settings, "workflow_dispatch")
            expect(ran.returncode == 0, "the Action runs one pass", ran.stdout)
            if pulls(settings):
                break
        titles = [str(pull["title"]) for pull in pulls(settings)]
        expect(bool(titles), f"the first tier's pull requests are open: {titles}", ran.stdout)
        expect(key_is_hidden(settings, ran.stdout), "no line of the log holds the key", "")
        server.shutdown()


def key_is_hidden(settings: dict[str, str], log: str) -> bool:
    lines = pathlib.Path(settings["COLDFRAME_APP_KEY"]).read_text().splitlines()
    return not any(line in log for line in lines if len(line) > 30)


main()
