#!/usr/bin/env bash
# The Elasticsearch server and its HTTP module, from Maven Central: about 15 seconds and 40 MB. Runs on Java 17. It has no
# security and no ingest processors: those modules are not published there.
source "$(dirname "$0")/../common.sh"
version=8.19.21 folder=$intakes/elasticsearch
[[ -e $folder/installed ]] && exit 0
need javac openjdk-17-jdk-headless
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
module=$folder/modules/transport-netty4
mkdir -p "$folder/classes" "$module"
maven_jars "$folder/lib" "org.elasticsearch:elasticsearch:$version" "org.elasticsearch.plugin:transport-netty4:$version"
# The server loads its HTTP module from a folder with a descriptor.
mv "$folder"/lib/transport-netty4-*.jar "$folder"/lib/netty-*.jar "$module/"
unpacked=$(mktemp -d)
(cd "$unpacked" && jar xf "$module"/transport-netty4-*.jar META-INF/es-plugins/transport-netty4/plugin-descriptor.properties)
sed 's/^modulename=.*$/modulename=/' "$unpacked/META-INF/es-plugins/transport-netty4/plugin-descriptor.properties" \
  >"$module/plugin-descriptor.properties"
rm -r "$unpacked"
javac -cp "$folder/lib/*" -d "$folder/classes" "$here/ElasticsearchNode.java"
touch "$folder/installed"
