-- The store itself: which schema it has, and which store it is.
--
-- Look around with: sqlite3 -readonly lockstep.db
-- Times are milliseconds since 1970 in UTC; read them with: datetime(created_at / 1000, 'unixepoch')
-- All tables are STRICT: a column holds what it is declared to hold.

-- "LKST": how `file` and lockstep itself tell a Lockstep store from other SQLite databases.
-- The number of the last migration is in: PRAGMA user_version
PRAGMA application_id = 0x4C4B5354;

CREATE TABLE migrations (
  -- One row for each file of migrations/ that this store has been through. Lockstep refuses a store whose rows don't
  -- fit the files that it was built with, so don't change them by hand.
  number     INTEGER PRIMARY KEY,  -- 1, 2, 3 …, without gaps
  name       TEXT NOT NULL,        -- the file's name without ".sql"
  checksum   TEXT NOT NULL,        -- what `sha256sum` says of the file
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE store (
  -- One row, about this store.
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  id         TEXT NOT NULL,        -- random, made with the store; cursors carry it, so that another store's are noticed
  created_at INTEGER NOT NULL,
  checked_at INTEGER               -- when GET /readyz last proved that the store can be written
) STRICT;
