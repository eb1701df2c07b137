-- The servers that use this store.

CREATE TABLE nodes (
  -- One row for each server that has used the store in the last minutes.
  id         text COLLATE "C" PRIMARY KEY,  -- random, one for each start of a server
  started_at bigint NOT NULL,
  checked_at bigint NOT NULL        -- when the server last proved that the store can be written
) WITH (fillfactor = 50);
