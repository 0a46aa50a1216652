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


def renamed(before, after):
    """The keys that differ, of leaves in the same order."""
    return [[was, now] for (was, _), (now, _) in zip(before, after) if was != now]


def differences(parse, before, after, keys):
    try:
        before = list(leaves(parse(before)))
    except Exception:
        return None
    after = list(leaves(parse(after)))
    assert len(before) == len(after), "another tree"
    assert all([was[:-1], was[-1], now[-1]] == [now[:-1], *keys] for was, now in renamed(before, after)), "another tree"
    assert len(renamed(before, after)) == (1 if keys else 0), "another key"
    return [[was, now] for (_, was), (_, now) in zip(before, after) if was != now]


def read(case):
    parsers = PARSERS[case["format"]].items()
    return {name: differences(parse, case["before"], case["after"], case["keys"]) for name, parse in parsers}


json.dump([read(case) for case in json.load(sys.stdin)], sys.stdout)
