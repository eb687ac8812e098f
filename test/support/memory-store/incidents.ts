// Incidents in memory.

import { bounds } from '../../../src/config/config.ts';
import type { Incident } from '../../../src/incidents/incidents.ts';
import type { IncidentReads, IncidentRow } from '../../../src/storage/incident-rows.ts';
import type { MemoryTables } from './tables.ts';

export function writeIncident({ incidents }: MemoryTables, { change }: IncidentRow): void {
  if ('update' in change) {
    const before = incidents.get(change.update.seq);
    if (before?.endedAtMs === null) incidents.set(before.seq, { ...change.update });
    return;
  }
  const { begin } = change;
  if ([...incidents.values()].some(({ name, endedAtMs }) => name === begin.name && endedAtMs === null)) return;
  const seq = Math.max(0, ...incidents.keys()) + 1;
  incidents.set(seq, { ...begin, seq, endedAtMs: null });
}

export function incidentReads({ incidents }: MemoryTables): IncidentReads {
  const ended = ({ endedAtMs }: Incident) => endedAtMs ?? 0;
  return {
    listOpenIncidents: async () =>
      [...incidents.values()].filter(({ endedAtMs }) => endedAtMs === null).slice(0, bounds.incidentsOpenMax),
    listEndedIncidents: async (sinceMs, limit, kind) =>
      [...incidents.values()]
        .filter(({ facts }) => kind === undefined || facts.kind === kind)
        .filter(({ endedAtMs }) => endedAtMs !== null && endedAtMs >= sinceMs)
        .sort((one, other) => ended(other) - ended(one) || other.seq - one.seq)
        .slice(0, limit),
  };
}
