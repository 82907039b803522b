-- How a webhook's endpoint answered last. Only prompt ones are sent to without regard to the others' share of the places at once.
-- new: it has not answered yet · prompt: it answered soon · slow: it answered late · silent: it did not answer in time
ALTER TABLE webhook ADD COLUMN pace text NOT NULL DEFAULT 'prompt' CHECK (pace IN ('new', 'prompt', 'slow', 'silent'));
-- Those that are there already have been sent to; the next attempt says how they are.
ALTER TABLE webhook ALTER COLUMN pace SET DEFAULT 'new';
