-- What a server that was built with modules of its own keeps for users besides favorites, defaults and profiles.
--
-- A module may bring tables of its own. Their schema goes through steps as the product's does, numbered for each module by
-- itself; one that brings none has its elements in the two tables at the end.

CREATE TABLE modules (
  -- The modules that this store was ever served with: the journal and the cursors tell of their state too, so a server
  -- that lacks one of them is refused.
  name     TEXT NOT NULL PRIMARY KEY,
  kind     TEXT NOT NULL CHECK (kind IN ('list', 'map')),
  added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE module_migrations (
  -- One row for each step of a module's schema.
  module     TEXT NOT NULL REFERENCES modules (name),
  number     INTEGER NOT NULL,
  name       TEXT NOT NULL,
  checksum   TEXT NOT NULL,       -- SHA-256 of the step's text
  applied_at INTEGER NOT NULL,
  PRIMARY KEY (module, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE list_elements (
  -- One row for each element of a module's list that has no table of its own, in the order of "rank".
  user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  module   TEXT NOT NULL,
  id       TEXT NOT NULL,
  element  TEXT NOT NULL,         -- JSON
  rank     INTEGER NOT NULL,      -- grows along the list, with gaps; the number itself means nothing
  revision INTEGER NOT NULL,      -- the user's, in which the row became what it is
  PRIMARY KEY (user_id, module, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE map_values (
  -- One row for each value of a module's map that has no table of its own.
  user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  module   TEXT NOT NULL,
  key      TEXT NOT NULL,
  value    TEXT NOT NULL,         -- JSON
  revision INTEGER NOT NULL,
  PRIMARY KEY (user_id, module, key)
) STRICT, WITHOUT ROWID;
