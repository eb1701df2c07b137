-- How long each user's history has become, so that the oldest of it can go where there is too much.
--
-- "written" grows with each entry by what that takes as text; what lies between two entries is their difference. It stands
-- before the texts, which may be long: to read it nothing of them has to be read.
CREATE TABLE journal_with_sizes (
  -- One row for each action that changed something, in the order in which they were done.
  number     INTEGER PRIMARY KEY,  -- of everybody's
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  revision   INTEGER NOT NULL,     -- number << 20 | era
  position   INTEGER NOT NULL,     -- the action's among those of its transaction, from 0
  written    INTEGER NOT NULL DEFAULT 0,  -- bytes of the user's actions and mutations from the first one on, with these
  collection TEXT NOT NULL,        -- favorites, profile, defaults/<suite>
  at         INTEGER NOT NULL,
  session_id TEXT,                 -- whose device asked for it
  action     TEXT NOT NULL,        -- JSON: {"type": …, "payload": …}, what was asked for
  mutations  TEXT NOT NULL,        -- JSON: an array of {"type": …, "payload": …}, what did happen
  UNIQUE (user_id, revision, position)
) STRICT;

INSERT INTO journal_with_sizes
  (number, user_id, revision, position, written, collection, at, session_id, action, mutations)
SELECT
  number, user_id, revision, position,
  sum(action_bytes + mutations_bytes) OVER (PARTITION BY user_id ORDER BY revision, position),
  collection, at, session_id, action, mutations
FROM (
  SELECT
    *, length(CAST(action AS BLOB)) AS action_bytes, length(CAST(mutations AS BLOB)) AS mutations_bytes
  FROM journal
)
ORDER BY number;

DROP TABLE journal;
ALTER TABLE journal_with_sizes RENAME TO journal;
