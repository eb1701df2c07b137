-- Accounts and sessions.
--
-- Ids are UUIDv7: they begin with the time at which they were made, and sort by it. To erase a user,
-- use `lockstep user erase`: no foreign key deletes the user's rows.

CREATE TABLE users (
  id                  uuid PRIMARY KEY,
  email               text NOT NULL,   -- as it was given
  email_key           text COLLATE "C" NOT NULL,  -- in lower case
  password_hash       text NOT NULL,   -- argon2id, with its salt and parameters
  password_version    bigint NOT NULL, -- grows by 1 with each change of the password
  password_changed_at bigint NOT NULL,
  created_at          bigint NOT NULL,
  disabled_at         bigint           -- NULL unless the user is disabled
);

CREATE INDEX users_by_address ON users (email_key);

CREATE TABLE addresses (
  -- The user of each address: addresses are unique. A table of its own, so that it can be distributed by
  -- its own key.
  email_key text COLLATE "C" PRIMARY KEY,
  user_id   uuid NOT NULL
);

CREATE TABLE sessions (
  -- One row for each device that is logged in. The newest uses are in the servers' memory, up to a
  -- minute ahead.
  user_id      uuid NOT NULL,
  id           uuid NOT NULL,
  token_hash   bytea NOT NULL CHECK (length(token_hash) = 32),  -- BLAKE2b-256; the token itself is not stored
  device       text,                   -- the name that the user gave it
  created_at   bigint NOT NULL,
  last_seen_at bigint NOT NULL,        -- to the minute
  expires_at   bigint NOT NULL,        -- grows with each use
  cursor       text,                   -- the last one that the device sent
  PRIMARY KEY (user_id, id)
) WITH (fillfactor = 80);

CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE tokens (
  -- The session of each token. A table of its own, so that it can be distributed by its own key.
  token_hash bytea PRIMARY KEY,
  user_id    uuid NOT NULL,
  session_id uuid NOT NULL
);

CREATE TABLE token_key (
  -- One row: the key of the tags in tokens. Without this row no token is valid.
  only_row integer PRIMARY KEY CHECK (only_row = 1),
  key      bytea NOT NULL CHECK (length(key) = 32)
);

CREATE TABLE service_tokens (
  -- One row for each service token. The token itself is not stored.
  id         text COLLATE "C" PRIMARY KEY,
  name       text NOT NULL,         -- the journal shows it for each change that the token makes
  token_hash bytea NOT NULL CHECK (length(token_hash) = 32),  -- BLAKE2b-256
  scopes     text NOT NULL,         -- separated by spaces: read, write, users, admin
  created_at bigint NOT NULL,
  expires_at bigint                 -- NULL: the token does not expire
);

CREATE UNIQUE INDEX service_tokens_by_name ON service_tokens (lower(name));

CREATE TABLE orders (
  -- The commands of `lockstep user`, for some minutes. A server runs them.
  id            text COLLATE "C" PRIMARY KEY,  -- random
  at            bigint NOT NULL,
  kind          text NOT NULL,    -- add, disable, enable, changeEmail, resetPassword, erase
  user_id       uuid,             -- NULL after the command has run
  email         text,             -- likewise
  password_hash text,             -- the new one; likewise
  outcome       text,             -- done, noSuchUser, addressTaken; written with the change
  settled_at    bigint            -- when the change had reached the memory of all servers
);
