-- When Lockstep cleared the gaps of all pages of this file: unused space in which SQLite may have
-- left copies of deleted rows. NULL if it has not yet. Then the next start of a server does it.
-- Since this migration, Lockstep clears the gap of each page that it writes to the file.
ALTER TABLE store ADD COLUMN gaps_cleared_at INTEGER;
