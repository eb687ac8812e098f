// The wide log lines of the admin API: of every request, and of every change that one made, so that
// the audit leaves the machine with the log. Credentials are masked in the records already.

import { formatId } from '../base/ids.ts';
import type { LogLine } from './log-line.ts';

/** A request that was answered. */
export interface AnsweredAdminRequest {
  requestId: string;
  method: string;
  path: string;
  status: number;
  code: string | null;
  address: string;
  actor: string | null;
  durationMs: number;
}

/** A change, as the audit keeps it. */
export interface LoggedChange {
  atMs: number;
  actor: { id: string; role: string; address: string; requestId: string | null };
  action: string;
  object: string;
  account: number | null;
  before: object | null;
  after: object | null;
}

export function adminLine(answered: AnsweredAdminRequest, nowMs: number): LogLine {
  return {
    at: new Date(nowMs).toISOString(),
    event: 'admin_request',
    request_id: answered.requestId,
    method: answered.method,
    path: answered.path,
    status: answered.status,
    code: answered.code,
    actor: answered.actor,
    latency_ms: answered.durationMs,
    address: answered.address,
  };
}

export function auditLine(change: LoggedChange): LogLine {
  return {
    at: new Date(change.atMs).toISOString(),
    event: 'audit',
    request_id: change.actor.requestId,
    actor: change.actor.id,
    role: change.actor.role,
    address: change.actor.address,
    action: change.action,
    object: change.object,
    account: change.account === null ? null : formatId('acct', change.account),
    before: change.before,
    after: change.after,
  };
}
