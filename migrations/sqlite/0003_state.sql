-- What users keep: their favorites, defaults and profile as they are now, and the journal of how they came to be so.
--
-- A user's state has one revision, which grows by 1 with each transaction that changes any of it. The tables below and the
-- journal are always written in the same transaction, so the journal, replayed, gives exactly what the tables hold.
-- Values are JSON as clients see it; json_extract(data, '$.name') looks inside.

CREATE TABLE favorites (
  -- One row for each element, in the order of "rank".
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id         TEXT NOT NULL,     -- the client's
  title      TEXT,
  data       TEXT,              -- JSON
  added_at   TEXT NOT NULL,     -- as clients see it
  updated_at TEXT NOT NULL,
  rank       INTEGER NOT NULL,  -- grows along the list, with gaps; the number itself means nothing
  revision   INTEGER NOT NULL,  -- the user's, in which the row became what it is
  PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE defaults (
  -- One row for each value that a user has set.
  user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  suite    TEXT NOT NULL,
  key      TEXT NOT NULL,
  value    TEXT NOT NULL,       -- JSON
  revision INTEGER NOT NULL,
  PRIMARY KEY (user_id, suite, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE profiles (
  -- One row for each field that a user has saved: companyName, position.
  user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  field    TEXT NOT NULL,
  value    TEXT NOT NULL,       -- JSON
  revision INTEGER NOT NULL,
  PRIMARY KEY (user_id, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE removals (
  -- When something was last taken out of a collection: no row above tells it.
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  collection TEXT NOT NULL,     -- favorites, profile, defaults/<suite>
  revision   INTEGER NOT NULL,
  PRIMARY KEY (user_id, collection)
) STRICT, WITHOUT ROWID;

CREATE TABLE registered_defaults (
  -- What the app has registered for everybody, and what it was before: the row with the highest revision counts.
  suite    TEXT NOT NULL,
  key      TEXT NOT NULL,
  revision INTEGER NOT NULL,    -- of the registered defaults as a whole; nothing to do with any user's
  value    TEXT,                -- JSON; NULL where it was taken back
  at       INTEGER NOT NULL,
  PRIMARY KEY (suite, key, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
  -- One row for each action that changed something, in the order in which they were done.
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  revision   INTEGER NOT NULL,
  position   INTEGER NOT NULL,  -- within its transaction, from 0
  collection TEXT NOT NULL,     -- favorites, profile, defaults/<suite>
  at         INTEGER NOT NULL,
  session_id TEXT,              -- whose device asked for it
  action     TEXT NOT NULL,     -- JSON: {"type": …, "payload": …}, what was asked for
  mutations  TEXT NOT NULL,     -- JSON: an array of {"type": …, "payload": …}, what did happen
  PRIMARY KEY (user_id, revision, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (
  -- A collection as it was at some revisions, so that the past can be rebuilt without going back to the beginning. Where
  -- the beginning of the journal was pruned, the oldest one stands for it.
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  collection TEXT NOT NULL,
  revision   INTEGER NOT NULL,  -- the user's: the collection after it
  state      TEXT NOT NULL,     -- JSON: {"kind": "list", "revision": …, "items": [[revision, item], …]}, or a map's values
  PRIMARY KEY (user_id, collection, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
  -- The answers to writes that came with an Idempotency-Key, for 24 hours. Where an answer holds a token, its body is
  -- sealed under a key that is made of the user's password, as slowly as the password's hash is.
  user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  key         TEXT NOT NULL,
  fingerprint BLOB NOT NULL,    -- of the request: method, path and body; no way to guess a password that is in it
  at          INTEGER NOT NULL,
  status      INTEGER NOT NULL,
  fields      BLOB NOT NULL,    -- the answer's, as they go over the wire
  body        BLOB,
  PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);

CREATE TABLE outsider_keys (
  -- The same for writes of those who are no users, or aren't any more once it's done: the administrator's, and those with
  -- which a device logged itself out or a user erased themselves. Nothing in it tells who that was.
  id          BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 32),  -- a hash of the key and of whose it is
  fingerprint BLOB NOT NULL,
  at          INTEGER NOT NULL,
  status      INTEGER NOT NULL,
  fields      BLOB NOT NULL,
  body        BLOB
) STRICT, WITHOUT ROWID;

CREATE INDEX outsider_keys_by_age ON outsider_keys (at);
