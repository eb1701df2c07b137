-- Users without an e-mail address or without a password: anonymous users, and users whose identity is
-- from another issuer.

CREATE TABLE new_users (
  id                  TEXT NOT NULL PRIMARY KEY,
  email               TEXT,              -- as it was given; NULL: the user has none
  email_key           TEXT UNIQUE,       -- in lower case
  email_verified_at   INTEGER,           -- when the address was verified, here or before an import; NULL: not
  password_hash       TEXT,              -- argon2id, or the hash of another system; NULL: the user has none
  password_version    INTEGER NOT NULL,  -- grows by 1 with each change of the password
  password_changed_at INTEGER NOT NULL,
  created_at          INTEGER NOT NULL,
  disabled_at         INTEGER,           -- NULL unless the user is disabled
  CHECK ((email IS NULL) = (email_key IS NULL))
) STRICT, WITHOUT ROWID;

INSERT INTO new_users
  (id, email, email_key, password_hash, password_version, password_changed_at, created_at, disabled_at)
SELECT id, email, email_key, password_hash, password_version, password_changed_at, created_at, disabled_at FROM users;

-- Dropping the table would delete the rows of other tables that refer to it, so the server applies
-- migrations while foreign keys are off.
DROP TABLE users;
ALTER TABLE new_users RENAME TO users;

CREATE TABLE identities (
  -- One row for each user who has an identity of another issuer.
  issuer     TEXT NOT NULL,
  subject    TEXT NOT NULL,
  user_id    TEXT NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  valid_from INTEGER NOT NULL,  -- tokens that were issued earlier are refused, because their session was ended
  -- The latest time of issue of an accepted token, if it was ahead of the server's clock then.
  latest_issue INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
