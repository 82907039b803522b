-- A wallet has a bounded number of sessions: the oldest ones are found by it (web/server/sessions.ts).
CREATE INDEX web_session_wallet ON web_session (wallet, created_at);
