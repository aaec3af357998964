#!/bin/sh
# Creates the virtual environment $1, unless it exists and works.
# BASE_PYTHON may list the names of the Pythons to try, with spaces between.
set -eu
venv=$1

if "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    exit 0
fi

# 3.11 first: every PySpark 4.x runs on it. The others newest first.
bare=
for name in ${BASE_PYTHON:-python3.11 python3.13 python3.12 python3.14 python3.10 python3}; do
    # A version manager's shim may be on the PATH without a Python, so each one is started.
    "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
    if "$name" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "Creating $venv with $("$name" --version)"
        exec "$name" -m venv --clear "$venv"
    fi
    [ -n "$bare" ] || bare=$("$name" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
done

if [ -n "$bare" ]; then
    echo "$bare cannot create a virtual environment. Run: sudo apt-get install -y $bare-venv" >&2
else
    echo "No Python 3.10 or newer found. Run: sudo apt-get install -y python3 python3-venv" >&2
fi
exit 1
