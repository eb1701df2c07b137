-- Administration over HTTP: the service tokens, and which of them has made a change.

-- The name of the service token that made the change, or "administrator". NULL: a user's session.
ALTER TABLE journal ADD COLUMN acted_by TEXT;

-- An entry's number is greater than this number. When a user is erased, this keeps the highest number
-- in use, so that a follower of the journal does not miss an entry with a number that was used before.
ALTER TABLE store ADD COLUMN journal_end INTEGER NOT NULL DEFAULT 0;

CREATE TABLE service_tokens (
  -- One row for each service token. The token itself is not stored.
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,  -- the journal shows it for each change that the token makes
  token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),  -- BLAKE2b-256
  scopes     TEXT NOT NULL,         -- separated by spaces: read, write, users, admin
  created_at INTEGER NOT NULL,
  expires_at INTEGER                -- NULL: the token does not expire
) STRICT, WITHOUT ROWID;
