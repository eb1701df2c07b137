-- Lost parts of the journal of all users.

-- Which history of the database this is: it differs after a standby was promoted and after a backup was
-- restored. Empty until a server has read it.
ALTER TABLE store ADD COLUMN timeline text NOT NULL DEFAULT '';
-- When the database started, as a server has last seen it. A copy of the data folder that was put back has
-- the same timeline.
ALTER TABLE store ADD COLUMN started text NOT NULL DEFAULT '';
-- When a server has noticed that the timeline is another one.
ALTER TABLE store ADD COLUMN timeline_since timestamptz;

CREATE TABLE journal_gaps (
  -- One row for each change of store.timeline or store.started: the values of journal.place that no entry of the new
  -- history has. An entry whose place lies strictly between them was lost with the old one.
  last_place bigint PRIMARY KEY,    -- of the last entry that the old history has left
  next_place bigint NOT NULL        -- the lowest one that the new history uses
);
