-- The operator's commands go to the server over a Unix socket, and no longer over this table.
DROP TABLE orders;
