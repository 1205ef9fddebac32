/**
 * The tables. Instants are ms since the epoch.
 *
 * Chunks are rows of at most 980 bytes, so that four fill a database page: that took 9 to 11.3 bytes an event with
 * 100,000 to 1,200,000 events a day in any order. The last chunk of a minute may be smaller, and larger chunks can leave
 * more of a page empty: with rows of 2,000 bytes 400,000 events took 15 bytes each, with larger ones up to 12 at a
 * million, and without row ids up to 19.
 */
export const layout = `
CREATE TABLE store (
  id TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  -- New streams start above it, so that a fence stays the highest although the stream that had it is gone.
  fence_floor INTEGER NOT NULL DEFAULT 0,
  last_seen INTEGER NOT NULL DEFAULT 0,
  -- Number of the latest change of a stream or backfill, and how many streams were removed: lists read what changed only.
  changes INTEGER NOT NULL DEFAULT 0,
  removals INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE zone_list (
  account TEXT PRIMARY KEY,
  listed_at INTEGER NOT NULL,
  -- JSON
  zones TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE holder (
  id TEXT PRIMARY KEY,
  schedule INTEGER NOT NULL,
  heard_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE stream (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  zone INTEGER NOT NULL,
  day TEXT NOT NULL,
  sink TEXT NOT NULL,
  fence INTEGER NOT NULL,
  holder TEXT,
  commit_number INTEGER NOT NULL DEFAULT 0,
  commit_hash BLOB,
  ended_at INTEGER,
  changed INTEGER NOT NULL DEFAULT 0,
  -- Names the stream's chunks. Forgetting them is one new number here; the old chunks are cleared away later.
  seen INTEGER NOT NULL,
  -- 1 once fingerprints were forgotten.
  is_index_dropped INTEGER NOT NULL DEFAULT 0,
  -- What the latest audit found, JSON; no part of the checkpoint.
  audit TEXT,
  UNIQUE (zone, day, sink)
);
CREATE INDEX stream_ended ON stream (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE checkpoint (stream INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE chunk (
  id INTEGER PRIMARY KEY,
  seen INTEGER NOT NULL,
  minute INTEGER NOT NULL,
  bytes BLOB NOT NULL
);
CREATE INDEX chunk_minute ON chunk (seen, minute);
CREATE TABLE dropped (seen INTEGER PRIMARY KEY);
CREATE TABLE minute (
  stream INTEGER NOT NULL,
  minute INTEGER NOT NULL,
  count INTEGER NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (stream, minute)
) WITHOUT ROWID;
CREATE TABLE dead_letter (
  zone INTEGER NOT NULL,
  day TEXT NOT NULL,
  sink TEXT NOT NULL,
  -- As JSON text: an id may hold what UTF-8 cannot.
  id TEXT NOT NULL,
  -- Empty for an event without a time.
  time TEXT NOT NULL,
  reason TEXT NOT NULL,
  answer TEXT NOT NULL,
  at INTEGER NOT NULL,
  event TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  UNIQUE (zone, day, sink, id, time)
);
CREATE INDEX dead_letter_sink ON dead_letter (sink);
CREATE TABLE dead_letter_total (
  zone INTEGER NOT NULL,
  day TEXT NOT NULL,
  sink TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (zone, day, sink, reason)
) WITHOUT ROWID;
CREATE TRIGGER dead_letter_added AFTER INSERT ON dead_letter BEGIN
  INSERT INTO dead_letter_total VALUES (new.zone, new.day, new.sink, new.reason, 1, new.bytes)
    ON CONFLICT DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER dead_letter_removed AFTER DELETE ON dead_letter BEGIN
  UPDATE dead_letter_total SET count = count - 1, bytes = bytes - old.bytes
    WHERE zone = old.zone AND day = old.day AND sink = old.sink AND reason = old.reason;
  DELETE FROM dead_letter_total
    WHERE zone = old.zone AND day = old.day AND sink = old.sink AND reason = old.reason AND count = 0;
END;
CREATE TABLE gap (
  zone INTEGER NOT NULL,
  sink TEXT NOT NULL,
  day TEXT NOT NULL,
  from_at INTEGER NOT NULL,
  to_at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  acknowledged_at INTEGER,
  PRIMARY KEY (zone, sink, day, from_at, reason)
) WITHOUT ROWID;
CREATE TABLE route (
  zone INTEGER NOT NULL,
  sink TEXT NOT NULL,
  first_day TEXT NOT NULL,
  planned_at INTEGER NOT NULL,
  PRIMARY KEY (zone, sink)
) WITHOUT ROWID;
CREATE TABLE sink (
  name TEXT PRIMARY KEY,
  -- Empty for a sink that was renamed before these were stored.
  type TEXT NOT NULL DEFAULT '',
  place TEXT NOT NULL DEFAULT '',
  -- Its former names, each followed by a space.
  formerly TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE backfill (
  id TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL,
  from_day TEXT NOT NULL,
  to_day TEXT NOT NULL,
  state TEXT NOT NULL,
  changed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE backfilled (
  backfill TEXT NOT NULL,
  zone INTEGER NOT NULL,
  day TEXT NOT NULL,
  sink TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (backfill, zone, day, sink)
) WITHOUT ROWID;
`
