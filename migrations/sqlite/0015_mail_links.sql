-- The links in mails: to choose a new password, or to prove an e-mail address.

CREATE TABLE mail_links (
  -- One row for each link that was sent and not used. The token itself is in no table.
  token_hash BLOB NOT NULL PRIMARY KEY,
  kind       TEXT NOT NULL,     -- the type of the event that has sent it
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  email      TEXT NOT NULL,     -- the address that it was sent to
  email_key  TEXT NOT NULL,     -- in lower case
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_links_by_user ON mail_links (user_id);
CREATE INDEX mail_links_by_end ON mail_links (expires_at);
