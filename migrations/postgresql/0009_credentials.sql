-- Users without an e-mail address or without a password: anonymous users, and users whose identity is
-- from another issuer.

ALTER TABLE users ALTER COLUMN email DROP NOT NULL, ALTER COLUMN email_key DROP NOT NULL,
  ALTER COLUMN password_hash DROP NOT NULL,
  ADD COLUMN email_verified_at bigint,  -- when the address was verified, here or before an import
  ADD CHECK ((email IS NULL) = (email_key IS NULL));

CREATE TABLE identities (
  -- One row for each user who has an identity of another issuer.
  issuer     text COLLATE "C" NOT NULL,
  subject    text COLLATE "C" NOT NULL,
  user_id    uuid NOT NULL,
  created_at bigint NOT NULL,
  valid_from bigint NOT NULL,  -- tokens that were issued earlier are refused, because their session was ended
  -- The latest time of issue of an accepted token, if it was ahead of the server's clock then.
  latest_issue bigint NOT NULL,
  PRIMARY KEY (issuer, subject)
);

CREATE UNIQUE INDEX identities_by_user ON identities (user_id);
