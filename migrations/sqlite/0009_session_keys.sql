-- The session and the revision of a write that changed a user's state. The feed names the keys of a
-- session's own writes, so that a client whose response was lost knows that its write is committed.
ALTER TABLE idempotency_keys ADD COLUMN session_id TEXT;
ALTER TABLE idempotency_keys ADD COLUMN revision INTEGER;

CREATE INDEX idempotency_keys_by_session ON idempotency_keys (user_id, session_id, revision) WHERE revision IS NOT NULL;
