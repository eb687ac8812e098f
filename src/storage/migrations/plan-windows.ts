// Version 15: windows of lengths that an account's plan lacks, and what reversals returned on a day. null: none.

import { forBoth } from './migration-part.ts';

export const planWindowColumns = forBoth(`
  ALTER TABLE account_meters ADD COLUMN past_windows text;
  ALTER TABLE account_meters ADD COLUMN reversals text;
`);
