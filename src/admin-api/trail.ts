// What a change made through this API leaves beside itself: who made it, from where, what was
// before and after.

import type { Context } from 'hono';
import {
  type AuditRecord,
  describeChange,
  type JsonMembers,
  type RememberedCreation,
  type Trail,
} from '../audit/audit.ts';
import type { AdminEnvironment } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';

/** One changed object, as the API shows it before and after. */
export interface ChangeNote {
  /** Resource and verb: "key.create". */
  action: string;
  object: string;
  account: number | null;
  before: JsonMembers | null;
  after: JsonMembers | null;
}

/** The trail of the changes that a request makes in its turn, which are of one account or of the installation. */
export function leaveTrail(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  notes: readonly ChangeNote[],
  creation: RememberedCreation | null = null,
): Trail {
  const records = notes.map((note) => auditRecord(dependencies, context, note)).filter(saysSomething);
  context.set('records', records);
  const epoch = context.get('since');
  const [{ account = null } = {}] = notes;
  return { audit: records, creation, since: epoch === null ? null : { epoch, account } };
}

/** A change that leaves everything as it was is none. */
function saysSomething({ before, after }: AuditRecord): boolean {
  return before === null || after === null || Object.keys({ ...before, ...after }).length > 0;
}

function auditRecord(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  { action, object, account, before, after }: ChangeNote,
): AuditRecord {
  const { id, role } = context.get('principal');
  return {
    atMs: dependencies.clock.nowMs(),
    actor: { id, role, address: context.env.address, requestId: context.get('requestId') },
    action,
    object,
    account,
    ...describeChange(before, after),
  };
}
