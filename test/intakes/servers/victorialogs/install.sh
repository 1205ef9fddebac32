#!/usr/bin/env bash
# VictoriaLogs, built with Go 1.24 or later from the last module that holds it: about a minute, 15 MB, 0.3 GB of Go caches.
source "$(dirname "$0")/../common.sh"
folder=$intakes/victorialogs
[[ -e $folder/installed ]] && exit 0
mkdir -p "$folder/src"
cd "$folder/src"
module=github.com/VictoriaMetrics/VictoriaMetrics
printf 'module shieldlog.test/victorialogs\n\ngo 1.24\n\nrequire %s v1.108.1\n' "$module" >go.mod
printf '//go:build tools\n\npackage tools\n\nimport _ "%s/app/victoria-logs"\n' "$module" >tools.go
go_build "$folder/victoria-logs" "$module/app/victoria-logs"
touch "$folder/installed"
