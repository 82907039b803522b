-- A webhook's URL may hold its receiver's secret. It is encrypted, bound to the id; URLs of before are encrypted at the start (api/db/upkeep.ts).
ALTER TABLE webhook ALTER COLUMN url TYPE bytea USING convert_to(url, 'UTF8');
