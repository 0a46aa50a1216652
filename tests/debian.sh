#!/bin/sh
# Brings a command that a test needs: tests/debian.sh COMMAND PACKAGE… installs the packages by apt-get
# where the command is missing. Says what to install by hand where it cannot.
set -eu

wanted=$1
shift
if command -v "$wanted" >/dev/null 2>&1; then
    exit 0
fi
refuse() { echo "$wanted is missing: install $* ($why)" >&2; exit 1; }
why='no apt-get here'
command -v apt-get >/dev/null 2>&1 || refuse "$@"
root=''
if [ "$(id -u)" != 0 ]; then
    why='neither root nor sudo here'
    command -v sudo >/dev/null 2>&1 || refuse "$@"
    root='sudo -n'
fi
echo "installing $*" >&2
$root apt-get update -qq >&2
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
