-- `lockstep collections` asks the server that uses the store to change the declared collections. The kind
-- of such a row is "collections". Its outcome is "running" from the beginning of the work to its end.
ALTER TABLE orders ADD COLUMN work TEXT;   -- JSON: the declarations, or the name to delete; NULL after the work
ALTER TABLE orders ADD COLUMN reply TEXT;  -- JSON: what has changed, or why it was refused
