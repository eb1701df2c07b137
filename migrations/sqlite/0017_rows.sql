-- The elements of all collections in two tables, with the columns of a store in PostgreSQL. Until now,
-- favorites, defaults and profiles had tables of their own.
--
-- The views favorites, defaults and profiles at the end are for people. So are the views that have the
-- names of other collections: the server creates one for each.

CREATE TABLE new_list_elements (
  -- One row for each element of a list, in the order of "rank".
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  collection TEXT NOT NULL,     -- favorites, or the name of a module
  id         TEXT NOT NULL,     -- the client's
  element    TEXT NOT NULL,     -- JSON as clients see it
  rank       INTEGER NOT NULL,  -- grows along the list, with gaps; the number itself means nothing
  revision   INTEGER NOT NULL,  -- of the user, at the row's last change: number << 20 | era
  PRIMARY KEY (user_id, collection, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE new_map_values (
  -- One row for each value of a map.
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  collection TEXT NOT NULL,     -- profile, defaults/<suite>, or the name of a module
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,     -- JSON as clients see it
  revision   INTEGER NOT NULL,  -- of the user, at the row's last change
  PRIMARY KEY (user_id, collection, key)
) STRICT, WITHOUT ROWID;

-- The rows are written in the order of the primary keys, so that each page is written once. An element
-- has the bytes that the server wrote until now: data is JSON already, and json_quote escapes the same
-- characters as the server.
--
-- SQLite can undo a statement alone, and keeps the pages for that in memory. OR FAIL does without: the
-- server rolls the whole transaction back. For the same reason, rows are deleted before their table is
-- dropped. Their pages are used again at once.

INSERT OR FAIL INTO new_list_elements (user_id, collection, id, element, rank, revision)
SELECT user_id, module, id, element, rank, revision FROM list_elements
UNION ALL
SELECT
  user_id, 'favorites', id,
  '{"id":' || json_quote(id)
    || CASE WHEN title IS NULL THEN '' ELSE ',"title":' || json_quote(title) END
    || CASE WHEN data IS NULL THEN '' ELSE ',"data":' || data END
    || ',"addedAt":' || json_quote(added_at) || ',"updatedAt":' || json_quote(updated_at) || '}',
  rank, revision
FROM favorites
ORDER BY 1, 2, 3;

DELETE FROM favorites;
DELETE FROM list_elements;
DROP TABLE favorites;
DROP TABLE list_elements;

INSERT OR FAIL INTO new_map_values (user_id, collection, key, value, revision)
SELECT user_id, module, key, value, revision FROM map_values
UNION ALL SELECT user_id, 'defaults/' || suite, key, value, revision FROM defaults
UNION ALL SELECT user_id, 'profile', field, value, revision FROM profiles
ORDER BY 1, 2, 3;

DELETE FROM map_values;
DELETE FROM defaults;
DELETE FROM profiles;
DROP TABLE map_values;
DROP TABLE defaults;
DROP TABLE profiles;

ALTER TABLE new_list_elements RENAME TO list_elements;
ALTER TABLE new_map_values RENAME TO map_values;

-- The migrations of tables that modules had. A store in which it has rows is refused.
DROP TABLE module_migrations;

CREATE VIEW heads AS
  -- One row for each user: the end of the user's history. The last entry of a journal is never pruned.
  SELECT u.id AS user_id, coalesce(j.revision >> 20, 0) AS number, coalesce(j.revision & 1048575, 0) AS era,
    coalesce(j.written, 0) AS written
  FROM users AS u LEFT JOIN journal AS j ON j.number = (
    SELECT number FROM journal WHERE user_id = u.id ORDER BY revision DESC, position DESC LIMIT 1
  );

CREATE VIEW favorites AS
  SELECT user_id, id, element ->> '$.title' AS title, element -> '$.data' AS data,
    element ->> '$.addedAt' AS added_at, element ->> '$.updatedAt' AS updated_at, rank, revision
  FROM list_elements WHERE collection = 'favorites';

CREATE VIEW defaults AS
  SELECT user_id, substr(collection, 10) AS suite, key, value, revision
  FROM map_values WHERE collection >= 'defaults/' AND collection < 'defaults0';

CREATE VIEW profiles AS
  SELECT user_id, key AS field, value, revision FROM map_values WHERE collection = 'profile';
