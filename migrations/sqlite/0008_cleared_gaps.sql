-- When Lockstep cleared the gaps of all pages of this file: unused space in which SQLite may have
-- left copies of deleted rows. NULL until then: the next start of the server clears them. Since this
-- migration, Lockstep clears the gap of each page before it writes the page to the file.
ALTER TABLE store ADD COLUMN gaps_cleared_at INTEGER;
