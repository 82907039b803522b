-- Clients may choose job ids, and ids are public once they are on chain: a second claim on one is a repetition, or somebody else's.
CREATE UNIQUE INDEX idempotency_job ON idempotency (job_id);
