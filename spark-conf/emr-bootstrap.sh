#!/bin/bash
# Bootstrap action of EMR on EC2: installs the package on every node. The argument is the folder in a
# bucket that has the wheel and constraints.txt.
set -euo pipefail
from=$1
packages=$(mktemp -d)
aws s3 cp --recursive "$from" "$packages"
sudo python3.11 -m venv /opt/venv
sudo /opt/venv/bin/pip install --constraint "$packages/constraints.txt" "$packages"/hudi_pyspark-*.whl
