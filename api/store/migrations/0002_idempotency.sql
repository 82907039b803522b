-- An Idempotency-Key names one paid answer of one wallet: a repeated request gets that answer, not a second charge.
CREATE TABLE idempotency (
  wallet      text NOT NULL,
  key         text NOT NULL,
  fingerprint bytea NOT NULL,                 -- SHA-256 of the request's body: the same key with another body is a mistake
  job_id      text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (wallet, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);
