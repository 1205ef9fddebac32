#!/usr/bin/env bash
# nginx is taken from the system: the tests start it, as any user.
source "$(dirname "$0")/../common.sh"
need nginx nginx-light
