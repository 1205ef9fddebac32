#!/usr/bin/env bash
# Installs the rsyslog packages of the system. The tests start rsyslogd themselves; it needs no root.
source "$(dirname "$0")/../common.sh"
need rsyslogd rsyslog rsyslog-gnutls
compgen -G '/usr/lib/*/rsyslog/lmnsd_gtls.so' >/dev/null || {
  echo 'error: rsyslog has no TLS. Install it (Debian: apt-get install rsyslog-gnutls).' >&2
  exit 1
}
