#!/usr/bin/env bash
# Helm, built with Go 1.24 or later: some minutes, 60 MB.
source "$(dirname "$0")/../common.sh"
folder=$intakes/helm
[[ -e $folder/installed ]] && exit 0
mkdir -p "$folder/src"
cd "$folder/src"
module=helm.sh/helm/v3
printf 'module shieldlog.test/helm\n\ngo 1.24\n\nrequire %s v3.19.2\n' "$module" >go.mod
printf '//go:build tools\n\npackage tools\n\nimport _ "%s/cmd/helm"\n' "$module" >tools.go
go_build "$folder/helm" "$module/cmd/helm"
touch "$folder/installed"
