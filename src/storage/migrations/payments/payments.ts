// Version 10: debts, plans, payments and events. Each part has the tables of one subject.

import { joined, type MigrationPart } from '../migration-part.ts';
import { codesPart } from './codes.ts';
import { eventsPart } from './events.ts';
import { ledgerPart } from './ledger.ts';
import { mailsPart } from './mails.ts';
import { paymentRecordsPart } from './payment-records.ts';

const tableParts: readonly MigrationPart[] = [paymentRecordsPart, codesPart, eventsPart, mailsPart];
const parts: readonly MigrationPart[] = [ledgerPart, ...tableParts];

export const paymentTables = joined(parts);

/** Version 17: development builds of 25 and 26 November 2026 made version 10 without some of these parts. */
export const missingPaymentTables: MigrationPart = {
  sqlite: tableParts.map(({ sqlite }) => ifMissing(sqlite)).join('\n'),
  postgres: tableParts.map(({ postgres }) => ifMissing(postgres)).join('\n'),
};

function ifMissing(statements: string): string {
  return statements.replaceAll(/CREATE (TABLE|INDEX|UNIQUE INDEX) /g, 'CREATE $1 IF NOT EXISTS ');
}
