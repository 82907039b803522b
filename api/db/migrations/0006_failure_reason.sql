-- Why the client of a job got an error, as `fail` takes it; `timeout` is refunded. Before, the words in `failure` had to say it.
ALTER TABLE job ADD COLUMN failure_reason text;
UPDATE job SET failure_reason = CASE failure WHEN 'job_timeout' THEN 'timeout' ELSE 'answer_lost' END WHERE failure IS NOT NULL;
