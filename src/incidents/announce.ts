// Events of incidents: each is reported once when it has begun, and once when it has ended. Those of a problem that another incident
// covers are not reported.

import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import { type Incident, type IncidentChange, onePerProblem } from './incident.ts';

const HOUR_MS = 3_600_000;

function dataOf({ seq, beganAtMs, facts }: Incident) {
  const { kind, severity, model, provider, key, subject, cause, said, requests } = facts;
  return {
    incident: formatId('inc', seq),
    kind,
    severity,
    since: new Date(beganAtMs).toISOString(),
    model,
    provider,
    key: key === null ? null : formatId('key', key),
    subject,
    cause,
    message: said,
    requests,
  };
}

function openedEvent(incident: Incident, atMs: number): NewEvent {
  const type = 'incident.opened';
  const { account, seq } = incident;
  return { atMs, account, type, data: dataOf(incident), dedupe: `${type} ${seq}` };
}

function endedEvent(incident: Incident, endedAtMs: number, atMs: number): NewEvent {
  const type = 'incident.ended';
  const { account, seq } = incident;
  const data = { ...dataOf(incident), ended_at: new Date(endedAtMs).toISOString() };
  return { atMs, account, type, data, dedupe: `${type} ${seq}` };
}

/** The changes, of which each that ends an incident has its event. */
export function withEndings(
  changes: readonly IncidentChange[],
  isReported: (incident: Incident) => boolean,
  nowMs: number,
): IncidentChange[] {
  return changes.map((change) => {
    const ended = 'update' in change ? change.update : null;
    if (ended === null || ended.endedAtMs === null || !isReported(ended)) return change;
    return { update: ended, event: endedEvent(ended, ended.endedAtMs, nowMs) };
  });
}

/** Reports of one node. After a restart, open incidents are reported again, and are stored as events once. */
export class IncidentReports {
  readonly #reported = new Set<number>();
  #hourMs = 0;
  #inHour = 0;

  isReported({ seq }: Incident): boolean {
    return this.#reported.has(seq);
  }

  /** The events of open incidents that were not reported: those of the installation first, and no more than the bound of an hour. */
  takeOpened(open: readonly Incident[], nowMs: number): NewEvent[] {
    if (nowMs >= this.#hourMs + HOUR_MS) [this.#hourMs, this.#inHour] = [nowMs, 0];
    const isOpen = new Set(open.map(({ seq }) => seq));
    for (const seq of this.#reported) if (!isOpen.has(seq)) this.#reported.delete(seq);
    const waiting = onePerProblem(open)
      .filter((incident) => !this.isReported(incident))
      .sort((one, other) => (one.account === null ? 0 : 1) - (other.account === null ? 0 : 1));
    const taken = waiting.slice(0, bounds.incidentReportsPerHourMax - this.#inHour);
    this.#inHour += taken.length;
    for (const { seq } of taken) this.#reported.add(seq);
    return taken.map((incident) => openedEvent(incident, nowMs));
  }
}
