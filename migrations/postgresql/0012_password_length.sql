-- The fewest characters that a password in this store may have. Servers and commands lower the number,
-- and never raise it. 256 is the highest --password-min.

ALTER TABLE store ADD COLUMN shortest_password integer NOT NULL DEFAULT 256;

-- Earlier versions did not record the option, and imported passwords may have any length.
UPDATE store SET shortest_password = 1 WHERE EXISTS (SELECT 1 FROM users WHERE password_hash IS NOT NULL);
