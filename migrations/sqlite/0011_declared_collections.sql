-- Collections that an administrator declares as JSON, without code. Their elements are in list_elements
-- and map_values.

CREATE TABLE declared_collections (
  -- One row for each collection.
  name        TEXT NOT NULL PRIMARY KEY,
  declaration TEXT,               -- JSON. NULL: it was deleted, and the row keeps the revision of that
  revision    INTEGER NOT NULL,   -- of all declared collections, at the row's last change: number << 20 | era
  is_closing  INTEGER NOT NULL    -- 1: its deletion has begun, and writes are refused
) STRICT, WITHOUT ROWID;
