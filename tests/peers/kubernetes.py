"""Holds objects against the schemas of a Kubernetes release, as its API server would: a list of texts of YAML on stdin, a list
of what is wrong with their objects on stdout. What is no kind of Kubernetes itself is passed over, and named."""

import json
import sys

import kubernetes_validate
import yaml

VERSION = "1.33"
wrong, foreign, count = [], [], 0
for text in json.load(sys.stdin):
    for thing in yaml.safe_load_all(text):
        if thing is None:
            continue
        what = f"{thing['kind']} {thing['metadata']['name']}"
        try:
            kubernetes_validate.validate(thing, VERSION, strict=True)
            count += 1
        except kubernetes_validate.SchemaNotFoundError:
            foreign.append(thing["kind"])
        except kubernetes_validate.ValidationError as error:
            wrong.append(f"{what}: {'.'.join(map(str, error.path))}: {error.message}")
json.dump({"wrong": wrong, "foreign": foreign, "valid": count}, sys.stdout)
