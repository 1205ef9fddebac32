#!/usr/bin/env bash
# Installs all servers of the intake tests, or those that are named: bash test/intakes/install.sh [NAME]...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if (($# == 0)); then set -- nginx rsyslog syslog-ng opensearch elasticsearch otelcol victorialogs loki seaweedfs versitygw kafka readers helm; fi
for name; do
  echo "== $name"
  bash "$here/servers/$name/install.sh"
done
