-- Dispute requests by the time they arrived: the client's window is judged by the first arrival of a hash, whatever happens
-- to the request after it (a settlement that is not there yet, a crash, another gateway process).
CREATE TABLE dispute_request (
  job_id        text NOT NULL,
  received_hash text NOT NULL,                -- 0x + 64 hex digits
  wallet        text NOT NULL,
  gateway       text NOT NULL,                -- signer of the gateway that decides it
  arrived_at    timestamptz NOT NULL,
  -- null: not answered, to be taken up by that gateway · opened · equal · why it was refused (api/disputes/decide.ts)
  outcome       text,
  dispute_tx    text,
  updated_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (job_id, received_hash)
);
CREATE INDEX dispute_request_open ON dispute_request (gateway) WHERE outcome IS NULL;
CREATE INDEX dispute_request_age ON dispute_request (updated_at);
