#!/usr/bin/env bash
# versitygw, an S3 gateway over a folder, built with Go 1.25 or later: a minute to eight, 60 MB and 1 GB of Go caches.
source "$(dirname "$0")/../common.sh"
folder=$intakes/versitygw
[[ -e $folder/installed ]] && exit 0
mkdir -p "$folder/src"
cd "$folder/src"
module=github.com/versity/versitygw
printf 'module shieldlog.test/versitygw\n\ngo 1.25\n\nrequire %s v1.8.0\n' "$module" >go.mod
printf '//go:build tools\n\npackage tools\n\nimport _ "%s/cmd/versitygw"\n' "$module" >tools.go
go_build "$folder/versitygw" "$module/cmd/versitygw"
touch "$folder/installed"
