-- From how many credits on, charged on a UTC day and in a month of UTC, a wallet is told in the application (web/server/spending.ts); null: never.
ALTER TABLE wallet_setting
  ADD COLUMN spend_alert_day   integer CHECK (spend_alert_day > 0),
  ADD COLUMN spend_alert_month integer CHECK (spend_alert_month > 0);
