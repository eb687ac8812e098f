// Accounts and keys whose requests are refused again and again. Pure.

import { bounds } from '../config/config.ts';
import type { FrequentRefusal } from '../traffic/traffic.ts';
import type { Finding } from './follow.ts';
import { facts, type IncidentKind } from './incident.ts';

/** Refused until somebody changes something. */
const UNTIL_CHANGED = ['insufficient_user_quota', 'account_disabled', 'key_disabled', 'key_expired'];
/** Refused until others have ended, or some time has passed. */
const LIMITS = [
  'requests_rate_exceeded',
  'input_tokens_rate_exceeded',
  'output_tokens_rate_exceeded',
  'concurrency_exceeded',
];
const OF_KEY = ['key_disabled', 'key_expired'];

/** Each row has one key and code, also those of which there were few: they let an incident go on. */
export function judgeRefusals(rows: readonly FrequentRefusal[]): Finding[] {
  const parts = rows.flatMap((row) => {
    const code = row.code ?? '';
    const kind = kindOf(row, code);
    const whose = kind === 'account_refused' || row.key === null ? `account:${row.account ?? 0}` : `key:${row.key}`;
    return [{ row, code, kind, name: `refused:${whose}:${code}` }];
  });
  return [...Map.groupBy(parts, ({ name }) => name)].map(([name, ofName]): Finding => {
    const [{ row, code, kind }] = ofName as [(typeof ofName)[number]];
    const count = ofName.reduce((sum, one) => sum + one.row.count, 0);
    const lastAtMs = Math.max(...ofName.map((one) => one.row.lastAtMs ?? 0));
    return {
      name,
      account: row.account,
      sinceMs: Math.min(...ofName.map((one) => one.row.firstAtMs)),
      seenAtMs: lastAtMs,
      begins: count >= leastOf(row, code),
      facts: facts(kind, isCritical(row, code) ? 'critical' : 'warning', {
        key: kind === 'account_refused' ? null : row.key,
        cause: code,
        said: row.message === '' ? null : row.message,
        saidAtMs: lastAtMs,
        requests: count,
        accounts: row.account === null ? null : 1,
      }),
    };
  });
}

function kindOf({ account, key, scope }: FrequentRefusal, code: string): IncidentKind {
  if (account === null || !(UNTIL_CHANGED.includes(code) || LIMITS.includes(code))) return 'requests_rejected';
  const isOfKey = OF_KEY.includes(code) || (code !== 'account_disabled' && (scope === 'key' || scope === 'key_held'));
  return key !== null && isOfKey ? 'key_refused' : 'account_refused';
}

/** The money is held by other messages, which end. */
function isBehindHolds({ scope }: FrequentRefusal): boolean {
  return scope === 'account_held' || scope === 'key_held';
}

function leastOf(row: FrequentRefusal, code: string): number {
  if (UNTIL_CHANGED.includes(code) && row.account !== null && !isBehindHolds(row)) return bounds.incidentRefusedLeast;
  return LIMITS.includes(code) || isBehindHolds(row) ? bounds.incidentLimitedLeast : bounds.incidentRejectedLeast;
}

function isCritical(row: FrequentRefusal, code: string): boolean {
  return row.account !== null && UNTIL_CHANGED.includes(code) && !isBehindHolds(row);
}
