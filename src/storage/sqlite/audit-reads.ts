// Reads of the audit, newest first, by the narrowest index that a question allows.

import type { Database } from 'bun:sqlite';
import type { AuditPage, AuditStore } from '../../audit/audit.ts';
import { type AuditTable, readAuditRow } from '../audit-row.ts';
import { IN_PAGE, pageBounds } from './page-order.ts';
import { prepareText } from './statements.ts';

export function auditReads(database: Database): Pick<AuditStore, 'listAudit'> {
  const boundsOf = pageBounds(database, 'audit_records');
  // What the index does not lead to is compared in the rows that it finds: those of one object are few.
  const list = (index: string, where: string) =>
    prepareText(
      database,
      `SELECT * FROM audit_records INDEXED BY ${index} WHERE ${where} ($5 IS NULL OR object = $5)
         AND ($6 IS NULL OR account_id = $6) AND ($7 IS NULL OR actor = $7) AND ${IN_PAGE}`,
    );
  const all = list('audit_in_order', '');
  const ofObject = list('audit_of_object', 'object = $5 AND');
  const ofAccount = list('audit_of_account', 'account_id = $6 AND');
  const ofActor = list('audit_of_actor', 'actor = $7 AND');
  const ofActorInAccount = list('audit_of_actor_in_account', 'actor = $7 AND account_id = $6 AND');
  const choose = ({ object, account, actor }: AuditPage) => {
    if (object !== null) return ofObject;
    if (actor !== null) return account === null ? ofActor : ofActorInAccount;
    return account === null ? all : ofAccount;
  };
  return {
    async listAudit(page) {
      const rows = choose(page).all(...boundsOf(page), page.object, page.account, page.actor);
      return (rows as AuditTable[]).map(readAuditRow);
    },
  };
}
