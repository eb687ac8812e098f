// Applies a batch: decides each bundle in order over one set of rows. Pure: takes stored rows, returns the changes
// to write and one answer per operation.

import { BrokenInvariant } from '../base/assert.ts';
import { admit, reserve, take } from './admit.ts';
import { changePlan, credit, payPlan, refund, setAccount, setKey, setPerson, setPlan } from './credit.ts';
import { expireHold, extend, findLapsedHolds, giveBack, leave, release, settle } from './end-hold.ts';
import type { Answer, Bundle, Expire, Operation, Renew, StuckHold } from './operation.ts';
import type { ChangeableRows, Changes, Effect, HoldRow, LeaseRow, Rows } from './rows.ts';
import { StagedRows } from './staged-rows.ts';

/** Takes a new epoch, or renews the lease if the node's epoch is current. */
function renew(rows: Rows, operation: Renew): Effect {
  const lease = rows.lease(operation.node);
  const epoch = operation.epoch ?? (lease?.epoch ?? 0) + 1;
  if (operation.epoch !== null && lease?.epoch !== operation.epoch) return { answer: { ok: false, reason: 'ended' } };
  if (operation.unlessLapsed === true && lease !== undefined && rows.nowMs >= lease.expiresAtMs)
    return { answer: { ok: false, reason: 'lapsed' } };
  return {
    answer: { ok: true, kind: 'lease', epoch },
    leases: [{ node: operation.node, epoch, expiresAtMs: rows.nowMs + operation.leaseMs }],
  };
}

/** Lapsed leases with their epochs increased: their nodes must take a new epoch. */
function moveLapsedLeases(rows: Rows, _operation: Expire): LeaseRow[] {
  const moved: LeaseRow[] = [];
  for (const lease of rows.leases()) {
    if (lease.expiresAtMs > 0 && lease.expiresAtMs <= rows.nowMs)
      moved.push({ ...lease, epoch: lease.epoch + 1, expiresAtMs: 0 });
  }
  return moved;
}

/** Decides every bundle in order. If one operation of a bundle is refused, the whole bundle changes nothing. */
export function applyBatch(rows: Rows, bundles: readonly Bundle[]): { answers: Answer[][]; changes: Changes } {
  const staged = new StagedRows(rows);
  const answers: Answer[][] = [];
  for (const bundle of bundles) {
    if (bundle.operations.length === 1) answers.push([applyAlone(staged, bundle)]);
    else answers.push(applyTogether(staged, bundle));
  }
  return { answers, changes: staged.changes() };
}

function applyAlone(staged: StagedRows, bundle: Bundle): Answer {
  const answer = applyOperation(staged, bundle.operations[0] as Operation);
  // A repeated credit changes nothing, so its co-committed rows are not written either.
  const isChange = answer.ok && !(answer.kind === 'credited' && answer.repeated);
  if (isChange && bundle.coCommitted !== undefined) staged.putCoCommitted(bundle.coCommitted);
  return answer;
}

function applyTogether(staged: StagedRows, bundle: Bundle): Answer[] {
  const attempt = new StagedRows(staged);
  const answers = bundle.operations.map((operation) => applyOperation(attempt, operation));
  if (answers.some((answer) => !answer.ok)) {
    return answers.map((answer) => (answer.ok ? { ok: false, reason: 'bundle_refused' } : answer));
  }
  attempt.putCoCommitted(bundle.coCommitted ?? []);
  staged.absorb(attempt);
  return answers;
}

/** Decides one operation and puts its effect. */
export function applyOperation(rows: ChangeableRows, operation: Operation): Answer {
  if (operation.kind === 'expire') {
    const lapsed = findLapsedHolds(rows, operation);
    const stuck: StuckHold[] = [];
    for (const hold of lapsed) {
      const reason = expireOne(rows, hold);
      if (reason !== null) stuck.push({ requestId: hold.requestId, reason });
    }
    const answer: Answer = { ok: true, kind: 'expired', holds: lapsed.length - stuck.length, stuck };
    rows.put({ answer, leases: moveLapsedLeases(rows, operation) });
    return answer;
  }
  const effect = decide(rows, operation);
  rows.put(effect);
  return effect.answer;
}

/** Ends a lapsed hold, or returns why it stays: one that cannot be ended must not keep others. */
function expireOne(rows: ChangeableRows, hold: HoldRow): string | null {
  if (hold.unreadable !== undefined) return hold.unreadable;
  try {
    rows.put(expireHold(rows, hold)); // puts all or nothing
    return null;
  } catch (fault) {
    if (fault instanceof BrokenInvariant) return fault.message;
    throw fault;
  }
}

function decide(rows: Rows, operation: Exclude<Operation, { kind: 'expire' }>): Effect {
  switch (operation.kind) {
    case 'admit':
      return admit(rows, operation);
    case 'settle':
      return settle(rows, operation);
    case 'take':
      return take(rows, operation);
    case 'reserve':
      return reserve(rows, operation);
    case 'give-back':
      return giveBack(rows, operation);
    case 'extend':
      return extend(rows, operation);
    case 'leave':
      return leave(rows, operation);
    case 'release':
      return release(rows, operation);
    case 'credit':
      return credit(rows, operation);
    case 'refund':
      return refund(rows, operation);
    case 'plan-payment':
      return payPlan(rows, operation);
    case 'set-plan':
      return setPlan(rows, operation);
    case 'change-plan':
      return changePlan(rows, operation);
    case 'set-account':
      return setAccount(rows, operation);
    case 'set-key':
      return setKey(rows, operation);
    case 'set-person':
      return setPerson(rows, operation);
    case 'renew':
      return renew(rows, operation);
  }
}
