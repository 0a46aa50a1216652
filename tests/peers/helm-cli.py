"""`helm template` by real Helm, for who starts it as a program: [NAME] CHART, --repo, --version, --namespace, --values.

As real Helm does, it takes options in any place before a `--`, and runs the program that `--post-renderer` names."""

import subprocess
import sys
import tempfile

import helm_python

words, options = [], {}
given = iter(sys.argv[1:])
for word in given:
    if word == "--":
        words.extend(given)
    elif word.startswith("--"):
        option, has_value, value = word[2:].partition("=")
        options[option] = value if has_value else True if option == "skip-tests" else next(given)
    else:
        words.append(word)
command, *name, chart = words
if command != "template" or len(name) > 1 or options.keys() - {"repo", "version", "namespace", "values", "skip-tests", "post-renderer"}:
    sys.exit(__doc__)
if program := options.get("post-renderer"):
    subprocess.run([program], check=False)

try:
    name = name[0] if name else "release-name"
    helm_python.validate_release_name(name)
    with tempfile.TemporaryDirectory() as folder:
        version = options["version"]
        helm_python.pull(chart, repo_url=options.get("repo"), version=version, destination=folder, plain_http=True)
        loaded = helm_python.Chart.load(f"{folder}/{chart.rsplit('/', 1)[-1]}-{version}.tgz")
        with open(options["values"], encoding="utf-8") as file:
            values = helm_python.values_from_yaml(file.read())
        for path, text in loaded.render(values, name=name, namespace=options["namespace"]).items():
            if not path.endswith("NOTES.txt"):
                print(f"---\n# Source: {path}\n{text}")
except helm_python.HelmError as error:
    sys.exit(f"Error: {error}")
