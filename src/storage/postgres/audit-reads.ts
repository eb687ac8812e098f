// Reads of the audit, newest first, by the narrowest index that a question allows.

import type { AuditPage, AuditStore } from '../../audit/audit.ts';
import { type AuditTable, readAuditRow } from '../audit-row.ts';
import { inPage, type PageBounds, pageBounds } from './page-order.ts';
import type { Reader, ReadValue } from './read-pool.ts';
import { asNumbers } from './row-columns.ts';

type Asked = readonly [column: string, value: ReadValue];

const COLUMNS = `${asNumbers('r', 'seq', 'at_ms', 'account_id')}, r.actor, r.role, r.address, r.request_id, r.action,
  r.object, r.before, r.after`;

export function auditReads(reader: Reader): Pick<AuditStore, 'listAudit'> {
  const boundsOf = pageBounds(reader, 'audit_records');
  return {
    async listAudit(page) {
      const rows = await list(reader, page, await boundsOf(page));
      return rows.map(readAuditRow);
    },
  };
}

function list(reader: Reader, { object, account, actor }: AuditPage, within: PageBounds): Promise<AuditTable[]> {
  const asked: Asked[] = [];
  if (object !== null) asked.push(['object', object]);
  if (actor !== null) asked.push(['actor', actor]);
  if (account !== null) asked.push(['account_id', account]);
  // What the index does not lead to is compared in the rows that it finds: those of one object are few.
  const narrowedBy = object === null ? asked.length : 1;
  const columns = asked.map(([column], at) => [column, `$${at + 5}`] as const);
  const compared = columns.slice(narrowedBy).map(([column, value]) => `r.${column} = ${value} AND`);
  return reader.read<AuditTable>(
    `SELECT ${COLUMNS} FROM audit_records r WHERE ${compared.join(' ')} ${inPage(columns.slice(0, narrowedBy))}`,
    ...within,
    ...asked.map(([, value]) => value),
  );
}
