-- The log of an attempt has what was signed, and the headers of the answer, so that a receiver's owner can find a fault without us.
ALTER TABLE webhook_attempt ADD COLUMN signature text, ADD COLUMN response_headers text;
