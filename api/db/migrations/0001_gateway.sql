-- The gateway's own tables: what cannot be rebuilt from the chain (keys), and what must survive a crash of the process
-- between two steps of a job (jobs, transactions). Everything a client can list comes from the index; jobs rows overlay it.
-- The file's name is in the table `migration`: until a first release, a change of this file takes another name.

CREATE TABLE api_key (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  key_hash    bytea NOT NULL UNIQUE,          -- SHA-256 of the key; the key itself is shown once and never stored
  wallet      text NOT NULL,                  -- lower-case address
  hint        text NOT NULL,                  -- last four characters, to tell keys apart in the web application
  created_at  timestamptz NOT NULL DEFAULT now(),
  revoked_at  timestamptz,
  suspended_at timestamptz
);
-- One key per wallet (beta): at most one that is not revoked.
CREATE UNIQUE INDEX api_key_one_live ON api_key (wallet) WHERE revoked_at IS NULL;

CREATE TABLE job (
  job_id            text PRIMARY KEY,         -- job_ + 32 hex digits
  wallet            text NOT NULL,
  gateway           text NOT NULL,            -- signer of the gateway that runs it, or claimed it
  operator          integer NOT NULL,         -- whose signer that is: only its signers can end the job
  owner             uuid NOT NULL,            -- the process that runs it; no other one writes its steps
  model             text NOT NULL,
  tier              text NOT NULL,
  -- locking: lock not mined yet · pending/processing/settling: as the client sees it · settled/failed/refunded: over
  -- unlocked: the lock never happened, nothing was charged
  state             text NOT NULL,
  updated_at        timestamptz NOT NULL DEFAULT now(),
  valid_until       bigint NOT NULL,          -- chain time before which the lock must be mined
  locked_at         bigint,                   -- chain time of the lock
  credits_locked    integer NOT NULL,
  escrow_tx         text,
  attempt           smallint NOT NULL DEFAULT 0, -- the last on record
  worker            text,                     -- its worker's signing key
  acknowledgement   text,                     -- that worker's signature that it took the attempt
  counted_tokens    integer,                  -- output tokens as the gateway bounds them
  completion        jsonb,                    -- {completion, signature, finish_reason}
  final_token_at    timestamptz,
  output            bytea,                    -- the answer, encrypted; erased after the retention time
  output_expires_at timestamptz,
  credits_charged   integer,
  settlement_tx     text,                     -- mined hash only
  settlement_block  bigint,
  settled_at        bigint,                   -- chain time of the settlement
  refund_tx         text,
  dispute_tx        text,                     -- with which this service opened a dispute; mined hash only
  max_tokens        integer,                  -- of the answer, at most; null if it limits reasoning too
  repeatable        boolean NOT NULL DEFAULT false, -- its request can be sent again for the same job, and gets its answer
  client_left       boolean NOT NULL DEFAULT false, -- nobody waits for the answer any more
  sent_hash         text,                     -- SHA-256 of the text that its client was sent
  sent_complete     boolean,                  -- whether that was the whole reply
  failure           text                      -- why its client got an error: such a job is never charged
);
CREATE INDEX job_unfinished ON job (gateway) WHERE state IN ('locking', 'pending', 'processing', 'settling');
-- What a balance adds for settlements on their way (api/chain/balances.ts).
CREATE INDEX job_settling ON job (wallet, job_id DESC) WHERE state = 'settling';
CREATE INDEX job_wallet ON job (wallet, job_id DESC);
CREATE INDEX job_output_expiry ON job (output_expires_at) WHERE output IS NOT NULL;

-- One row a nonce, written with the signed bytes before they are broadcast: two processes can never use one nonce.
CREATE TABLE chain_transaction (
  signer      text NOT NULL,
  nonce       bigint NOT NULL,
  items       jsonb NOT NULL,                 -- [{kind, jobId, data}]
  gas         bigint NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  -- Where it was seen mined, all null until then. Hash 0x without a block hash: another transaction used the nonce.
  mined_hash  text,
  mined_block bigint,
  mined_block_hash text,
  PRIMARY KEY (signer, nonce)
);
CREATE INDEX chain_transaction_open ON chain_transaction (signer, nonce) WHERE mined_hash IS NULL;

-- Every signed variant of a transaction (first and fee replacements); kept until finality.
CREATE TABLE chain_transaction_variant (
  hash        text PRIMARY KEY,
  signer      text NOT NULL,
  nonce       bigint NOT NULL,
  raw         text NOT NULL,
  max_fee     numeric NOT NULL,
  priority_fee numeric NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (signer, nonce) REFERENCES chain_transaction ON DELETE CASCADE
);
CREATE INDEX chain_transaction_variant_nonce ON chain_transaction_variant (signer, nonce);

-- The chain and deployment that jobs and transactions above belong to: one row.
CREATE TABLE incarnation (name text PRIMARY KEY);

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
-- Clients may choose job ids, and ids are public once they are on chain: a second claim on one is a repetition, or somebody else's.
CREATE UNIQUE INDEX idempotency_job ON idempotency (job_id);

-- Dispute requests by the time they arrived, one a job: the client's window is judged by the first arrival of its hash, whatever happens
-- to the request after it (a settlement that is not there yet, a crash, another gateway process).
CREATE TABLE dispute_request (
  job_id        text PRIMARY KEY,
  received_hash text NOT NULL,                -- 0x + 64 hex digits
  wallet        text NOT NULL,
  gateway       text NOT NULL,                -- signer of the gateway that decides it
  arrived_at    timestamptz NOT NULL,
  -- null: not answered, to be taken up by that gateway · opened · equal · why it was refused (api/disputes/decide.ts)
  outcome       text,
  dispute_tx    text,
  updated_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dispute_request_open ON dispute_request (gateway) WHERE outcome IS NULL;
CREATE INDEX dispute_request_age ON dispute_request (updated_at);

-- Webhooks, the events derived for them from the index, and each attempt to deliver one. None of it can be rebuilt from the chain.

CREATE TABLE webhook (
  id            text PRIMARY KEY,             -- wh_ + 32 hex digits
  wallet        text NOT NULL,                -- lower-case address
  url           bytea NOT NULL,               -- encrypted, bound to the id: it may hold its receiver's secret
  events        text[] NOT NULL,
  secret        bytea NOT NULL,               -- encrypted, bound to the id
  status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'failed')),
  created_at    timestamptz NOT NULL DEFAULT now(),
  -- Newest block (number, chain time) at its creation: what was mined until then is none of its business.
  created_block bigint NOT NULL,
  created_time  bigint NOT NULL,
  -- The same for the last time it was enabled: what was mined until then is recorded, not sent.
  enabled_block bigint NOT NULL,
  enabled_time  bigint NOT NULL
);
CREATE INDEX webhook_wallet ON webhook (wallet, created_at);

-- One event, with the exact bytes that every delivery of it sends.
CREATE TABLE webhook_event (
  id            text PRIMARY KEY,             -- evt_ + digest of what the event is
  name          text NOT NULL,                -- job.completed, …
  occurred_at   timestamptz NOT NULL,         -- time of its block
  body          text NOT NULL
);
CREATE INDEX webhook_event_age ON webhook_event (occurred_at);

CREATE TABLE webhook_delivery (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id    text NOT NULL REFERENCES webhook ON DELETE CASCADE,
  event_id      text NOT NULL REFERENCES webhook_event,
  -- pending: to be sent at next_attempt_at · delivered: answered 2xx · failed: five attempts failed
  -- skipped: never sent, or no more, because the webhook had failed; can be replayed like the others
  status        text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'skipped')),
  next_attempt_at timestamptz,                -- while an attempt runs: when it counts as lost
  attempt       integer NOT NULL DEFAULT 0,   -- number of the last attempt begun; it runs while webhook_attempt has no row of it
  first_attempt integer NOT NULL DEFAULT 1,   -- number of the first attempt since the last replay
  created_at    timestamptz NOT NULL DEFAULT now(),
  finished_at   timestamptz,
  UNIQUE (webhook_id, event_id),
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_delivery_log ON webhook_delivery (webhook_id, id DESC);
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id);
CREATE INDEX webhook_delivery_finished ON webhook_delivery (finished_at) WHERE status <> 'pending';

CREATE TABLE webhook_attempt (
  delivery_id   bigint NOT NULL REFERENCES webhook_delivery ON DELETE CASCADE,
  number        integer NOT NULL,
  started_at    timestamptz NOT NULL,
  duration_ms   integer,                      -- null if its end is not known
  status        integer,                      -- of the answer; null without one
  response      text,                         -- first bytes of the answer
  error         text,                         -- why it failed; null if it did not
  PRIMARY KEY (delivery_id, number)
);

-- How far events are derived, for each deployment this database has served: one row in use.
CREATE TABLE webhook_watermark (
  deployment    text PRIMARY KEY,
  block         bigint NOT NULL
);

-- What a wallet sets for itself. A new threshold holds for what is mined after it; what was before is judged by the old one.
CREATE TABLE wallet_setting (
  wallet             text PRIMARY KEY,
  low_credit_threshold integer NOT NULL DEFAULT 100 CHECK (low_credit_threshold >= 0),
  threshold_before   integer NOT NULL DEFAULT 100,
  threshold_block    bigint NOT NULL DEFAULT 0,
  threshold_time     bigint NOT NULL DEFAULT 0
);

-- Sessions of the web application: a wallet signed in (EIP-4361). Only the token's hash is stored, as with API keys.
CREATE TABLE web_session (
  token_hash  bytea PRIMARY KEY,              -- SHA-256 of the cookie's value
  wallet      text NOT NULL,                  -- lower-case address
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL
);
CREATE INDEX web_session_expiry ON web_session (expires_at);

-- Nonces that were used to sign in. Nonces are authenticated by the server, so only used ones need a row, until they expire.
CREATE TABLE web_nonce (
  nonce       text PRIMARY KEY,
  expires_at  timestamptz NOT NULL
);

-- What workers did wrong, as this gateway's operators and the worker's page show it. One row an hour for each worker and kind, so
-- that a worker that fails all the time fills no disk. `job_id` and `detail` are those of the latest one.
CREATE TABLE worker_incident (
  worker      text NOT NULL,                  -- lower-case address of its signing key
  code        text NOT NULL,                  -- api/db/incidents.ts
  hour        timestamptz NOT NULL,           -- start of the hour
  occurrences integer NOT NULL DEFAULT 1,
  first_at    timestamptz NOT NULL DEFAULT now(),
  last_at     timestamptz NOT NULL DEFAULT now(),
  job_id      text,
  detail      text NOT NULL,                  -- at most 200 characters, one line
  PRIMARY KEY (worker, code, hour)
);
CREATE INDEX worker_incident_latest ON worker_incident (worker, last_at DESC);
CREATE INDEX worker_incident_age ON worker_incident (last_at);
