-- The store itself: its schema and its identity.
--
-- Look around with: psql. Times are milliseconds since 1970 in UTC; read them with:
-- to_timestamp(created_at / 1000.0)
--
-- Every key of user data begins with user_id, and no row refers to a row of another table, so that
-- users can be distributed over several databases.

CREATE TABLE migrations (
  -- One row for each applied file of migrations/postgresql/. Lockstep refuses a database whose rows
  -- do not fit its own files, so do not change them by hand.
  number     integer PRIMARY KEY,  -- 1, 2, 3 …, without gaps
  name       text NOT NULL,        -- the file's name without ".sql"
  checksum   text NOT NULL,        -- the file's SHA-256
  applied_at bigint NOT NULL
);

CREATE TABLE store (
  -- One row, about this store.
  only_row       integer PRIMARY KEY CHECK (only_row = 1),
  id             text NOT NULL,    -- random, created with the store; cursors contain it
  created_at     bigint NOT NULL,
  -- Added to a transaction's id to make the first part of journal.place. It grows if the database was
  -- restored in a cluster whose transaction ids are lower.
  journal_offset bigint NOT NULL DEFAULT 0,
  -- The highest journal.place of an entry that was erased with its user.
  journal_end    bigint NOT NULL DEFAULT 0
);

CREATE TABLE modules (
  -- The modules that this store was ever served with. A server that lacks one of them is refused.
  name     text COLLATE "C" PRIMARY KEY,
  kind     text NOT NULL CHECK (kind IN ('list', 'map')),
  added_at bigint NOT NULL
);

COMMENT ON TABLE migrations IS 'Lockstep: the migrations of this store';
