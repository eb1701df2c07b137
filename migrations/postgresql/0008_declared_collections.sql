-- Collections that an administrator declares as JSON, without code. Their elements are in list_elements
-- and map_values.

CREATE TABLE declared_collections (
  -- One row for each collection.
  name        text COLLATE "C" PRIMARY KEY,
  declaration text,                 -- JSON. NULL: it was deleted, and the row keeps the revision of that
  revision    bigint NOT NULL,      -- of all declared collections, at the row's last change: number << 20 | era
  is_closing  integer NOT NULL      -- 1: its deletion has begun, and writes are refused
);

CREATE INDEX declared_collections_by_revision ON declared_collections (revision);
