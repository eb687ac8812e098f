// The door of the migrations: the versions of the stored tables, in order. A version that was
// released is never changed; the next one alters what it made.

import { spine } from './0001-spine.ts';
import { operate } from './0002-operate.ts';
import { reports } from './0003-reports.ts';
import { exactMoney } from './0004-exact-money.ts';
import { retention } from './0005-retention.ts';
import { changes } from './0006-changes.ts';
import { people } from './0007-people.ts';
import { statements } from './0008-statements.ts';
import type { Migration } from './migration.ts';

export const migrations: readonly Migration[] = [
  spine,
  operate,
  reports,
  exactMoney,
  retention,
  changes,
  people,
  statements,
];
