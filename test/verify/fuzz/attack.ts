// One batch against a running service: all its visits at once, with bystanders beside them, and the invariants after it.

import { attend } from './bystanders.ts';
import type { Installation } from './installation.ts';
import { findBroken, type HighWater } from './invariants.ts';
import { type Batch, renderVisit } from './plan.ts';
import { findFault } from './read-transcript.ts';
import { makeVisit } from './wire-client.ts';

export interface Counts {
  visits: number;
  requests: number;
  bytes: number;
  /** How many answers had each status. */
  statuses: Map<string, number>;
}

/** The broken invariant, as "name: observation"; null if none is broken. */
export async function attack(
  installation: Installation,
  batch: Batch,
  state: { batches: number; high: HighWater; counts: Counts; quietMsMax: number },
): Promise<string | null> {
  const { port, attacker, secrets } = installation;
  state.batches++;
  let isOver = false;
  const attended = attend(installation, () => isOver);
  const faults = await Promise.all(
    batch.map(async (visit) => {
      const rendered = renderVisit(visit, attacker);
      const transcript = await makeVisit(visit, rendered, port);
      state.counts.visits++;
      state.counts.requests += rendered.methods.length;
      state.counts.bytes += transcript.received.byteLength;
      countStatuses(state.counts.statuses, transcript.received);
      const fault = findFault(visit, rendered, transcript, secrets);
      return fault === null ? null : `answer: on connection ${visit.place}: ${fault}`;
    }),
  );
  isOver = true;
  const unserved = await attended;
  const wrong = faults.find((fault) => fault !== null);
  if (wrong !== undefined) return wrong;
  if (unserved !== null) return `bystander: ${unserved}`;
  return findBroken(installation, state.batches, state.high, state.quietMsMax);
}

function countStatuses(statuses: Map<string, number>, received: Buffer): void {
  const found = [...received.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status as string);
  for (const status of found.length === 0 ? ['none'] : found) statuses.set(status, (statuses.get(status) ?? 0) + 1);
}
