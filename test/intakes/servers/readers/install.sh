#!/usr/bin/env bash
# Readers of objects and files: DuckDB, ClickHouse's engine, polars and pyarrow from PyPI, and the parser of Hive from
# Maven Central: a minute, 1.2 GB.
source "$(dirname "$0")/../common.sh"
folder=$intakes/readers
[[ -e $folder/installed ]] && exit 0
need python3 python3-venv
need javac openjdk-17-jdk-headless
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install -q duckdb==2.0.1 chdb==4.4.0 polars==2.1.0 pyarrow==26.0.1
mkdir -p "$folder/lib" "$folder/classes"
# Of what Hive needs, the parser uses only these.
for artifact in org.apache.hive:hive-exec:3.1.3:jar:core org.apache.hive:hive-common:3.1.3 \
  org.apache.hadoop:hadoop-common:3.1.0 org.antlr:antlr-runtime:3.5.2 org.slf4j:slf4j-api:1.7.36; do
  maven_jar "$folder/lib" "$artifact"
done
javac -cp "$folder/lib/*" -d "$folder/classes" "$here/HiveParser.java"
touch "$folder/installed"
