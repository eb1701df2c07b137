-- Accounts: who may log in, and which devices have.
--
-- Ids are UUIDv7: they begin with the time at which they were made, and sort by it.
-- Whatever else belongs to a user refers to users (id) with ON DELETE CASCADE: deleting that one row erases everything
-- about them. Do so with the server stopped; one that runs may hold the user in memory.

CREATE TABLE users (
  id                  TEXT NOT NULL PRIMARY KEY,
  email               TEXT NOT NULL,         -- as it was given
  email_key           TEXT NOT NULL UNIQUE,  -- in lower case: what tells addresses apart
  password_hash       TEXT NOT NULL,         -- argon2id, with its salt and parameters
  password_version    INTEGER NOT NULL,      -- 1, and one more with each change of the password
  password_changed_at INTEGER NOT NULL,
  created_at          INTEGER NOT NULL,
  disabled_at         INTEGER                -- since when nobody may log in; NULL as a rule
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  -- One row for each device that is logged in. The newest uses are in the server's memory, up to a minute ahead.
  user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id           TEXT NOT NULL,
  token_hash   BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),  -- BLAKE2b-256; the token itself is nowhere
  device       TEXT,                         -- what the user calls it
  created_at   INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,             -- to the minute
  expires_at   INTEGER NOT NULL,             -- moves on with each use; expired rows go when somebody logs in
  cursor       TEXT,                         -- the last one that the device asked from
  PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE token_key (
  -- One row, made at the first start: the key of the tags by which made-up tokens are told from real ones without a look
  -- into this file. A token is valid only while its session is above; without this row no token is.
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  key      BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
