"""Makes OpenPGP keys with GnuPG, in the folder that stdin names: `ours.key` and `theirs.key` are the keyrings of who signs.
Prints the public keys, and `ours` as it is after its owner let it expire in a day or took it back. It has to be able to sign
itself: Helm signs by the primary key alone."""

import json
import os
import subprocess
import sys

folder = json.load(sys.stdin)
home = f"{folder}/gnupg"
os.mkdir(home, 0o700)


def gpg(*words, said=None):
    command = ["gpg", "--homedir", home, "--no-tty", "--quiet", "--yes", "--pinentry-mode", "loopback", "--passphrase", "", *words]
    return subprocess.run(command, check=True, input=said, capture_output=True).stdout


def public(name):
    return gpg("--armor", "--export", name).decode()


keys = {}
for name, kind in (("ours", "ed25519"), ("theirs", "rsa2048")):
    gpg("--batch", "--quick-generate-key", f"{name} <{name}@acme.example>", kind, "sign", "2y")
    with open(f"{folder}/{name}.key", "wb") as file:
        file.write(gpg("--batch", "--export-secret-keys", name))
    keys[name] = public(name)
listed = gpg("--list-keys", "--with-colons", "ours").decode().splitlines()
fingerprint = next(line.split(":")[9] for line in listed if line.startswith("fpr:"))
gpg("--batch", "--quick-set-expire", fingerprint, "1d")
keys["expired"] = public("ours")
with open(f"{folder}/revocation", "wb") as file:
    file.write(gpg("--command-fd", "0", "--gen-revoke", "ours", said=b"y\n0\n\ny\n"))
gpg("--batch", "--import", f"{folder}/revocation")
keys["revoked"] = public("ours")
subprocess.run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"], check=True)
json.dump(keys, sys.stdout)
