-- Webhooks, the events derived for them from the index, and each attempt to deliver one. None of it can be rebuilt from the chain.

CREATE TABLE webhook (
  id            text PRIMARY KEY,             -- wh_ + 32 hex digits
  wallet        text NOT NULL,                -- lower-case address
  url           text NOT NULL,
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
