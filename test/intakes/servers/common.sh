# Sourced by the install scripts. Everything is installed below this folder; delete it to install again.
set -euo pipefail
intakes=${SHIELDLOG_INTAKES:-${XDG_CACHE_HOME:-$HOME/.cache}/shieldlog-intakes}

need() { # need COMMAND PACKAGE...
  command -v "$1" >/dev/null && return
  echo "error: no $1 on PATH. Install it (Debian: apt-get install ${*:2})." >&2
  exit 1
}

# Copies a Maven artifact and all that it needs: maven_jars FOLDER GROUP:ARTIFACT:VERSION...
maven_jars() {
  local folder=$1 pom dependency group artifact version
  need mvn maven
  mkdir -p "$folder"
  pom=$(mktemp -d)/pom.xml
  {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>shieldlog</groupId><artifactId>intake</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
    for dependency in "${@:2}"; do
      IFS=: read -r group artifact version <<<"$dependency"
      echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
    done
    echo '</dependencies></project>'
  } >"$pom"
  mvn -B -q -Dmaven.repo.local="$intakes/maven" -f "$pom" dependency:copy-dependencies -DoutputDirectory="$folder"
  rm -r "$(dirname "$pom")"
}

# Copies one Maven artifact without what it needs: maven_jar FOLDER GROUP:ARTIFACT:VERSION[:jar:CLASSIFIER]
maven_jar() {
  local group artifact version rest
  need mvn maven
  mvn -B -q -Dmaven.repo.local="$intakes/maven" dependency:get -Dtransitive=false -Dartifact="$2"
  IFS=: read -r group artifact version rest <<<"$2"
  cp "$intakes/maven/${group//.//}/$artifact/$version/$artifact-$version${rest:+-${rest#jar:}}.jar" "$1/"
}

# Builds a Go program in the current folder: go_build OUTPUT PACKAGE
go_build() {
  need go golang
  export GOMODCACHE=$intakes/go/modules GOCACHE=$intakes/go/builds GOFLAGS='-mod=mod -buildvcs=false' CGO_ENABLED=0
  go build -p "${SHIELDLOG_INTAKES_JOBS:-2}" -trimpath -ldflags '-s -w' -o "$1" "$2"
}
