-- A request without an Idempotency-Key whose client hung up before any byte of its answer: the same request, sent again by the same wallet within
-- a minute, gets that job's answer.
CREATE TABLE abandoned_request (
  job_id    text PRIMARY KEY,
  wallet    text NOT NULL,
  body_hash bytea NOT NULL,                  -- SHA-256 of the body as canonical JSON
  left_at   timestamptz NOT NULL DEFAULT now(),
  joined    boolean NOT NULL DEFAULT false   -- a repetition waits for the answer, at whatever gateway
);
CREATE INDEX abandoned_request_body ON abandoned_request (wallet, body_hash) WHERE NOT joined;
