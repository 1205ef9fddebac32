#!/usr/bin/env bash
# nginx is taken from the system: the tests run a process of their own from it, as any user.
source "$(dirname "$0")/../common.sh"
need nginx nginx-light
