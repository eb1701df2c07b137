-- The servers that use this store, and how they learn of each other's commits.

CREATE TABLE commits (
  -- The changes of each transaction that servers keep in memory, for some minutes. Each server reads the
  -- rows of the others: those that its last snapshot did not see and its present one sees.
  seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid            xid8 NOT NULL DEFAULT pg_current_xact_id(),
  origin         uuid NOT NULL,       -- random, one for each connection of a server
  at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  users          uuid[] NOT NULL DEFAULT '{}',    -- whose states have changed
  numbers        bigint[] NOT NULL DEFAULT '{}',  -- the new numbers of their revisions; NULL: the user was erased
  sessions       uuid[] NOT NULL DEFAULT '{}',    -- that have ended
  session_hashes bytea[] NOT NULL DEFAULT '{}',   -- sessions.token_hash of each of them
  topics         text[] NOT NULL DEFAULT '{}'     -- registeredDefaults, serviceTokens: read these tables again
);

CREATE INDEX commits_by_transaction ON commits (xid);
CREATE INDEX commits_by_age ON commits (at);

-- A transaction now locks its users by advisory locks, and not their rows in heads. So a transaction that
-- waits has no id yet, and journal.place has each user's entries in order.

DROP TABLE nodes;

CREATE TABLE nodes (
  -- One row for each server, and for some minutes after it has ended.
  id          text COLLATE "C" PRIMARY KEY,  -- random, one for each start of a server
  address     text,                 -- the URL at which the other servers reach it
  version     text NOT NULL,
  started_at  bigint NOT NULL,
  checked_at  bigint,               -- when the server last proved that the store can be written
  -- Until then, by the clock of the database, the server may answer from its memory.
  lease_until timestamptz NOT NULL,
  applied     pg_snapshot NOT NULL  -- the server's memory knows of all commits that this snapshot sees
) WITH (fillfactor = 50);
