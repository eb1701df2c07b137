-- Revisions that name their era, and a journal that grows at its end.
--
-- Until now a revision was a plain number. Where an old copy of the store is put in the place of the present one, numbers
-- that were given out since are given out again, for other transactions, and a client that remembers one of the lost history
-- couldn't be told from one that is up to date. From now on a revision is number * 1048576 + era: the era is 20 random bits
-- that each start of a server makes anew, and 0 for what is here already. Read the number with: revision >> 20

UPDATE favorites SET revision = revision << 20;
UPDATE defaults SET revision = revision << 20;
UPDATE profiles SET revision = revision << 20;
UPDATE removals SET revision = revision << 20;
UPDATE registered_defaults SET revision = revision << 20;

UPDATE snapshots SET
  revision = revision << 20,
  state = CASE state ->> '$.kind'
    WHEN 'list' THEN json_object(
      'kind', 'list',
      'revision', (state ->> '$.revision') << 20,
      'items', (
        SELECT json_group_array(json_array((value ->> '$[0]') << 20, value -> '$[1]'))
        FROM (SELECT value FROM json_each(snapshots.state, '$.items') ORDER BY key)
      )
    )
    ELSE json_object(
      'kind', 'map',
      'revision', (state ->> '$.revision') << 20,
      'values', (
        SELECT json_group_array(json_array(value ->> '$[0]', (value ->> '$[1]') << 20, value -> '$[2]'))
        FROM (SELECT value FROM json_each(snapshots.state, '$.values') ORDER BY key)
      )
    )
  END;

-- The journal was kept in the order of its users: each write changed two to three pages of its own. In the order in which
-- things happened the writes of many users share a page, and the index by user has room for many entries in each.
CREATE TABLE journal_by_time (
  -- One row for each action that changed something, in the order in which they were done.
  number     INTEGER PRIMARY KEY,  -- of everybody's
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  revision   INTEGER NOT NULL,
  position   INTEGER NOT NULL,     -- within its transaction, from 0
  collection TEXT NOT NULL,        -- favorites, profile, defaults/<suite>
  at         INTEGER NOT NULL,
  session_id TEXT,                 -- whose device asked for it
  action     TEXT NOT NULL,        -- JSON: {"type": …, "payload": …}, what was asked for
  mutations  TEXT NOT NULL,        -- JSON: an array of {"type": …, "payload": …}, what did happen
  UNIQUE (user_id, revision, position)
) STRICT;

INSERT INTO journal_by_time (user_id, revision, position, collection, at, session_id, action, mutations)
SELECT user_id, revision << 20, position, collection, at, session_id, action, mutations FROM journal
ORDER BY at, user_id, revision, position;

DROP TABLE journal;
ALTER TABLE journal_by_time RENAME TO journal;
