ALTER TABLE webhook
  -- The secret before this one, and until when attempts take turns between the two; both null but after a rotation.
  ADD COLUMN old_secret bytea,
  ADD COLUMN old_secret_until timestamptz,
  -- Events that its owner added later: name → [block, chain time] of that moment. What was mined until then is not sent.
  ADD COLUMN events_since jsonb NOT NULL DEFAULT '{}',
  ADD CHECK ((old_secret IS NULL) = (old_secret_until IS NULL));
-- A test that its owner asked for: attempted once, and no word on the webhook's health.
ALTER TABLE webhook_delivery ADD COLUMN is_test boolean NOT NULL DEFAULT false;
-- How many deliveries of a webhook arrived lately.
CREATE INDEX webhook_delivery_ended ON webhook_delivery (webhook_id, finished_at) INCLUDE (status, is_test) WHERE status <> 'pending';
