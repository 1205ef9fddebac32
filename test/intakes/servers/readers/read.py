"""Runs what a page of the docs prints, and writes the rows and types of `shield` as JSON: read.py sql|clickhouse|python <printed."""

import json
import sys

import pyarrow


def table_of(reader, printed):
    if reader == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.execute(printed)
        return connection.sql("FROM shield").to_arrow_table()
    if reader == "clickhouse":
        from chdb.session import Session

        session = Session()
        for statement in filter(str.strip, printed.split(";")):
            session.query(statement)
        return session.query("SELECT * FROM shield", "ArrowTable")
    names = {}
    exec(printed, names)
    shield = names["shield"]
    return shield if isinstance(shield, pyarrow.Table) else shield.to_arrow()


def type_of(kind):
    if isinstance(kind, pyarrow.BaseExtensionType):
        return type_of(kind.storage_type)
    if pyarrow.types.is_dictionary(kind):
        return type_of(kind.value_type)
    if pyarrow.types.is_struct(kind):
        return {field.name: type_of(field.type) for field in kind}
    if pyarrow.types.is_map(kind):
        return "map of " + type_of(kind.item_type)
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
        return [type_of(kind.value_type)]
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) or pyarrow.types.is_string_view(kind):
        return "text"
    return str(kind)


def text_of(value):
    return value.isoformat()


reader = sys.argv[1]
table = table_of(reader, sys.stdin.read())
types = {field.name: type_of(field.type) for field in table.schema}
json.dump({"types": types, "rows": table.to_pylist()}, sys.stdout, default=text_of)
