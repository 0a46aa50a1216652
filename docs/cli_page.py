"""Prints docs/cli.md: what `--help` of the program says, command by command."""

import os
import re
import subprocess
import sys


def help_of(program: str, *command: str) -> str:
    plain = {"PATH": os.environ.get("PATH", ""), "COLUMNS": "100", "NO_COLOR": "1"}
    said = subprocess.run([program, *command, "--help"], env=plain, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in said.stdout.strip().splitlines())


def main() -> None:
    program = sys.argv[1]
    whole = help_of(program)
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", whole, re.MULTILINE)
    commands = re.findall(r"^  ([a-z]+)\b", listed.group(1), re.MULTILINE) if listed else []
    print("# Commands\n")
    print("<!-- Written by `COLDFRAME_BLESS=1 ./tests/run generated` from --help; do not edit. -->\n")
    print(f"```\n{whole}\n```")
    for command in commands:
        if command != "help":
            print(f"\n## coldframe {command}\n\n```\n{help_of(program, command)}\n```")


main()
