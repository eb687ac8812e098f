// A batch: many bundles decided one after the other over one set of rows. Pure: what is stored
// comes in as Rows, what is to be written goes out as Changes, with an answer for every operation.

import { admit, take } from './admit.ts';
import { credit, setAccount, setKey } from './credit.ts';
import { expireHold, extend, findLapsedHolds, leave, release, settle } from './end-hold.ts';
import { moveLapsedLeases, renew } from './lease.ts';
import type { Answer, Bundle, Operation } from './operation.ts';
import { refund } from './refund.ts';
import type { Changes, Effect, Rows } from './rows.ts';
import { StagedRows } from './staged-rows.ts';

/** Decides every bundle in order. A bundle of which one operation is refused changes nothing at all. */
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
  // A credit that was given before changes nothing, so nothing is written of it either.
  const isChange = answer.ok && !(answer.kind === 'credited' && answer.repeated);
  if (isChange && bundle.alongside !== undefined) staged.putAlongside(bundle.alongside);
  return answer;
}

function applyTogether(staged: StagedRows, bundle: Bundle): Answer[] {
  const attempt = new StagedRows(staged);
  const answers = bundle.operations.map((operation) => applyOperation(attempt, operation));
  if (answers.some((answer) => !answer.ok)) {
    return answers.map((answer) => (answer.ok ? { ok: false, reason: 'bundle_refused' } : answer));
  }
  attempt.putAlongside(bundle.alongside ?? []);
  staged.absorb(attempt);
  return answers;
}

function applyOperation(staged: StagedRows, operation: Operation): Answer {
  if (operation.kind === 'expire') {
    const holds = findLapsedHolds(staged, operation);
    for (const hold of holds) staged.put(expireHold(staged, hold));
    const answer: Answer = { ok: true, kind: 'expired', holds: holds.length };
    staged.put({ answer, leases: moveLapsedLeases(staged, operation) });
    return answer;
  }
  const effect = decide(staged, operation);
  staged.put(effect);
  return effect.answer;
}

function decide(rows: Rows, operation: Exclude<Operation, { kind: 'expire' }>): Effect {
  switch (operation.kind) {
    case 'admit':
      return admit(rows, operation);
    case 'settle':
      return settle(rows, operation);
    case 'take':
      return take(rows, operation);
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
    case 'set-account':
      return setAccount(rows, operation);
    case 'set-key':
      return setKey(rows, operation);
    case 'renew':
      return renew(rows, operation);
  }
}
