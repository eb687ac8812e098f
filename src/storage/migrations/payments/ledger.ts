// Debts, plans and balance thresholds in the rows of accounts.

import type { MigrationPart } from './payments.ts';

export const ledgerPart: MigrationPart = {
  sqlite: `
    ALTER TABLE account_meters ADD COLUMN debt INTEGER NOT NULL DEFAULT 0 CHECK (debt >= 0);
    ALTER TABLE account_meters ADD COLUMN plan TEXT;
    ALTER TABLE account_meters ADD COLUMN low_balances TEXT;
  `,
  postgres: `
    ALTER TABLE account_meters ADD COLUMN debt bigint NOT NULL DEFAULT 0 CHECK (debt >= 0);
    ALTER TABLE account_meters ADD COLUMN plan text;
    ALTER TABLE account_meters ADD COLUMN low_balances text;
  `,
};
