-- The gateway's own tables: what cannot be rebuilt from the chain (keys), and what must survive a crash of the process
-- between two steps of a job (jobs, transactions). Everything a client can list comes from the index; jobs rows overlay it.

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
