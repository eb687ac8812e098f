// Makes a batch that breaks an invariant smaller while it still breaks it: fewer connections, then fewer requests, fewer
// mutations, and plainer ways to send and leave. Each try is made on a fresh service.

import type { Batch, Visit } from './plan.ts';

export type Breaks = (batch: Batch) => Promise<boolean>;

/** The smallest batch that was found until `isTimeUp`. */
export async function shrink(batch: Batch, breaks: Breaks, isTimeUp: () => boolean): Promise<Batch> {
  let smallest = await dropVisits(batch, breaks, isTimeUp);
  for (let at = 0; at < smallest.length; at++) {
    for (;;) {
      const visit = smallest[at] as Visit;
      let plainer: Batch | null = null;
      for (const other of plainerVisits(visit)) {
        if (isTimeUp()) return smallest;
        const tried = smallest.with(at, other);
        if (!(await breaks(tried))) continue;
        plainer = tried;
        break;
      }
      if (plainer === null) break;
      smallest = plainer;
    }
  }
  return smallest;
}

/** Halves first, then quarters, and so on to single ones. */
async function dropVisits(batch: Batch, breaks: Breaks, isTimeUp: () => boolean): Promise<Batch> {
  let kept = batch;
  for (let size = Math.ceil(kept.length / 2); kept.length > 1; ) {
    let hasDropped = false;
    for (let from = 0; from < kept.length && kept.length > 1; ) {
      if (isTimeUp()) return kept;
      const part = kept.slice(from, from + size);
      const rest = kept.toSpliced(from, size);
      if (part.length < kept.length && (await breaks(part))) {
        kept = part;
        hasDropped = true;
        break;
      }
      if (size < kept.length && kept.length > 2 * size && (await breaks(rest))) {
        kept = rest;
        hasDropped = true;
      } else from += size;
    }
    if (!hasDropped && size === 1) return kept;
    size = Math.max(1, Math.min(Math.ceil(size / 2), Math.ceil(kept.length / 2)));
  }
  return kept;
}

/** The same visit with one thing less, the greatest first. */
function* plainerVisits(visit: Visit): Generator<Visit> {
  const { requests } = visit;
  if (requests.length > 1) {
    for (const request of requests) yield { ...visit, requests: [request] };
    for (const at of requests.keys()) yield { ...visit, requests: requests.toSpliced(at, 1) };
  }
  for (const [at, request] of requests.entries())
    for (const place of request.mutations.keys()) {
      const less = { ...request, mutations: request.mutations.toSpliced(place, 1) };
      yield { ...visit, requests: requests.with(at, less) };
    }
  if (visit.ending !== 'answered') yield { ...visit, ending: 'answered' };
  if (visit.pieces > 1) yield { ...visit, pieces: 1 };
  if (visit.startMs > 0) yield { ...visit, startMs: 0 };
  if (visit.restMs > 0) yield { ...visit, restMs: 0 };
}
