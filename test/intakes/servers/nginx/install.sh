#!/usr/bin/env bash
# Installs the nginx package of the system. The tests start nginx themselves; it needs no root.
source "$(dirname "$0")/../common.sh"
need nginx nginx-light
