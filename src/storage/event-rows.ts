// Rows of events, destinations and deliveries: their statements and their reads, the same for both databases. The
// next delivery of a lane has the time at which it is due; those behind it have none until it is done.

import type { Delivery, Destination, ListedDelivery, OutboxChange } from '../delivery/delivery.ts';
import type { NewEvent, StoredEvent } from '../events/events.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { type DestinationDocument, documents, readOr, readStored } from './stored-documents.ts';

export type OutboxRow =
  | { table: 'events'; event: NewEvent }
  | { table: 'destinations'; destination: Destination }
  /** Refused as Outpaced unless the stored version is `replaces`. Pauses or continues its deliveries. */
  | { table: 'destinations'; destination: Destination; replaces: number; nowMs: number }
  /** Only the secrets, sealed anew. */
  | { table: 'destinations'; resealed: Destination }
  /** A value of the installation. Refused as Outpaced unless it is `from`; '' if there is none. */
  | { table: 'facts'; name: string; from: string; to: string }
  | { table: 'deliveries'; redelivered: number; nowMs: number }
  | { table: 'deliveries'; change: Exclude<OutboxChange, { kind: 'emit' }> }
  /** Refused as Outpaced unless this node leads. */
  | { table: 'leader'; hold: string }
  /** Refused as Outpaced while the lease of the leading node is valid. */
  | { table: 'leader'; take: string; nowMs: number };

/** A node with its lease: "node_… 7". */
export const LEADER = 'jobs_leader';

export function eventStatements(row: OutboxRow): CoCommittedStatement[] {
  if (row.table === 'events') return [insertEvent(row.event)];
  if (row.table === 'leader') return writeLeader(row);
  if (row.table === 'facts') return writeFact(row);
  if (row.table === 'destinations') return writeDestination(row);
  return 'change' in row ? writeChange(row.change) : [redeliver(row.redelivered, row.nowMs)];
}

function insertEvent({ atMs, account, type, dedupe, data }: NewEvent): CoCommittedStatement {
  return {
    text: `INSERT INTO events (at_ms, account_id, type, dedupe, document, spread) VALUES ($1, $2, $3, $4, $5, 0)
       ON CONFLICT (dedupe) DO NOTHING`,
    values: [atMs, account, type, dedupe, JSON.stringify(data)],
  };
}

function writeLeader(row: Extract<OutboxRow, { table: 'leader' }>): CoCommittedStatement[] {
  const race = 'another node runs the background jobs';
  if ('hold' in row) {
    const text = `UPDATE installation SET value = value WHERE name = '${LEADER}' AND value = $1`;
    return [{ text, values: [row.hold], race }];
  }
  const take = `UPDATE installation SET value = $1 WHERE name = '${LEADER}' AND NOT EXISTS (
    SELECT 1 FROM leases l WHERE l.node || ' ' || l.epoch = installation.value AND l.expires_at_ms > $2)`;
  return [
    {
      text: `INSERT INTO installation (name, value) VALUES ('${LEADER}', '') ON CONFLICT (name) DO NOTHING`,
      values: [],
    },
    { text: take, values: [row.take, row.nowMs], race },
  ];
}

function writeFact({ name, from, to }: Extract<OutboxRow, { table: 'facts' }>): CoCommittedStatement[] {
  return [
    { text: "INSERT INTO installation (name, value) VALUES ($1, '') ON CONFLICT (name) DO NOTHING", values: [name] },
    {
      text: 'UPDATE installation SET value = $2 WHERE name = $1 AND value = $3',
      values: [name, to, from],
      race: `"${name}" has changed since it was read`,
    },
  ];
}

/** The members of a destination that its document has. */
function documentOf(destination: Destination): string {
  const { kind, name, address, types, secrets, unsubscribedAtMs, madeBy } = destination;
  return JSON.stringify({ kind, name, address, types, secrets, unsubscribedAtMs, madeBy });
}

function writeDestination(row: Extract<OutboxRow, { table: 'destinations' }>): CoCommittedStatement[] {
  if ('resealed' in row) {
    const text = 'UPDATE destinations SET document = $2, version = version + 1 WHERE id = $1';
    return [{ text, values: [row.resealed.id, documentOf(row.resealed)] }];
  }
  const { id, accountId, createdAtMs, status, disabledReason } = row.destination;
  if (!('replaces' in row))
    return [
      {
        text: `INSERT INTO destinations (id, account_id, created_at_ms, status, version, document) VALUES ($1, $2, $3, $4, 1, $5)`,
        values: [id, accountId, createdAtMs, status, documentOf(row.destination)],
      },
    ];
  return [
    {
      text: `UPDATE destinations SET status = $3, disabled_reason = $4, document = $5, version = version + 1
         WHERE id = $1 AND version = $2`,
      values: [id, row.replaces, status, disabledReason, documentOf(row.destination)],
      race: 'the destination has changed since it was read',
    },
    status === 'enabled' ? resume(row.nowMs, id) : pause(id),
  ];
}

function pause(destinationId: number): CoCommittedStatement {
  const text = 'UPDATE deliveries SET next_at_ms = NULL WHERE destination_id = $1 AND next_at_ms IS NOT NULL';
  return { text, values: [destinationId] };
}

const FIRST = `NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.destination_id = deliveries.destination_id
  AND e.lane = deliveries.lane AND e.status = 'pending' AND e.event_seq < deliveries.event_seq)`;

/** The first delivery of each lane becomes due, of one destination or of all. */
function resume(nowMs: number, destinationId: number | null): CoCommittedStatement {
  const text = `UPDATE deliveries SET next_at_ms = $1 WHERE status = 'pending' AND next_at_ms IS NULL AND ${FIRST}`;
  if (destinationId !== null) return { text: `${text} AND destination_id = $2`, values: [nowMs, destinationId] };
  const enabled = `EXISTS (SELECT 1 FROM destinations t WHERE t.id = deliveries.destination_id AND t.status = 'enabled')`;
  return { text: `${text} AND ${enabled}`, values: [nowMs] };
}

function redeliver(seq: number, nowMs: number): CoCommittedStatement {
  return {
    text: `UPDATE deliveries SET next_at_ms = $2, status = 'pending', done_at_ms = NULL,
       tries = CASE WHEN status = 'pending' THEN tries ELSE 0 END WHERE seq = $1`,
    values: [seq, nowMs],
  };
}

function writeChange(change: Exclude<OutboxChange, { kind: 'emit' }>): CoCommittedStatement[] {
  switch (change.kind) {
    case 'spread':
      return spread(change);
    case 'attempted':
      return attempted(change);
    case 'health':
      return [writeHealth(change)];
    case 'disable':
      return disable(change);
    case 'resume':
      return [resume(change.atMs, null)];
  }
}

function spread({ event, atMs, to }: Extract<OutboxChange, { kind: 'spread' }>): CoCommittedStatement[] {
  const lane = event.account ?? 0;
  return [
    ...to.map(({ destinationId, accountId, skipped }): CoCommittedStatement => {
      const isSkipped = skipped !== null;
      const attempts = isSkipped ? [{ atMs, ms: 0, status: null, error: skipped, excerpt: null }] : [];
      const isDue = `CASE WHEN CAST($6 AS text) <> 'pending' OR EXISTS (SELECT 1 FROM deliveries e
        WHERE e.destination_id = $2 AND e.lane = $4 AND e.status = 'pending') THEN NULL ELSE CAST($5 AS bigint) END`;
      return {
        text: `INSERT INTO deliveries (event_seq, destination_id, account_id, lane, created_at_ms, status, next_at_ms,
             tries, done_at_ms, attempts) VALUES ($1, $2, $3, $4, $5, $6, ${isDue}, 0, $7, $8)
           ON CONFLICT (event_seq, destination_id) DO NOTHING`,
        values: [
          event.seq,
          destinationId,
          accountId,
          lane,
          atMs,
          isSkipped ? 'failed' : 'pending',
          isSkipped ? atMs : null,
          JSON.stringify(attempts),
        ],
      };
    }),
    { text: 'UPDATE events SET spread = 1 WHERE seq = $1', values: [event.seq] },
  ];
}

/** A delivery that was paused meanwhile stays without a time. */
function attempted({ delivery, lane, atMs }: Extract<OutboxChange, { kind: 'attempted' }>): CoCommittedStatement[] {
  const { seq, destinationId, status, tries, nextAtMs, doneAtMs, attempts } = delivery;
  const update = {
    text: `UPDATE deliveries SET status = $2, tries = $3, done_at_ms = $5, attempts = $6,
         next_at_ms = CASE WHEN next_at_ms IS NULL THEN NULL ELSE CAST($4 AS bigint) END
       WHERE seq = $1 AND status = 'pending'`,
    values: [seq, status, tries, nextAtMs, doneAtMs, JSON.stringify(attempts)],
  };
  if (status === 'pending') return [update];
  const next = {
    text: `UPDATE deliveries SET next_at_ms = $3 WHERE next_at_ms IS NULL AND seq = (
         SELECT e.seq FROM deliveries e WHERE e.destination_id = $1 AND e.lane = $2 AND e.status = 'pending'
         ORDER BY e.event_seq LIMIT 1)
       AND EXISTS (SELECT 1 FROM destinations t WHERE t.id = $1 AND t.status = 'enabled')`,
    values: [destinationId, lane, atMs],
  };
  return [update, next];
}

function writeHealth(change: Extract<OutboxChange, { kind: 'health' }>): CoCommittedStatement {
  const { destinationId, isDelivered, isSlow, atMs } = change;
  const sinceMs = 'CAST($2 AS bigint)';
  const changes = [
    `failing_since_ms = ${isDelivered && !isSlow ? 'NULL' : `COALESCE(failing_since_ms, ${sinceMs})`}`,
    ...(isDelivered ? [`delivered_at_ms = ${sinceMs}`] : []),
  ];
  const text = `UPDATE destinations SET ${changes.join(', ')} WHERE id = $1`;
  return { text, values: [destinationId, atMs] };
}

function disable({ destinationId, reason }: Extract<OutboxChange, { kind: 'disable' }>): CoCommittedStatement[] {
  const text = `UPDATE destinations SET status = 'disabled', disabled_reason = $2, version = version + 1
    WHERE id = $1 AND status = 'enabled'`;
  return [{ text, values: [destinationId, reason] }, pause(destinationId)];
}

/** Rows with the names of members, and JSON that is not read yet. */
export type EventTable = Omit<StoredEvent, 'data'> & { document: string };

export function readEventRow({ document, ...event }: EventTable): StoredEvent {
  return { ...event, data: readOr(documents.event, document, (unreadable) => ({ unreadable })) };
}

export type DestinationTable = Omit<Destination, keyof DestinationDocument> & { document: string };

export function readDestinationRow({ document, ...destination }: DestinationTable): Destination {
  return { ...destination, ...readStored(documents.destination, document) };
}

export interface DeliveryTable extends Omit<Delivery, 'attempts'> {
  attempts: string;
  event_atMs: number;
  event_account: number | null;
  event_type: StoredEvent['type'];
  event_document: string;
}

export function readDeliveryRow(row: DeliveryTable): ListedDelivery {
  const { event_atMs: atMs, event_account: account, event_type: type, event_document: document, ...delivery } = row;
  return {
    ...delivery,
    attempts: readOr(documents.deliveryAttempts, row.attempts, () => []),
    event: readEventRow({ seq: row.eventSeq, atMs, account, type, document }),
  };
}
