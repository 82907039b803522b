-- What workers did wrong, as this gateway's operators and the worker's page show it. One row an hour for each worker and kind, so
-- that a worker that fails all the time fills no disk. `job_id` and `detail` are those of the latest one.
CREATE TABLE worker_incident (
  worker      text NOT NULL,                  -- lower-case address of its signing key
  code        text NOT NULL,                  -- api/jobs/incident.ts
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
