"""Real Helm packages charts; a real index.yaml and a real docker-registry serve them; the bot's own
sources then have to find every version with the digest that Helm and the registry name."""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import urllib.request

import helm_python
from helm_python import chart as helm_chart
from helm_python import registry as helm_registry

from common import ROOT, folder, free_port, process, wait_for

NAME = "podinfo"
VERSIONS = ["1.0.0", "1.1.0-rc.1", "1.1.0", "1.10.0", "1.2.0+build.7"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def package(into: pathlib.Path) -> dict[str, pathlib.Path]:
    helm_chart.Chart.create(NAME, into / "source")
    source = into / "source" / NAME
    archives = {}
    for version in VERSIONS:
        archives[version] = pathlib.Path(helm_chart.package(source, destination=into / "archives", version=version))
    return archives


def manifest_digest(port: int, version: str) -> str:
    """As the registry itself names it; `+` is no letter of a tag."""
    url = f"http://127.0.0.1:{port}/v2/charts/{NAME}/manifests/{version.replace('+', '_')}"
    asked = urllib.request.Request(url, headers={"Accept": "application/vnd.oci.image.manifest.v1+json"})
    with urllib.request.urlopen(asked) as answer:
        return answer.headers["Docker-Content-Digest"]


def main() -> None:
    if shutil.which("docker-registry") is None:
        sys.exit("docker-registry is missing; on Debian: apt-get install docker-registry")
    print(f"helm-python-sdk {getattr(helm_python, '__version__', '')}".strip())
    with folder() as scratch:
        (scratch / "source").mkdir()
        (scratch / "archives").mkdir()
        archives = package(scratch)
        web, oci = free_port(), free_port()
        helm_registry.repo_index_generate(scratch / "archives", base_url=f"http://127.0.0.1:{web}")
        handler = functools.partial(Quiet, directory=str(scratch / "archives"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", web), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        config = scratch / "registry.yml"
        config.write_text(
            "version: 0.1\n"
            f"storage: {{filesystem: {{rootdirectory: {scratch / 'registry'}}}}}\n"
            f"http: {{addr: '127.0.0.1:{oci}'}}\n"
        )
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with process("docker-registry", "serve", config, **quiet):
            wait_for(f"http://127.0.0.1:{oci}/v2/")
            expected = []
            for version, archive in archives.items():
                helm_registry.push(archive, f"oci://127.0.0.1:{oci}/charts", plain_http=True)
                expected.append(
                    {
                        "version": version,
                        "archive": "sha256:" + hashlib.sha256(archive.read_bytes()).hexdigest(),
                        "manifest": manifest_digest(oci, version),
                    }
                )
            facts = scratch / "charts.json"
            facts.write_text(
                json.dumps(
                    {
                        "name": NAME,
                        "http": f"http://127.0.0.1:{web}",
                        "oci": f"127.0.0.1:{oci}/charts/{NAME}",
                        "hosts": [f"127.0.0.1:{web}", f"127.0.0.1:{oci}"],
                        "charts": expected,
                    }
                )
            )
            environment = {**os.environ, "COLDFRAME_PEER_CHARTS": str(facts)}
            command = ["cargo", "test", "--locked", "--quiet", "--test", "peers", "charts_", "--", "--ignored"]
            subprocess.run(command, cwd=ROOT, env=environment, check=True)


main()
