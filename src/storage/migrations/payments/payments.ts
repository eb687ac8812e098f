// Version 10: debts, plans, payments and events. Each part has the tables of one subject.

import { codesPart } from './codes.ts';
import { eventsPart } from './events.ts';
import { ledgerPart } from './ledger.ts';
import { mailsPart } from './mails.ts';
import { paymentRecordsPart } from './payment-records.ts';

/** The statements of one part, for each database. */
export interface MigrationPart {
  sqlite: string;
  postgres: string;
}

const parts: readonly MigrationPart[] = [ledgerPart, paymentRecordsPart, codesPart, eventsPart, mailsPart];

export const paymentTables: MigrationPart = {
  sqlite: parts.map(({ sqlite }) => sqlite).join('\n'),
  postgres: parts.map(({ postgres }) => postgres).join('\n'),
};
