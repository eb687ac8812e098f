// Debts, plans and balance thresholds in the rows of accounts.

import { forBoth } from '../migration-part.ts';

export const ledgerPart = forBoth(`
  ALTER TABLE account_meters ADD COLUMN debt bigint NOT NULL DEFAULT 0 CHECK (debt >= 0);
  ALTER TABLE account_meters ADD COLUMN plan text;
  ALTER TABLE account_meters ADD COLUMN low_balances text;
`);
