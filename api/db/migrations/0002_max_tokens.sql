-- Output tokens that a job's request asked for, at most: after a restart it tells whether an answer was cut short.
ALTER TABLE job ADD COLUMN max_tokens integer;
