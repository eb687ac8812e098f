// Rows of accounts, keys, tokens, people, the catalog and the audit log that are written in the ledger's
// transaction: the shapes sent to its thread.

import type { AccessToken, Account, DirectoryGroup, Identity, Key, LinkChange, Person } from '../accounts/accounts.ts';
import type { AuditRecord, DecidedAt, RememberedCreation } from '../audit/audit.ts';
import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import type { CatalogDocument, DocumentKind } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { type Changes, type ForgottenTable, Outpaced, type StoredAnswer } from '../ledger/ledger.ts';
import type { PaymentRow } from '../payments/payments.ts';
import { type AgentRow, agentStatements } from './agent-rows.ts';
import { type BatchRow, batchStatement } from './batch-rows.ts';
import { type BillRow, billStatement } from './bill-rows.ts';
import { type CodeRow, codeStatements } from './code-rows.ts';
import { eventStatements, type OutboxRow } from './event-rows.ts';
import { type ExportRow, exportStatements } from './export-rows.ts';
import { type FileRow, fileStatement } from './file-rows.ts';
import { type IncidentRow, incidentStatement } from './incident-rows.ts';
import { type MailRow, mailStatements } from './mail-rows.ts';
import { paymentStatement } from './payment-rows.ts';
import { type ScimRow, scimStatements } from './scim-rows.ts';
import { type TagSetRow, tagSetStatement } from './tag-set-rows.ts';
import { type TrafficRow, trafficStatement } from './traffic-rows.ts';
import { type ViewRow, viewStatement } from './view-rows.ts';

export type CoCommittedRow =
  | PaymentRow
  | CodeRow
  | AgentRow
  | { table: 'accounts'; account: Account }
  | { table: 'keys'; key: Key }
  /** A new secret of a key; existing ones expire at `othersEndAtMs`, or earlier. */
  | { table: 'key_secrets'; keyId: number; secretHash: string; othersEndAtMs: number | null }
  | { table: 'tokens'; token: AccessToken; secretHash: string | null }
  /** A new or changed person. */
  | { table: 'people'; person: Person; link: LinkChange }
  /** A new or changed group of a directory. */
  | { table: 'directory_groups'; group: DirectoryGroup }
  | { table: 'audit_records'; record: AuditRecord }
  /** Also deletes those up to `forgetUntilMs`. */
  | { table: 'creations'; creation: RememberedCreation; forgetUntilMs: number }
  /** The same creation, its secret resealed. */
  | { table: 'creations'; resealed: RememberedCreation }
  /** Refused unless the stored value is `replaces`; null: no value. */
  | { table: 'installation'; name: string; value: string; replaces: string | null }
  /** The samples of a model for the estimator. */
  | { table: 'learned'; model: string; document: unknown }
  /** The stored response of an idempotency record, once per message. Some are deleted when all together are too large. */
  | AnswerRow
  /** Deletes a bounded number of the oldest rows before that time. Refused if retention still keeps them. */
  | { table: ForgottenTable; forget: { beforeMs: number } }
  /** Replaces a bounded number of the account's oldest entries before that time by one that carries their sum forward. */
  | { table: 'entries'; carry: { account: number; beforeMs: number } }
  /** Rolls up the daily totals of a closed day. Only of SQLite. */
  | { table: 'rolled_days'; roll: { dayMs: number } }
  | { table: 'catalog'; put: CatalogDocument }
  | { table: 'catalog'; remove: { kind: DocumentKind; name: string } }
  /** Every node ends the running messages of this key. No effect on SQLite, as below. */
  | { table: 'changes'; cut: number }
  /** Refused as Outpaced if data that the bundle was decided by has changed since. */
  | { table: 'changes'; since: DecidedAt }
  | OutboxRow
  | MailRow
  | TagSetRow
  | ExportRow
  | TrafficRow
  | BillRow
  | IncidentRow
  | FileRow
  | BatchRow
  | ScimRow
  | ViewRow;

export function answerRow(answer: StoredAnswer): CoCommittedRow {
  return { table: 'answers', answer };
}

export interface AnswerRow {
  table: 'answers';
  answer: StoredAnswer;
  /** Who paid for it, and how much. Added with the batch. */
  payer?: { account: number; paid: Nano };
}

export function isAnswerRow(row: unknown): row is AnswerRow {
  return (row as CoCommittedRow).table === 'answers' && 'answer' in (row as CoCommittedRow);
}

/** The rows of a batch, each response with its payer. An ending that is repeated has stored its response before. */
export function withPayers({ coCommitted, endings }: Changes): readonly CoCommittedRow[] {
  const rows = coCommitted as readonly CoCommittedRow[];
  if (!rows.some(isAnswerRow)) return rows;
  const records = new Map(endings.map(({ record }) => [record.requestId, record]));
  return rows.map((row) => {
    if (!isAnswerRow(row)) return row;
    const record = records.get(row.answer.requestId);
    const payer = record === undefined ? NOBODY : { account: record.account, paid: record.cost - record.writtenOff };
    return { ...row, payer };
  });
}

export const NOBODY = { account: 0, paid: 0 };

/** A statement and its parameters, $1, $2 … in the text. */
export interface CoCommittedStatement {
  text: string;
  values: (string | number | null)[];
  /**
   * The reason to refuse the bundle when the statement changes no row, with BrokenInvariant; `race`: with Outpaced, because
   * another change came first. Without either, changing no row is valid.
   */
  refusal?: string;
  race?: string;
}

type Upkeep = Extract<CoCommittedRow, { forget: unknown } | { carry: unknown } | { roll: unknown }>;
type WrittenRow = Exclude<CoCommittedRow, Upkeep | { table: 'answers' | 'changes' }>;
type RowOf<Table extends WrittenRow['table']> = Extract<WrittenRow, { table: Table }>;

/** Refuses the bundle if one of its statements changed no row and must. Throws BrokenInvariant, Outpaced. */
export function checkChanged({ refusal, race }: CoCommittedStatement, changes: number): void {
  if (changes > 0) return;
  if (race !== undefined) throw new Outpaced(race);
  assert(refusal === undefined, refusal ?? '');
}

type Written = CoCommittedStatement | CoCommittedStatement[];

const writers: { readonly [Table in WrittenRow['table']]: (row: RowOf<Table>) => Written } = {
  accounts: writeAccount,
  keys: writeKey,
  key_secrets: writeKeySecret,
  tokens: writeToken,
  people: writePerson,
  directory_groups: writeDirectoryGroup,
  catalog: writeCatalog,
  installation: writeInstallation,
  learned: writeLearned,
  payments: paymentStatement,
  billing: paymentStatement,
  payment_events: paymentStatement,
  audit_records: writeAudit,
  creations: writeCreation,
  code_batches: codeStatements,
  codes: codeStatements,
  agent_grants: agentStatements,
  device_codes: agentStatements,
  events: eventStatements,
  destinations: eventStatements,
  deliveries: eventStatements,
  leader: eventStatements,
  facts: eventStatements,
  mails: mailStatements,
  mailed_links: mailStatements,
  sign_ups: mailStatements,
  scim: scimStatements,
  tag_sets: tagSetStatement,
  exports: exportStatements,
  export_runs: exportStatements,
  refusals: trafficStatement,
  route_hours: trafficStatement,
  provider_bill_sources: billStatement,
  provider_bills: billStatement,
  incidents: incidentStatement,
  files: fileStatement,
  batches: batchStatement,
  batch_results: batchStatement,
  batch_parts: batchStatement,
  saved_views: viewStatement,
};

/** The statements that write one row, in order. */
export function coCommittedStatements(row: WrittenRow): CoCommittedStatement[] {
  return [(writers[row.table] as (row: WrittenRow) => Written)(row)].flat();
}

function writeAccount({ account }: RowOf<'accounts'>): CoCommittedStatement {
  return {
    text: `INSERT INTO accounts (id, created_at_ms, document, parent_id) VALUES ($1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document, parent_id = excluded.parent_id`,
    values: [account.id, account.createdAtMs, JSON.stringify(account), account.parentId ?? null],
  };
}

function writeKey({ key }: RowOf<'keys'>): CoCommittedStatement {
  return {
    text: `INSERT INTO keys (id, account_id, made_by, created_at_ms, document, person_id) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document, person_id = excluded.person_id`,
    values: [key.id, key.accountId, key.madeBy, key.createdAtMs, JSON.stringify(key), key.personId ?? null],
  };
}

/** Existing secrets of the key keep an earlier expiry. Sign-ins of coding agents are ended one by one. */
function writeKeySecret({ keyId, secretHash, othersEndAtMs }: RowOf<'key_secrets'>): CoCommittedStatement[] {
  const insert = {
    text: 'INSERT INTO key_secrets (secret_hash, key_id, expires_at_ms) VALUES ($1, $2, NULL)',
    values: [secretHash, keyId],
  };
  if (othersEndAtMs === null) return [insert];
  const text = `UPDATE key_secrets SET expires_at_ms = $2
       WHERE key_id = $1 AND (expires_at_ms IS NULL OR expires_at_ms > $2) AND secret_hash NOT LIKE 'grant.%'`;
  return [{ text, values: [keyId, othersEndAtMs] }, insert];
}

/** A token's secret is written once; later changes keep its hash. */
function writeToken({ token, secretHash }: RowOf<'tokens'>): CoCommittedStatement {
  const document = JSON.stringify(token);
  if (secretHash === null)
    return { text: 'UPDATE tokens SET document = $2 WHERE id = $1', values: [token.id, document] };
  return {
    text: 'INSERT INTO tokens (id, account_id, secret_hash, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)',
    values: [token.id, token.accountId, secretHash, token.createdAtMs, document],
  };
}

/** A person's creation time is written once. A new person has a link, or null. The columns `email` and `identity` have claimed ones. */
function writePerson({ person, link }: RowOf<'people'>): CoCommittedStatement {
  const { id, accountId, role, status } = person;
  const email = accountId === null || status === 'enabled' ? person.email : null; // as `claimsEmail`
  const isBound = accountId === null || status === 'enabled' || person.managedBy === 'directory'; // as `claimsIdentity`
  const identity = person.identity == null || !isBound ? null : identityText(person.identity);
  const document = JSON.stringify(person);
  if (link === 'as it is')
    return {
      text: `UPDATE people SET account_id = $2, email = $3, identity = $4, role = $5, status = $6, document = $7 WHERE id = $1`,
      values: [id, accountId, email, identity, role, status, document],
    };
  return {
    text: `INSERT INTO people (id, account_id, email, identity, link_hash, role, status, created_at_ms, document)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, email = excluded.email, identity = excluded.identity,
         link_hash = excluded.link_hash, role = excluded.role, status = excluded.status, document = excluded.document`,
    values: [id, accountId, email, identity, link.hash, role, status, person.createdAtMs, document],
  };
}

/** One text for each identity: URLs have no spaces. */
export function identityText({ issuer, subject }: Identity): string {
  return `${issuer} ${subject}`;
}

function writeDirectoryGroup({ group }: RowOf<'directory_groups'>): CoCommittedStatement {
  return {
    text: `INSERT INTO directory_groups (id, name, source, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, source = excluded.source, document = excluded.document`,
    values: [group.id, group.name, group.source ?? '', group.createdAtMs, JSON.stringify(group)],
  };
}

function writeCatalog(row: RowOf<'catalog'>): CoCommittedStatement {
  if ('remove' in row)
    return { text: 'DELETE FROM catalog WHERE kind = $1 AND name = $2', values: [row.remove.kind, row.remove.name] };
  const { kind, name, origin, document } = row.put;
  return {
    text: `INSERT INTO catalog (kind, name, origin, document) VALUES ($1, $2, $3, $4)
       ON CONFLICT (kind, name) DO UPDATE SET origin = excluded.origin, document = excluded.document`,
    values: [kind, name, origin, JSON.stringify(document)],
  };
}

function writeInstallation({ name, value, replaces }: RowOf<'installation'>): CoCommittedStatement {
  if (replaces === null)
    return { text: 'INSERT INTO installation (name, value) VALUES ($1, $2)', values: [name, value] };
  return {
    text: 'UPDATE installation SET value = $2 WHERE name = $1 AND value = $3',
    values: [name, value, replaces],
    refusal: `the value of "${name}" has changed since it was read`,
  };
}

function writeLearned({ model, document }: RowOf<'learned'>): CoCommittedStatement {
  return {
    text: `INSERT INTO learned (model, document) VALUES ($1, $2)
       ON CONFLICT (model) DO UPDATE SET document = excluded.document`,
    values: [model, JSON.stringify(document)],
  };
}

function writeAudit({ record }: RowOf<'audit_records'>): CoCommittedStatement {
  const { actor } = record;
  return {
    text: `INSERT INTO audit_records (at_ms, actor, role, address, request_id, action, object, account_id, before, after)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      record.atMs,
      actor.id,
      actor.role,
      actor.address,
      actor.requestId,
      record.action,
      record.object,
      record.account,
      record.before === null ? null : JSON.stringify(record.before),
      record.after === null ? null : JSON.stringify(record.after),
    ],
  };
}

function writeCreation(row: RowOf<'creations'>): CoCommittedStatement[] {
  if ('resealed' in row) {
    const { principal, idempotencyKey, secretSealed } = row.resealed;
    const text = 'UPDATE creations SET secret_sealed = $3 WHERE principal = $1 AND idempotency_key = $2';
    return [{ text, values: [principal, idempotencyKey, secretSealed] }];
  }
  const { creation, forgetUntilMs } = row;
  return [
    { text: 'DELETE FROM creations WHERE at_ms <= $1', values: [forgetUntilMs] },
    {
      text: `INSERT INTO creations (principal, idempotency_key, at_ms, request_hash, object, secret_sealed)
     VALUES ($1, $2, $3, $4, $5, $6)`,
      values: [
        creation.principal,
        creation.idempotencyKey,
        creation.atMs,
        creation.requestHash,
        creation.object,
        creation.secretSealed,
      ],
    },
  ];
}

/**
 * The columns that identify a row and give its age. Each table has an index by age. `where`: which of the rows from before $1 are
 * dropped; absent: all.
 */
export const forgottenColumns: Readonly<Record<ForgottenTable, { id: string; age: string; where?: string }>> = {
  usage_records: { id: 'seq', age: 'at_ms' },
  creations: { id: 'principal, idempotency_key', age: 'at_ms' },
  key_secrets: { id: 'secret_hash', age: 'expires_at_ms' },
  claims: { id: 'key_id, name', age: 'at_ms' },
  answers: { id: 'seq', age: 'at_ms' },
  payment_events: { id: 'id', age: 'at_ms' },
  events: {
    id: 'seq',
    age: 'at_ms',
    where: `AND (type <> 'budget.burning' OR at_ms < $1 - ${bounds.burningEventKeptMs})`,
  },
  deliveries: { id: 'seq', age: 'created_at_ms' },
  refusals: { id: 'seq', age: 'at_ms' },
  route_hours: { id: 'at_ms, model, provider, upstream_model, source', age: 'at_ms' },
  incidents: { id: 'seq', age: 'ended_at_ms' },
};
