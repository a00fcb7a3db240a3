#!/bin/sh
# Makes a virtual environment: tools/venv.sh PYTHON DIR
# Debian and Ubuntu keep venv in a package of its own; it is installed where we may.
set -eu
python=$1
dir=$2
"$python" -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "rocsteady needs Python 3.11 or newer")'
if ! "$python" -m venv "$dir" >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        apt-get install -y -qq python3-venv >/dev/null
        "$python" -m venv "$dir"
    else
        echo "$python has no venv module: install the package python3-venv" >&2
        exit 1
    fi
fi
"$dir/bin/python" -m pip install --quiet --upgrade pip
