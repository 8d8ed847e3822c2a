"""Take paths, hosts, users, environments and identifiers out of recorded timelines.

``scrub.py FOLDER TARGET`` writes each .json, .json.gz, .sqlite and .pb of FOLDER to TARGET, traces
compressed; it ends 1 if anything of this machine is still in them.
"""

import gzip
import os
import re
import socket
import sqlite3
import sys
from pathlib import Path

PATH = re.compile(rb"(?<![\w.])/(?:[\w.+-]+/)+")
IDENTIFIER = re.compile(rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
TRACE_ID = re.compile(rb'("trace_id": ")[^"]*')
KEPT_TABLES = ("CUPTI_", "CUDA_", "ENUM_CUDA", "ENUM_CUPTI", "NVTX_EVENTS", "OSRT_API", "StringIds")
KEPT_EXPORT = ("EXPORT_SCHEMA_VERSION%", "EXPORT_PRODUCT_VERSION%")


def scrub_text(text):
    """Return a trace's bytes without paths, identifiers and the host's name."""
    text = PATH.sub(b"", text)
    text = IDENTIFIER.sub(b"00000000-0000-0000-0000-000000000000", text)
    text = TRACE_ID.sub(rb"\g<1>0", text)
    return text.replace(socket.gethostname().encode(), b"host")


def scrub_trace(source, target):
    """Write one trace, compressed."""
    data = source.read_bytes()
    if source.suffix == ".gz":
        data = gzip.decompress(data)
    name = source.name.removesuffix(".gz") + ".gz"
    (target / name).write_bytes(gzip.compress(scrub_text(data), 9, mtime=0))


def scrub_xplane(source, target):
    """Write one of XLA's profiles, its lengths as they were: a protobuf counts its bytes."""
    data = PATH.sub(lambda match: b"/" * len(match[0]), source.read_bytes())
    host = socket.gethostname().encode()
    (target / source.name).write_bytes(data.replace(host, b"h" * len(host)))


def tables_of(database):
    """Return the names of all tables."""
    return [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")]


def columns_of(database, table):
    """Return the names of a table's columns."""
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]


def scrub_strings(database):
    """Drop every string that no kept row points at."""
    used = set()
    for table in tables_of(database):
        if table == "StringIds":
            continue
        for column in columns_of(database, table):
            if column in ("nameId", "demangledName", "shortName", "mangledName", "name", "textId"):
                used.update(
                    row[0]
                    for row in database.execute(f'SELECT DISTINCT "{column}" FROM "{table}"')
                    if isinstance(row[0], int)
                )
    for (key,) in database.execute("SELECT id FROM StringIds").fetchall():
        if key not in used:
            database.execute("DELETE FROM StringIds WHERE id=?", (key,))


def scrub_database(source, target):
    """Write one export with the tables of the GPU's work alone."""
    path = target / source.name
    path.write_bytes(source.read_bytes())
    database = sqlite3.connect(path)
    for table in tables_of(database):
        if table == "META_DATA_EXPORT":
            wanted = " AND ".join(f"name NOT LIKE '{name}'" for name in KEPT_EXPORT)
            database.execute(f"DELETE FROM META_DATA_EXPORT WHERE {wanted}")
        elif table == "TARGET_INFO_GPU":
            for column in ("uuid", "busLocation"):
                if column in columns_of(database, table):
                    database.execute(f"UPDATE TARGET_INFO_GPU SET {column}=''")
        elif table == "TARGET_INFO_SESSION_START_TIME" or table.startswith(KEPT_TABLES):
            continue
        elif not table.startswith("sqlite_"):
            database.execute(f'DROP TABLE "{table}"')
    for (view,) in database.execute("SELECT name FROM sqlite_master WHERE type='view'").fetchall():
        database.execute(f'DROP VIEW "{view}"')
    if "StringIds" in tables_of(database):
        scrub_strings(database)
    database.commit()
    database.execute("VACUUM")
    database.close()


def leaks(path):
    """Return what of this machine is still in a file (names of variables, never values)."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    found = [
        key
        for key, value in os.environ.items()
        if len(value) >= 10 and value.encode() in data and not value.isdigit()
    ]
    if socket.gethostname().encode() in data:
        found.append("host name")
    if any(set(match.group()) - set(b"0-") for match in IDENTIFIER.finditer(data)):
        found.append("identifier")
    return found


def main():
    """Scrub a folder."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.name.endswith((".json", ".json.gz")):
            scrub_trace(path, target)
        elif path.suffix == ".sqlite":
            scrub_database(path, target)
        elif path.suffix == ".pb":
            scrub_xplane(path, target)
    dirty = {path.name: leaks(path) for path in sorted(target.iterdir()) if leaks(path)}
    for name, found in dirty.items():
        print(f"{name}: still holds {', '.join(found)}")
    sys.exit(1 if dirty else 0)


if __name__ == "__main__":
    main()
