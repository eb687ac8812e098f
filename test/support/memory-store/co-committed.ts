// Writes rows of other modules within the ledger's transaction, and refuses what a table would.

import { BrokenInvariant } from '../../../src/base/assert.ts';
import { bounds } from '../../../src/config.ts';
import { Outpaced } from '../../../src/ledger/ledger.ts';
import type { PaymentRow } from '../../../src/payments/payments.ts';
import type { CoCommittedRow } from '../../../src/storage/co-committed.ts';
import { refuseOutpacedCode, writeCodes } from './codes.ts';
import { carryEntries, forgetRows, refuseWrongDrop } from './drop-rows.ts';
import { isDestinationOutpaced, writeEventRow } from './event-rows.ts';
import { isOutpaced, writePaymentRow } from './payments.ts';
import type { MemoryTables } from './tables.ts';

type Dropping = Extract<CoCommittedRow, { forget: unknown } | { carry: unknown }>;
type RowOf<Table extends CoCommittedRow['table']> = Exclude<Extract<CoCommittedRow, { table: Table }>, Dropping>;

/** Throws BrokenInvariant for a row that the tables cannot take after those `before` it, such as a secret that another key has. */
export function refuseWrongRow(tables: MemoryTables, row: CoCommittedRow, before: readonly CoCommittedRow[]): void {
  if ('forget' in row || 'carry' in row) {
    refuseWrongDrop(tables, row);
    return;
  }
  if (isPaymentRow(row)) {
    if (isOutpaced(tables, row)) throw new Outpaced(`the table ${row.table} cannot take this row`);
    return;
  }
  if (row.table === 'codes') refuseOutpacedCode(tables, row, before);
  if (isDestinationOutpaced(tables, row)) throw new Outpaced('the destination has changed since it was read');
  const isTaken =
    (row.table === 'key_secrets' && tables.keySecrets.has(row.secretHash)) ||
    (row.table === 'tokens' &&
      row.secretHash !== null &&
      [...tables.tokens.values()].some(({ secretHash }) => secretHash === row.secretHash)) ||
    (row.table === 'people' && isTakenFrom(tables, row, before)) ||
    (row.table === 'installation' && (tables.installation.get(row.name) ?? null) !== row.replaces);
  if (isTaken) throw new BrokenInvariant(`the table ${row.table} cannot take this row`);
}

function isPaymentRow(row: CoCommittedRow): row is Exclude<PaymentRow, Dropping> {
  return row.table === 'payments' || row.table === 'billing' || (row.table === 'payment_events' && 'event' in row);
}

/** Whether another person has its email or its link, as people are after the rows before it. */
function isTakenFrom({ people }: MemoryTables, row: RowOf<'people'>, before: readonly CoCommittedRow[]): boolean {
  const standing = new Map(people);
  for (const earlier of before)
    if ('table' in earlier && earlier.table === 'people' && 'person' in earlier) writePerson(standing, earlier);
  const { person, link } = row;
  const linkHash = link === 'as it is' ? null : link.hash;
  return [...standing.values()].some(
    (other) =>
      other.person.id !== person.id &&
      ((person.email !== null && other.person.email === person.email) ||
        (linkHash !== null && other.linkHash === linkHash)),
  );
}

function writePerson(people: MemoryTables['people'], { person, link }: RowOf<'people'>): void {
  const linkHash = link === 'as it is' ? (people.get(person.id)?.linkHash ?? null) : link.hash;
  people.set(person.id, { person, linkHash });
}

/** Writes one row that the tables can take. */
export function writeCoCommitted(tables: MemoryTables, row: CoCommittedRow): void {
  if ('forget' in row) {
    forgetRows(tables, row.table, row.forget.beforeMs);
    return;
  }
  if ('carry' in row) {
    carryEntries(tables, row.carry.account, row.carry.beforeMs);
    return;
  }
  switch (row.table) {
    case 'accounts':
      tables.accounts.set(row.account.id, row.account);
      break;
    case 'keys':
      tables.keys.set(row.key.id, row.key);
      break;
    case 'key_secrets':
      writeKeySecret(tables, row);
      break;
    case 'tokens': {
      const secretHash = row.secretHash ?? tables.tokens.get(row.token.id)?.secretHash;
      if (secretHash !== undefined) tables.tokens.set(row.token.id, { token: row.token, secretHash });
      break;
    }
    case 'people':
      writePerson(tables.people, row);
      break;
    case 'installation':
      tables.installation.set(row.name, row.value);
      break;
    case 'catalog':
      if ('put' in row) tables.catalog.set(`${row.put.kind} ${row.put.name}`, row.put);
      else tables.catalog.delete(`${row.remove.kind} ${row.remove.name}`);
      break;
    case 'learned':
      tables.learned.set(row.model, row.document);
      break;
    case 'answers':
      writeAnswer(tables, row);
      break;
    case 'audit_records':
      tables.audit.push(row.record);
      break;
    case 'creations':
      writeCreation(tables, row);
      break;
    case 'payments':
    case 'billing':
    case 'payment_events':
      writePaymentRow(tables, row);
      break;
    case 'code_batches':
    case 'codes':
      writeCodes(tables, row);
      break;
    case 'events':
    case 'destinations':
    case 'deliveries':
      writeEventRow(tables, row);
      break;
    case 'facts':
      tables.installation.set(row.name, row.to);
      break;
    case 'leader':
    case 'changes':
      break; // one process tells itself
  }
}

function writeCreation({ creations }: MemoryTables, row: RowOf<'creations'>): void {
  const creation = 'resealed' in row ? row.resealed : row.creation;
  if ('forgetUntilMs' in row)
    for (const [name, { atMs }] of creations) if (atMs <= row.forgetUntilMs) creations.delete(name);
  creations.set(`${creation.principal} ${creation.idempotencyKey}`, creation);
}

function writeAnswer({ answers }: MemoryTables, { answer }: RowOf<'answers'>): void {
  if (answers.has(answer.requestId)) return;
  answers.set(answer.requestId, answer);
  let stored = 0;
  for (const { bytes } of answers.values()) stored += bytes;
  for (const [requestId, { bytes }] of answers) {
    if (stored <= bounds.answersStoredBytesMax) return;
    answers.delete(requestId);
    stored -= bytes;
  }
}

function writeKeySecret(tables: MemoryTables, row: RowOf<'key_secrets'>): void {
  const { keyId, secretHash, othersEndAtMs } = row;
  if (othersEndAtMs !== null)
    for (const [hash, secret] of tables.keySecrets)
      if (secret.keyId === keyId && (secret.expiresAtMs ?? Infinity) > othersEndAtMs)
        tables.keySecrets.set(hash, { keyId, expiresAtMs: othersEndAtMs });
  tables.keySecrets.set(secretHash, { keyId, expiresAtMs: null });
}
