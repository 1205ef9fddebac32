#!/bin/sh
# Prints the packages that shieldlog needs when it runs, as SPDX. Of the whole checkout npm sbom --omit=dev leaves out a
# package that a development dependency may use as well, and lists those that development dependencies need.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp package.json package-lock.json "$folder"
cd "$folder"
npm pkg delete devDependencies
npm install --silent --package-lock-only --offline --ignore-scripts --no-audit --no-fund
npm sbom --package-lock-only --sbom-format=spdx --sbom-type=application
