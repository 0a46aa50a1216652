"""Runs real Helm: a list of steps as JSON on stdin, a list of results on stdout."""

import json
import sys

import helm_python


def run(step):
    client = helm_python.RegistryClient(plain_http=True, credentials_file=step.get("credentials"))
    match step["do"]:
        case "package":
            archive = helm_python.package(step["chart"], destination=step["into"])
            return {"archive": archive, "digest": helm_python.digest(archive)}
        case "render":
            try:
                chart = helm_python.Chart.load(step["chart"])
                return {"files": chart.render(step["values"], name="coldframe", namespace=step["namespace"])}
            except helm_python.HelmError as error:
                return {"error": str(error)}
        case "sign":
            return helm_python.sign(step["archive"], key=step["key"], keyring=step["keyring"])
        case "verify":
            try:
                return {"good": bool(helm_python.verify(step["archive"], step["keyring"])["signed_by"])}
            except helm_python.HelmError as error:
                return {"good": False, "why": str(error)}
        case "index":
            return helm_python.repo_index_generate(step["folder"], base_url=step["url"])
        case "login":
            return client.login(step["host"], step["user"], step["password"], plain_http=True)
        case "push":
            return client.push(step["archive"], step["remote"], plain_http=True)
        case "tags":
            return client.tags(step["reference"])
        case "lint":
            return helm_python.lint(step["chart"])
        case "update":
            return helm_python.dependency_update(step["chart"], skip_refresh=True)
        case "build":
            return helm_python.dependency_build(step["chart"], skip_refresh=True)
        case "resolve":
            return client.resolve(step["reference"])


json.dump([run(step) for step in json.load(sys.stdin)], sys.stdout)
