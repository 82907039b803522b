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
