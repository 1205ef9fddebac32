#!/usr/bin/env bash
# syslog-ng of Debian, unpacked without being installed, since it conflicts with rsyslog: seconds, 5 MB.
source "$(dirname "$0")/../common.sh"
folder=$intakes/syslog-ng
[[ -e $folder/installed ]] && exit 0
need apt-get apt
need dpkg dpkg
rm -rf "$folder"
mkdir -p "$folder/packages"
cd "$folder/packages"
apt-get download -q syslog-ng-core libivykis0 libnet1
for package in *.deb; do dpkg -x "$package" "$folder"; done
rm -r "$folder/packages"
touch "$folder/installed"
