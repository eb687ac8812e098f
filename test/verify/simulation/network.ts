// The network between a node and its store: it delays requests and responses, keeps their order, loses some, and
// delivers some twice, the second time late.

import { TurnpikeError } from '../../../src/errors.ts';
import type { Answer, Bundle, LedgerGate, Operation } from '../../../src/ledger/ledger.ts';
import type { Chance } from './chance.ts';
import type { Process, Scheduler } from './scheduler.ts';
import type { Trace } from './trace.ts';

const LOST_MS = 1_000; // after which a node takes for lost what was not answered
const LATE_MS_MAX = 60_000;

export interface NetworkFaults {
  lostQuestion: number;
  lostAnswer: number;
  delivery: number;
}

export interface Network {
  scheduler: Scheduler;
  chance: Chance;
  trace: Trace;
  /** Null: it is reliable. */
  faults: NetworkFaults | null;
  delayMsMax: number;
  /** Where what comes late arrives: it needs no node that runs. */
  late: { gate: LedgerGate; process: Process };
  /** Whether the second delivery of an admission can find it undecided: nobody would end its message. */
  mayAdmitAgain(bundle: Bundle): boolean;
}

/** The gate as the process sees it across the network. */
export function acrossNetwork(network: Network, process: Process, gate: LedgerGate): LedgerGate {
  const { scheduler, chance, trace } = network;
  let askedUntilMs = 0;
  let answeredUntilMs = 0;
  const lose = (reject: (failure: unknown) => void) =>
    scheduler.after(LOST_MS, process, () =>
      reject(new TurnpikeError('store_unavailable', 'The ledger does not answer.')),
    );
  const answer = (done: () => void) => {
    answeredUntilMs = Math.max(answeredUntilMs, scheduler.nowMs + chance.between(0, network.delayMsMax));
    scheduler.after(answeredUntilMs - scheduler.nowMs, process, done);
  };
  const submit = (bundle: Bundle) =>
    new Promise<Answer[]>((resolve, reject) => {
      const { faults } = network;
      if (faults !== null && chance.is(faults.lostQuestion)) {
        trace.count('question lost');
        lose(reject);
        return;
      }
      const isAnswerLost = faults !== null && chance.is(faults.lostAnswer);
      if (faults !== null && chance.is(faults.delivery)) deliverLate(network, bundle);
      askedUntilMs = Math.max(askedUntilMs, scheduler.nowMs + chance.between(0, network.delayMsMax));
      scheduler.after(askedUntilMs - scheduler.nowMs, process, () => {
        const asked = gate.submit(bundle);
        if (isAnswerLost) {
          trace.count('answer lost');
          asked.catch(() => {}); // lost as well
          lose(reject);
          return;
        }
        asked.then(
          (answers) => answer(() => resolve(answers)),
          (failure) => answer(() => reject(failure)),
        );
      });
    });
  return { submit, batches: () => gate.batches() };
}

/** The same bundle once more, soon or up to a minute later, whatever became of its node meanwhile. */
function deliverLate(network: Network, bundle: Bundle): void {
  if (!bundle.operations.every(isSafeTwice)) return;
  const { scheduler, chance, trace, late } = network;
  const isAdmission = bundle.operations.some(({ kind }) => kind === 'admit');
  const lateMs = chance.is(0.5) ? chance.between(0, 200) : chance.between(200, LATE_MS_MAX);
  scheduler.after(lateMs, late.process, () => {
    if (network.faults === null || (isAdmission && !network.mayAdmitAgain(bundle))) return;
    trace.count(`delivered twice: ${bundle.operations[0]?.kind}`);
    // Now and then behind another operation, which is taken together with it.
    const operations = chance.is(0.5) ? bundle.operations : [{ kind: 'expire' } as const, ...bundle.operations];
    late.gate.submit({ ...bundle, operations }).catch(() => {}); // nobody waits for its answer
  });
}

/**
 * Operations that may reach the ledger twice, with the same answer or none. A new lease and terms are never sent
 * again.
 */
function isSafeTwice(operation: Operation): boolean {
  switch (operation.kind) {
    case 'set-account':
    case 'set-key':
    case 'take':
    case 'reserve': // nobody would give it back
      return false;
    case 'renew':
      return operation.epoch !== null;
    case 'credit':
      return operation.reference !== null;
    case 'refund':
      return operation.amount === 'all';
    default:
      return true;
  }
}
