"""Reads files before and after an edit with parsers that are not ours: a list of both as JSON on stdin, for each
parser that understands the first the leaves that differ on stdout."""

import json
import sys
import tomllib

import hcl2
import ruamel.yaml
import yaml


def ruamel_(text):
    return list(ruamel.yaml.YAML(typ="safe", pure=True).load_all(text))


def hcl(text):
    return hcl2.loads(text)


PARSERS = {
    "yaml": {"ruamel.yaml": ruamel_, "PyYAML": lambda text: list(yaml.safe_load_all(text))},
    "json": {"json": json.loads},
    "toml": {"tomllib": tomllib.loads},
    "hcl": {"python-hcl2": hcl},
    "text": {},
}


def leaves(value, at=()):
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, (*at, str(key)))
        yield at, f"{{{len(value)}}}"
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from leaves(below, (*at, index))
        yield at, f"[{len(value)}]"
    else:
        yield at, f"{type(value).__name__} {value}"


def differences(parse, before, after):
    try:
        before = list(leaves(parse(before)))
    except Exception:
        return None
    after = list(leaves(parse(after)))
    assert [at for at, _ in before] == [at for at, _ in after], "another tree"
    return [[was, now] for (_, was), (_, now) in zip(before, after) if was != now]


def read(case):
    parsers = PARSERS[case["format"]].items()
    return {name: differences(parse, case["before"], case["after"]) for name, parse in parsers}


json.dump([read(case) for case in json.load(sys.stdin)], sys.stdout)
