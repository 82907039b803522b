ALTER TABLE chain_transaction_variant
  -- How many of the transaction's operations are in it, from the first on: 0 for one that only uses up the nonce. Null: all.
  ADD COLUMN operations integer,
  -- Its gas limit. Null: the transaction's.
  ADD COLUMN gas bigint;
