-- What an operator's command asks of the server that uses the store.
--
-- A command changes no accounts behind the server's back: it holds who is logged in in memory. The server looks here once a
-- second and does what is asked for; without a server a command does it by itself, and nothing is written here.

CREATE TABLE orders (
  -- One row for each order, for some minutes.
  id            TEXT NOT NULL PRIMARY KEY,  -- random
  at            INTEGER NOT NULL,
  kind          TEXT NOT NULL,     -- add, disable, enable, resetPassword, erase
  user_id       TEXT,              -- whom it's about, until it's done; who is to be added gets this id
  email         TEXT,              -- who is to be added, until it's done
  password_hash TEXT,              -- the new one, until it's done
  outcome       TEXT,              -- done, noSuchUser, addressTaken; written with what the order changed
  settled_at    INTEGER            -- when what it ended had ended in the server's memory too
) STRICT, WITHOUT ROWID;
