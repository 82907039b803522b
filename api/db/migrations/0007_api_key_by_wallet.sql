-- A wallet's newest row says what its next key needs to know, whether it is suspended; others are deleted with each new key.
DELETE FROM api_key AS older USING api_key AS newer
  WHERE older.wallet = newer.wallet AND older.revoked_at IS NOT NULL AND older.created_at < newer.created_at;
CREATE INDEX api_key_wallet ON api_key (wallet);
