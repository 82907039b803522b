-- Attempts with what the receiver answered: beyond a number of them it is erased.
CREATE INDEX webhook_attempt_answered ON webhook_attempt (delivery_id, number, started_at) WHERE response IS NOT NULL;
