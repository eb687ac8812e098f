// Which incidents begin, go on and end, from what was found and what is open. Pure.

import { isDeepStrictEqual } from 'node:util';
import { bounds } from '../config/config.ts';
import type { Incident, IncidentChange, IncidentFacts } from './incident.ts';

/** A problem that was found. */
export interface Finding {
  name: string;
  account: number | null;
  /** Since when, as far as it is known. */
  sinceMs: number;
  /** When it was last seen; absent: now. */
  seenAtMs?: number;
  /** Bad enough to begin an incident. One that has begun goes on with any finding of its name. */
  begins: boolean;
  facts: IncidentFacts;
}

export interface Found {
  findings: readonly Finding[];
  /** Names whose problem is known to be over: their incidents end at once. */
  over: ReadonlySet<string>;
}

/**
 * An incident begins with a finding that is bad enough, and ends when none was found for `incidentQuietMs`, or the problem is known to
 * be over.
 */
export function followIncidents(open: readonly Incident[], { findings, over }: Found, nowMs: number): IncidentChange[] {
  const byName = new Map(open.map((incident) => [incident.name, incident]));
  const changes: IncidentChange[] = [];
  const seen = new Set<string>();
  let room = bounds.incidentsOpenMax - open.length;
  for (const { name, account, sinceMs, seenAtMs = nowMs, begins, facts } of findings) {
    if (over.has(name) || seen.has(name)) continue;
    const before = byName.get(name);
    if (before !== undefined) {
      seen.add(name);
      const update = { ...before, seenAtMs: Math.max(before.seenAtMs, seenAtMs), facts };
      if (nowMs - seenAtMs >= bounds.incidentQuietMs) changes.push(endOf(update, seenAtMs));
      else if (isWorthStoring(before, update)) changes.push({ update });
    } else if (begins && room > 0 && nowMs - seenAtMs < bounds.incidentQuietMs) {
      seen.add(name);
      room--;
      changes.push({ begin: { name, account, beganAtMs: sinceMs, seenAtMs, facts } });
    }
  }
  for (const incident of open) {
    const { name, seenAtMs } = incident;
    if (seen.has(name)) continue;
    if (over.has(name)) changes.push(endOf(incident, nowMs));
    else if (nowMs - seenAtMs >= bounds.incidentQuietMs) changes.push(endOf(incident, seenAtMs));
  }
  return changes;
}

function endOf(incident: Incident, endedAtMs: number): IncidentChange {
  return { update: { ...incident, endedAtMs: Math.max(endedAtMs, incident.beganAtMs) } };
}

/** Its figures have changed, or it was not stored for a while. */
function isWorthStoring(before: Incident, now: Incident): boolean {
  return (
    now.seenAtMs - before.seenAtMs >= bounds.incidentSeenEveryMs || !isDeepStrictEqual({ ...before.facts }, now.facts)
  );
}
