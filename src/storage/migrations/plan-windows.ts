// Version 15: windows of lengths that an account's plan lacks, and what reversals returned on a day. null: none.

import type { MigrationPart } from './payments/payments.ts';

export const planWindowColumns: MigrationPart = {
  sqlite: `
    ALTER TABLE account_meters ADD COLUMN past_windows TEXT;
    ALTER TABLE account_meters ADD COLUMN reversals TEXT;
  `,
  postgres: `
    ALTER TABLE account_meters ADD COLUMN past_windows text;
    ALTER TABLE account_meters ADD COLUMN reversals text;
  `,
};
