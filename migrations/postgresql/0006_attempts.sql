-- Attempts with passwords, counted for all servers together.

CREATE UNLOGGED TABLE attempts (
  -- One row for each limit that is in use, and for each network from which a user has logged in. The
  -- table is not logged, because it is written before each password is verified: after a crash of the
  -- database it is empty.
  key   bytea PRIMARY KEY CHECK (length(key) = 16),  -- a keyed hash: of a network, an account, or both
  -- In nanoseconds since 1970, by the clock of the database. Of a limit: when all its attempts are
  -- allowed again. Of a network: how long the user's logins from it count as recent.
  until bigint NOT NULL
);

CREATE INDEX attempts_by_end ON attempts (until);
