// Reads of the audit, newest first, by the narrowest index that a question allows.

import type { Database } from 'bun:sqlite';
import type { Actor, AuditPage, AuditStore, StoredAuditRecord } from '../../audit/audit.ts';
import { isBefore, LAST } from './page-order.ts';
import { prepareText } from './statements.ts';

interface AuditTable {
  seq: number;
  at_ms: number;
  actor: string;
  role: Actor['role'];
  address: string;
  request_id: string | null;
  action: string;
  object: string;
  account_id: number | null;
  before: string | null;
  after: string | null;
}

export function auditReads(database: Database): Pick<AuditStore, 'listAudit'> {
  // `+` keeps SQLite from choosing an index by the members that only narrow what another one finds.
  const list = (where: string) =>
    prepareText(
      database,
      `SELECT * FROM audit_records WHERE ${where} at_ms >= $1 AND at_ms <= $2 AND ${isBefore('audit_records', '$3')}
         AND ($5 IS NULL OR +object = $5) AND ($6 IS NULL OR +account_id = $6) AND ($7 IS NULL OR +actor = $7)
       ORDER BY at_ms DESC, seq DESC LIMIT $4`,
    );
  const all = list('');
  const ofObject = list('object = $5 AND ');
  const ofAccount = list('account_id = $6 AND ');
  const ofActor = list('actor = $7 AND ');
  const choose = ({ object, account, actor }: AuditPage) => {
    if (object !== null) return ofObject;
    if (actor !== null) return ofActor;
    return account === null ? all : ofAccount;
  };
  return {
    async listAudit(page) {
      const { sinceMs, untilMs, before, limit, object, account, actor } = page;
      const rows = choose(page).all(sinceMs ?? 0, untilMs ?? LAST, before ?? LAST, limit, object, account, actor);
      return (rows as AuditTable[]).map(readRow);
    },
  };
}

function readRow(row: AuditTable): StoredAuditRecord {
  return {
    seq: row.seq,
    atMs: row.at_ms,
    actor: { id: row.actor, role: row.role, address: row.address, requestId: row.request_id },
    action: row.action,
    object: row.object,
    account: row.account_id,
    before: row.before === null ? null : JSON.parse(row.before),
    after: row.after === null ? null : JSON.parse(row.after),
  };
}
