// Rows of incidents: their statements and their reads, the same for both databases.

import { bounds } from '../config/config.ts';
import type { Incident, IncidentChange, IncidentStore } from '../incidents/incidents.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { submit } from './account-writes.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { readPage } from './readable-rows.ts';
import { columnsAs, type SqlReader } from './sql-reader.ts';
import { documents, readStored } from './stored-documents.ts';

export interface IncidentRow {
  table: 'incidents';
  change: IncidentChange;
}

/** One that another node has begun, or ended, stays as it is. */
export function incidentStatement({ change }: IncidentRow): CoCommittedStatement {
  if ('begin' in change) {
    const { name, account, beganAtMs, seenAtMs, facts } = change.begin;
    return {
      text: `INSERT INTO incidents (name, account_id, began_at_ms, seen_at_ms, document) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) WHERE ended_at_ms IS NULL DO NOTHING`,
      values: [name, account, beganAtMs, seenAtMs, JSON.stringify(facts)],
    };
  }
  const { seq, seenAtMs, endedAtMs, facts } = change.update;
  return {
    text: `UPDATE incidents SET seen_at_ms = $2, ended_at_ms = CAST($3 AS bigint), document = $4
       WHERE seq = $1 AND ended_at_ms IS NULL`,
    values: [seq, seenAtMs, endedAtMs, JSON.stringify(facts)],
  };
}

export function incidentWrites(gate: LedgerGate): Pick<IncidentStore, 'changeIncidents'> {
  return {
    changeIncidents: async (changes) => {
      for (let at = 0; at < changes.length; at += bounds.trafficRowsAtOnce) {
        const some = changes.slice(at, at + bounds.trafficRowsAtOnce);
        await submit(
          gate,
          [],
          some.flatMap((change) => {
            const event = 'event' in change ? change.event : undefined;
            const row = { table: 'incidents' as const, change };
            return event === undefined ? [row] : [row, { table: 'events' as const, event }];
          }),
        );
      }
    },
  };
}

export type IncidentReads = Omit<IncidentStore, keyof ReturnType<typeof incidentWrites>>;

type IncidentTable = Omit<Incident, 'facts'> & { document: string };

export function incidentReads(on: SqlReader): IncidentReads {
  const columns = columnsAs(on, 'r', ['seq', 'account', 'beganAtMs', 'seenAtMs', 'endedAtMs'], ['name', 'document']);
  const rows = (rest: string) => on.prepare<IncidentTable>(`SELECT ${columns} FROM incidents r ${rest}`);
  const open = rows('WHERE r.ended_at_ms IS NULL ORDER BY r.seq LIMIT $1 OFFSET $2');
  // Texts within the document have their quotes escaped.
  const ended = rows(
    'WHERE r.ended_at_ms >= $1 AND r.document LIKE $4 ORDER BY r.ended_at_ms DESC, r.seq DESC LIMIT $2 OFFSET $3',
  );
  const page = (limit: number, ask: (skipped: number) => Promise<IncidentTable[]>) =>
    readPage(on, limit, ask, ({ seq }) => seq, readIncident);
  return {
    listOpenIncidents: () => page(bounds.incidentsOpenMax, (skipped) => open(bounds.incidentsOpenMax, skipped)),
    listEndedIncidents: (sinceMs, limit, kind) =>
      page(limit, (skipped) =>
        ended(sinceMs, limit, skipped, kind === undefined ? '%' : `%"kind":${JSON.stringify(kind)}%`),
      ),
  };
}

function readIncident({ document, ...incident }: IncidentTable): Incident {
  return { ...incident, facts: readStored(documents.incident, document) };
}
