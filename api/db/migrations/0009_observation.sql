-- What this service's gateways saw of models and workers, summed by the hour and by the UTC day: hours are kept for eight days, days for 400
-- (api/db/observations.ts). No job's content is in it.
CREATE TABLE observation (
  span           text NOT NULL,               -- hour · day
  start          timestamptz NOT NULL,
  model          integer NOT NULL,
  worker         text NOT NULL,               -- lower-case address; '' for the model as clients met it, whoever answered
  looks          integer NOT NULL,            -- how often a gateway looked whether it can be asked, and how often it could
  up             integer NOT NULL,
  requests       integer NOT NULL,            -- of a worker: attempts; of a model: jobs whose client neither left nor was refused
  failures       integer NOT NULL,
  first_tokens   integer NOT NULL,
  first_token_ms bigint NOT NULL,             -- their sum: of a worker from the offer, of a model from the request
  tokens         bigint NOT NULL,             -- of whole answers, and the time from the first token to the last
  token_ms       bigint NOT NULL,
  PRIMARY KEY (span, model, start, worker)
);
CREATE INDEX observation_worker ON observation (worker, span, start);
CREATE INDEX observation_start ON observation (span, start);
