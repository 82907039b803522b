-- The row of the job has the transaction that opened its dispute.
ALTER TABLE dispute_request DROP COLUMN dispute_tx;
