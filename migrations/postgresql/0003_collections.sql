-- The users' states: their elements now, and the journal of all changes.
--
-- A user's state has one revision, whose number grows by 1 with each transaction that changes the
-- state. The tables below and the journal are always written in the same transaction, so the journal,
-- replayed, gives exactly the contents of the tables. A column "revision" has number << 20 | era.
-- The era is 20 random bits of the server's connection, and distinguishes a lost history. Read the
-- number with: revision >> 20

CREATE TABLE heads (
  -- One row for each user: the end of the user's history. Each transaction locks its users' rows first,
  -- in the order of the ids.
  user_id uuid PRIMARY KEY,
  number  bigint NOT NULL,
  era     integer NOT NULL,
  written bigint NOT NULL           -- see journal.written
) WITH (fillfactor = 50);

CREATE TABLE list_elements (
  -- One row for each element of a list, in the order of "rank".
  user_id    uuid NOT NULL,
  collection text COLLATE "C" NOT NULL,  -- favorites, or the name of a module
  id         text COLLATE "C" NOT NULL,  -- the client's
  element    text NOT NULL,         -- JSON as clients see it
  rank       bigint NOT NULL,       -- grows along the list, with gaps; the number itself means nothing
  revision   bigint NOT NULL,       -- of the user, at the row's last change
  PRIMARY KEY (user_id, collection, id)
) WITH (fillfactor = 80);

CREATE TABLE map_values (
  -- One row for each value of a map.
  user_id    uuid NOT NULL,
  collection text COLLATE "C" NOT NULL,  -- profile, defaults/<suite>, or the name of a module
  key        text COLLATE "C" NOT NULL,
  value      text NOT NULL,         -- JSON as clients see it
  revision   bigint NOT NULL,       -- of the user, at the row's last change
  PRIMARY KEY (user_id, collection, key)
) WITH (fillfactor = 80);

CREATE VIEW favorites AS
  SELECT user_id, id, element::json ->> 'title' AS title, element::json -> 'data' AS data,
    element::json ->> 'addedAt' AS added_at, element::json ->> 'updatedAt' AS updated_at, rank, revision
  FROM list_elements WHERE collection = 'favorites';

CREATE VIEW defaults AS
  SELECT user_id, substr(collection, 10) AS suite, key, value::json AS value, revision
  FROM map_values WHERE starts_with(collection, 'defaults/');

CREATE VIEW profiles AS
  SELECT user_id, key AS field, value::json AS value, revision FROM map_values WHERE collection = 'profile';

CREATE TABLE removals (
  -- The last change of each collection that removed a row or wrote none.
  user_id    uuid NOT NULL,
  collection text COLLATE "C" NOT NULL,
  revision   bigint NOT NULL,
  PRIMARY KEY (user_id, collection)
) WITH (fillfactor = 80);

CREATE TABLE registered_defaults (
  -- The registered defaults and their history: the row with the highest revision counts.
  suite    text COLLATE "C" NOT NULL,
  key      text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,         -- of the registered defaults as a whole; not of a user
  value    text,                    -- JSON; NULL if the value was removed
  at       bigint NOT NULL,
  PRIMARY KEY (suite, key, revision)
);

CREATE TABLE journal (
  -- One row for each action that changed something.
  user_id    uuid NOT NULL,
  number     bigint NOT NULL,       -- of the user's revision
  position   integer NOT NULL,      -- of the action in its transaction, from 0
  era        integer NOT NULL,      -- of the user's revision
  written    bigint NOT NULL,       -- bytes of all the user's actions and mutations up to this entry
  -- In the journal of all users: (transaction id + store.journal_offset) << 20 | index in the
  -- transaction. An entry counts when all transactions with lower ids have ended.
  place      bigint NOT NULL,
  collection text NOT NULL,         -- favorites, profile, defaults/<suite>
  at         bigint NOT NULL,
  session_id uuid,                  -- of the device that made the change; NULL for a service token
  acted_by   text,                  -- the name of the service token, or "administrator"
  action     text NOT NULL,         -- JSON: {"type": …, "payload": …}, the request
  mutations  text NOT NULL,         -- JSON: an array of {"type": …, "payload": …}, the changes
  PRIMARY KEY (user_id, number, position)
);

CREATE INDEX journal_by_place ON journal (place);

CREATE TABLE snapshots (
  -- Collections at past revisions, so that the past can be rebuilt without the whole journal. If the
  -- beginning of the journal was pruned, the oldest snapshot replaces it.
  user_id    uuid NOT NULL,
  collection text COLLATE "C" NOT NULL,
  revision   bigint NOT NULL,       -- of the user: the collection after it
  state      text NOT NULL,         -- JSON, as in SQLite
  PRIMARY KEY (user_id, collection, revision)
);

CREATE TABLE idempotency_keys (
  -- The responses to users' writes with an Idempotency-Key, for 24 hours. If a response contains a
  -- token, its body is encrypted with a key that is derived from the user's password.
  user_id     uuid NOT NULL,
  key         text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,       -- of the request
  at          bigint NOT NULL,
  status      integer NOT NULL,
  fields      bytea NOT NULL,       -- the response's header fields as sent
  body        bytea,
  session_id  uuid,                 -- of a write that changed the state
  revision    bigint,               -- after that write
  PRIMARY KEY (user_id, key)
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);
CREATE INDEX idempotency_keys_by_session ON idempotency_keys (user_id, session_id, revision) WHERE revision IS NOT NULL;

CREATE TABLE outsider_keys (
  -- The same for writes of the administrator and of clients without a user, such as a sign-up.
  id          bytea PRIMARY KEY CHECK (length(id) = 32),  -- a hash of the key and of its owner
  fingerprint bytea NOT NULL,
  at          bigint NOT NULL,
  status      integer NOT NULL,
  fields      bytea NOT NULL,
  body        bytea
);

CREATE INDEX outsider_keys_by_age ON outsider_keys (at);
