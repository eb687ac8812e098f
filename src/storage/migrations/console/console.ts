// Version 11: what the console shows of traffic. Each part has the tables of one subject.

import type { MigrationPart } from '../payments/payments.ts';
import { refusalsPart } from './refusals.ts';

const parts: readonly MigrationPart[] = [refusalsPart];

export const consoleTables: MigrationPart = {
  sqlite: parts.map(({ sqlite }) => sqlite).join('\n'),
  postgres: parts.map(({ postgres }) => postgres).join('\n'),
};
