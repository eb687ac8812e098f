// Writes rows of other modules within the ledger's transaction, and refuses what a table would.

import { claimsEmail, claimsIdentity, type Person } from '../../../src/accounts/accounts.ts';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import { Outpaced } from '../../../src/ledger/ledger.ts';
import type { PaymentRow } from '../../../src/payments/payments.ts';
import { type AnswerRow, type CoCommittedRow, identityText, NOBODY } from '../../../src/storage/co-committed.ts';
import type { ExportRow } from '../../../src/storage/export-rows.ts';
import type { MailRow } from '../../../src/storage/mail-rows.ts';
import { isAgentRow, refuseOutpacedAgent, writeAgents } from './agents.ts';
import { isBatchOutpaced, writeBatch } from './batches.ts';
import { writeBill } from './bills.ts';
import { refuseOutpacedCode, writeCodes } from './codes.ts';
import { carryEntries, forgetRows, refuseWrongDrop } from './drop-rows.ts';
import { isDestinationOutpaced, writeEventRow } from './event-rows.ts';
import { isExportOutpaced, writeExportRow } from './export-rows.ts';
import { isFileOutpaced, writeFile } from './files.ts';
import { writeIncident } from './incidents.ts';
import { isOutpaced, writePaymentRow } from './payments.ts';
import { refuseTakenScim, writeScim } from './scim.ts';
import type { MemoryTables, OwnedAnswer } from './tables.ts';
import { writeTraffic } from './traffic.ts';

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
  if (row.table === 'scim') {
    refuseTakenScim(tables, row.scim);
    return;
  }
  if (isAgentRow(row)) refuseOutpacedAgent(tables, row, before);
  if (row.table === 'codes') refuseOutpacedCode(tables, row, before);
  if (isMailRow(row)) refuseLateMailRow(tables, row, before);
  if (isBatchRow(row) && isBatchOutpaced(tables, row)) throw new Outpaced('the batch has changed since it was read');
  if (row.table === 'files' && isFileOutpaced(tables, row)) throw new Outpaced('the file was removed meanwhile');
  if (isExportOutpaced(tables, row)) throw new Outpaced('the export has changed since it was read');
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

/** Throws Outpaced if the row lost a race, also to one of those before it in the same batch. */
function refuseLateMailRow(tables: MemoryTables, row: CoCommittedRow, before: readonly CoCommittedRow[]): void {
  const mails = new Map(tables.mails);
  const mailedLinks = new Map(tables.mailedLinks);
  const signUps = [...tables.signUps];
  for (const earlier of before) if (isMailRow(earlier)) writeMailRow({ mails, mailedLinks, signUps }, earlier);
  const isLate =
    (row.table === 'mails' && 'take' in row && mails.get(row.take.id)?.tries !== row.take.tries) ||
    (row.table === 'mailed_links' &&
      'use' in row &&
      (mailedLinks.get(row.use.link.hash)?.expiresAtMs ?? 0) <= row.use.nowMs) ||
    (row.table === 'sign_ups' &&
      (signUps.filter(({ account }) => account.createdAtMs > row.put.countedSinceMs).length >= row.put.signUpsMax ||
        (row.put.credit > 0 && signUps.some(({ emailKey, credit }) => emailKey === row.put.emailKey && credit > 0))));
  if (isLate) throw new Outpaced('another change came first');
}

function isMailRow(row: CoCommittedRow): row is MailRow {
  return row.table === 'mails' || row.table === 'mailed_links' || row.table === 'sign_ups';
}

type MailTables = Pick<MemoryTables, 'mails' | 'mailedLinks' | 'signUps'>;

function writeMailRow({ mails, mailedLinks, signUps }: MailTables, row: MailRow): void {
  if (row.table === 'sign_ups') signUps.push(row.put);
  else if (row.table === 'mailed_links') {
    if ('put' in row) mailedLinks.set(row.put.hash, row.put);
    else
      for (const [hash, link] of mailedLinks)
        if (link.purpose === row.use.link.purpose && link.email === row.use.link.email) mailedLinks.delete(hash);
  } else if ('put' in row) mails.set(row.put.id, row.put);
  else if ('remove' in row) mails.delete(row.remove);
  else {
    const id = 'take' in row ? row.take.id : row.resealed.id;
    const mail = mails.get(id);
    if (mail === undefined) return;
    if ('take' in row) mails.set(id, { ...mail, tries: mail.tries + 1, nextAtMs: row.take.nextAtMs });
    else mails.set(id, { ...mail, secretSealed: row.resealed.secretSealed });
  }
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
      ((claimsEmail(person) && claimsEmail(other.person) && other.person.email === person.email) ||
        isSameIdentity(person, other.person) ||
        (linkHash !== null && other.linkHash === linkHash)),
  );
}

function isSameIdentity(one: Person, other: Person): boolean {
  if (one.identity == null || other.identity == null || !claimsIdentity(one) || !claimsIdentity(other)) return false;
  return identityText(one.identity) === identityText(other.identity);
}

function writePerson(people: MemoryTables['people'], { person, link }: RowOf<'people'>): void {
  const linkHash = link === 'as it is' ? (people.get(person.id)?.linkHash ?? null) : link.hash;
  people.set(person.id, { person, linkHash });
}

function writeView({ savedViews }: MemoryTables, { view }: RowOf<'saved_views'>): void {
  if (typeof view === 'number') savedViews.delete(view);
  else {
    const { accountId, owner, createdAtMs } = savedViews.get(view.id) ?? view;
    savedViews.set(view.id, { ...view, accountId, owner, createdAtMs });
  }
}

function writeToken(tokens: MemoryTables['tokens'], { token, secretHash }: RowOf<'tokens'>): void {
  const hash = secretHash ?? tokens.get(token.id)?.secretHash;
  if (hash !== undefined) tokens.set(token.id, { token, secretHash: hash });
}

/** Writes one row that the tables can take. */
export function writeCoCommitted(tables: MemoryTables, row: CoCommittedRow): void {
  if ('forget' in row) forgetRows(tables, row.table, row.forget.beforeMs);
  else if ('carry' in row) carryEntries(tables, row.carry.account, row.carry.beforeMs);
  else if (row.table === 'directory_groups') tables.directoryGroups.set(row.group.id, row.group);
  else if (row.table === 'scim') writeScim(tables, row.scim);
  else if (isAgentRow(row)) writeAgents(tables, row);
  else if (row.table === 'tag_sets') addTagSet(tables, row);
  else if (row.table === 'saved_views') writeView(tables, row);
  else writeKept(tables, row);
}

type KeptRow = Exclude<
  CoCommittedRow,
  | { forget: unknown }
  | { carry: unknown }
  | { table: 'scim' | 'agent_grants' | 'device_codes' | 'tag_sets' | 'directory_groups' | 'saved_views' }
>;

function writeKept(tables: MemoryTables, row: KeptRow): void {
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
    case 'tokens':
      writeToken(tables.tokens, row);
      break;
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
    case 'mails':
    case 'mailed_links':
    case 'sign_ups':
      writeMailRow(tables, row);
      break;
    case 'events':
    case 'destinations':
    case 'deliveries':
    case 'facts':
      writeEventRow(tables, row);
      break;
    case 'leader':
    case 'changes':
    case 'rolled_days':
      break; // one process tells itself, and adds up its daily totals
    default:
      writeReportRow(tables, row);
  }
}

function addTagSet({ tagSets }: MemoryTables, { set, setsMax }: RowOf<'tag_sets'>): void {
  const ofMonth = tagSets.filter(({ account, monthMs }) => account === set.account && monthMs === set.monthMs);
  if (ofMonth.length < setsMax && !ofMonth.some(({ id }) => id === set.id)) tagSets.push(set);
}

function isBatchRow(row: CoCommittedRow): row is RowOf<'batches' | 'batch_results' | 'batch_parts'> {
  return row.table === 'batches' || row.table === 'batch_results' || row.table === 'batch_parts';
}

function writeReportRow(
  tables: MemoryTables,
  row:
    | ExportRow
    | RowOf<'refusals' | 'route_hours' | 'provider_bill_sources' | 'provider_bills' | 'incidents' | 'files'>
    | RowOf<'batches' | 'batch_results' | 'batch_parts'>,
): void {
  if (row.table === 'exports' || row.table === 'export_runs') writeExportRow(tables, row);
  else if (row.table === 'refusals' || row.table === 'route_hours') writeTraffic(tables, row);
  else if (row.table === 'incidents') writeIncident(tables, row);
  else if (row.table === 'files') writeFile(tables, row);
  else if (isBatchRow(row)) writeBatch(tables, row);
  else writeBill(tables, row);
}

function writeCreation({ creations }: MemoryTables, row: RowOf<'creations'>): void {
  const creation = 'resealed' in row ? row.resealed : row.creation;
  if ('forgetUntilMs' in row)
    for (const [name, { atMs }] of creations) if (atMs <= row.forgetUntilMs) creations.delete(name);
  creations.set(`${creation.principal} ${creation.idempotencyKey}`, creation);
}

function writeAnswer(tables: MemoryTables, { answer, payer = NOBODY }: AnswerRow): void {
  const { answers, answerShares } = tables;
  if (answers.has(answer.requestId)) return;
  const { account, paid } = payer;
  answers.set(answer.requestId, { ...answer, account });
  const day = Math.floor(answer.atMs / DAY_MS);
  const before = answerShares.get(account) ?? { paid: 0, day };
  const kept = Math.floor(before.paid / 2 ** Math.max(0, day - before.day));
  answerShares.set(account, { paid: kept + paid, day: Math.max(day, before.day) });
  let stored = [...answers.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  while (stored > (tables.bounds.get('answersStoredBytes') ?? 0)) {
    const next = nextDropped(answers, answerShares);
    answers.delete(next.requestId);
    stored -= next.bytes;
  }
}

/** The oldest response of the account with the most bytes per dollar, where it counts as having paid 0.01 to 1 USD. */
function nextDropped(answers: MemoryTables['answers'], shares: MemoryTables['answerShares']): OwnedAnswer {
  const own = Map.groupBy(answers.values(), ({ account }) => account);
  const loads = [...own].map(([account, rows]) => {
    const millionths = Math.min(Math.max(Math.floor((shares.get(account)?.paid ?? 0) / 1_000), 10_000), 1_000_000);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    return { account, rows, bytesPerUsd: Math.floor((bytes * 1_000_000) / millionths) };
  });
  loads.sort((one, other) => other.bytesPerUsd - one.bytesPerUsd || one.account - other.account);
  return loads[0]?.rows[0] as OwnedAnswer;
}

const DAY_MS = 86_400_000;

function writeKeySecret(tables: MemoryTables, row: RowOf<'key_secrets'>): void {
  const { keyId, secretHash, othersEndAtMs } = row;
  if (othersEndAtMs !== null)
    for (const [hash, secret] of tables.keySecrets)
      if (secret.keyId === keyId && !hash.startsWith('grant.') && (secret.expiresAtMs ?? Infinity) > othersEndAtMs)
        tables.keySecrets.set(hash, { keyId, expiresAtMs: othersEndAtMs });
  tables.keySecrets.set(secretHash, { keyId, expiresAtMs: null });
}
