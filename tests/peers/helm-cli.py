"""`helm template` by real Helm, for who starts it as a program: NAME CHART [--repo URL] --version V --namespace N --values FILE."""

import argparse
import sys
import tempfile

import helm_python

parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["template"])
parser.add_argument("name")
parser.add_argument("chart")
for name in ("--repo", "--version", "--namespace", "--values"):
    parser.add_argument(name)
parser.add_argument("--skip-tests", action="store_true")
given = parser.parse_args()

try:
    with tempfile.TemporaryDirectory() as folder:
        helm_python.pull(given.chart, repo_url=given.repo, version=given.version, destination=folder, plain_http=True)
        name = given.chart.rsplit("/", 1)[-1]
        chart = helm_python.Chart.load(f"{folder}/{name}-{given.version}.tgz")
        with open(given.values, encoding="utf-8") as file:
            values = helm_python.values_from_yaml(file.read())
        for path, text in chart.render(values, name=given.name, namespace=given.namespace).items():
            if not path.endswith("NOTES.txt"):
                print(f"---\n# Source: {path}\n{text}")
except helm_python.HelmError as error:
    sys.exit(f"Error: {error}")
