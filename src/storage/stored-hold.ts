// The row of a hold: columns for what is summed and searched, and all of it as JSON. The only place that writes and reads that JSON.

import { isWholeNumber } from '../base/checked-number.ts';
import { beganAtMs } from '../base/ids.ts';
import { emptyRecord, type HoldRow, type UsageRecord } from '../ledger/ledger.ts';

export interface HoldsTable {
  request_id: string;
  account_id: number;
  key_id: number;
  amount: number;
  document: string;
}

/** The version of the JSON that this program writes. A program reads all versions up to its own. */
const VERSION = 1;

export function writeHold(hold: HoldRow): string {
  return JSON.stringify({ v: VERSION, ...hold });
}

/**
 * The hold of a row, with defaults for what earlier versions did not store: version 0 has no number, and lacks members. A row that
 * cannot be read becomes a hold with what its columns say, and `unreadable`.
 */
export function readHold(row: HoldsTable): HoldRow {
  const known = {
    requestId: row.request_id,
    account: row.account_id,
    key: row.key_id,
    amount: row.amount,
    group: '',
    fromPlan: 0,
    openedAtMs: beganAtMs(row.request_id) ?? 0,
    owner: { node: '', epoch: 0 },
    left: false,
    claim: null,
    checkpoint: null,
    draft: { model: '', stream: false },
  };
  try {
    const { v = 0, ...stored } = JSON.parse(row.document) as Partial<HoldRow> & { v?: number };
    if (!isWholeNumber(v) || v > VERSION) return { ...known, unreadable: `a later release wrote it, in version ${v}` };
    const hold: HoldRow = { ...known, ...stored };
    const fault = findFault(hold);
    if (fault !== null) return { ...known, unreadable: fault };
    return hold.checkpoint === null ? hold : { ...hold, checkpoint: readCheckpoint(hold.checkpoint, hold) };
  } catch {
    return { ...known, unreadable: 'it is not a JSON object' };
  }
}

/** The members that no default can stand for. */
function findFault(hold: HoldRow): string | null {
  const { openedAtMs, owner, draft, group, fromPlan, amount, checkpoint } = hold;
  if (!isWholeNumber(openedAtMs) || openedAtMs === 0) return 'openedAtMs is missing';
  if (typeof owner?.node !== 'string' || !isWholeNumber(owner.epoch)) return 'owner is missing';
  if (typeof draft?.model !== 'string' || typeof group !== 'string') return 'draft or group is missing';
  if (!isWholeNumber(amount) || !isWholeNumber(fromPlan) || fromPlan > amount) return 'an amount is missing';
  if (checkpoint !== null && !isWholeNumber(checkpoint?.cost)) return 'the cost of its checkpoint is missing';
  return null;
}

/** Version 0 has checkpoints without `error`, `planPaid`, `meters` and `admittedMs`. */
function readCheckpoint(stored: Partial<UsageRecord>, hold: HoldRow): UsageRecord {
  return { ...emptyRecord({ ...hold, ...hold.draft }), ...stored };
}
