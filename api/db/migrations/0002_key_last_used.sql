-- When a request came with the key; written once a minute, so that requests wait for nothing. No index: the row stays where it is.
ALTER TABLE api_key ADD COLUMN last_used_at timestamptz;
