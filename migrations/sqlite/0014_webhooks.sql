-- Webhooks, and the deliveries to them.

CREATE TABLE webhooks (
  -- One row for each webhook.
  id               INTEGER NOT NULL PRIMARY KEY,
  name             TEXT UNIQUE,       -- NULL: it was deleted, and its deliveries are being deleted
  url              TEXT NOT NULL,
  events           TEXT NOT NULL,     -- types, separated by spaces
  secret           TEXT NOT NULL,     -- signs its deliveries
  secret_number    INTEGER NOT NULL DEFAULT 1,  -- counts the secrets that it has had
  old_secret       TEXT,              -- the one before, which signs too until old_secret_until
  old_secret_until INTEGER,
  created_at       INTEGER NOT NULL,
  failing_since    INTEGER,           -- the first of the failures since the last success; NULL: none
  disabled_at      INTEGER,           -- NULL: it is in use
  paused_until     INTEGER            -- the receiver has asked for no requests until then; NULL: it has not
) STRICT;

CREATE TABLE deliveries (
  -- One row for each event and webhook. Rows of erased users are deleted, except for that event.
  number       INTEGER NOT NULL PRIMARY KEY,  -- the order of a user's deliveries to a webhook
  webhook      INTEGER NOT NULL,
  id           TEXT NOT NULL,      -- the id of the event, a UUIDv7
  user_id      TEXT NOT NULL,
  type         TEXT NOT NULL,
  data         TEXT NOT NULL,      -- a JSON object
  created_at   INTEGER NOT NULL,   -- the time of the event
  status       INTEGER NOT NULL,   -- 0: queued, 1: delivered, 2: failed
  attempts     INTEGER NOT NULL,
  attempted_at INTEGER,            -- the end of the last attempt; NULL: there was none
  last_status  INTEGER,            -- of the last response; NULL: there was none
  last_error   TEXT                -- why the last attempt got no response
) STRICT;

CREATE UNIQUE INDEX deliveries_by_id ON deliveries (webhook, id);
CREATE INDEX deliveries_by_status ON deliveries (webhook, status, number);
CREATE INDEX deliveries_by_user ON deliveries (user_id, webhook, status, number);

CREATE TABLE delivery_queues (
  -- One row for each webhook and user with queued deliveries. They are sent one after the other.
  webhook INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  next_at INTEGER NOT NULL,        -- the time of the next attempt, or the end of the lease of the present one
  claim   INTEGER,                 -- identifies the present attempt; NULL: there is none
  PRIMARY KEY (webhook, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_queues_by_time ON delivery_queues (webhook, next_at);
