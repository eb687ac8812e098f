// Events, destinations and deliveries in memory: what the admin API reads and writes. Nothing is sent from here.

import type { Destination, ListedDelivery } from '../../../src/delivery/delivery.ts';
import type { CoCommittedRow } from '../../../src/storage/co-committed.ts';
import type { OutboxRow } from '../../../src/storage/event-rows.ts';
import type { ReportReads, ShortReads } from '../../../src/storage/stores.ts';
import type { MemoryTables } from './tables.ts';

/** Whether another change of the same destination came first. */
interface Range {
  sinceMs: number | null;
  untilMs: number | null;
}

function isIn({ sinceMs, untilMs }: Range, atMs: number): boolean {
  return atMs >= (sinceMs ?? 0) && atMs <= (untilMs ?? Number.MAX_SAFE_INTEGER);
}

export function isDestinationOutpaced({ destinations }: MemoryTables, row: CoCommittedRow): boolean {
  if (!('replaces' in row) || row.table !== 'destinations') return false;
  return destinations.get(row.destination.id)?.version !== row.replaces;
}

export function writeEventRow(tables: MemoryTables, row: Exclude<OutboxRow, { table: 'leader' }>): void {
  if (row.table === 'events') writeEvent(tables, row);
  else if (row.table === 'facts') tables.installation.set(row.name, row.to);
  else if (row.table === 'destinations') {
    const destination: Destination = 'resealed' in row ? row.resealed : row.destination;
    const isNew = !('replaces' in row || 'resealed' in row);
    const version = isNew ? 1 : destination.version + 1;
    tables.destinations.set(destination.id, { ...destination, version });
  } else if ('redelivered' in row) {
    const { redelivered: seq, nowMs } = row;
    const delivery = tables.deliveries.get(seq);
    if (delivery !== undefined)
      tables.deliveries.set(seq, { ...delivery, status: 'pending', nextAtMs: nowMs, doneAtMs: null });
  }
}

function writeEvent({ events }: MemoryTables, { event }: Extract<OutboxRow, { table: 'events' }>): void {
  const { dedupe } = event;
  if (dedupe !== null && [...events.values()].some((other) => other.dedupe === dedupe)) return;
  const seq = Math.max(0, ...events.keys()) + 1;
  events.set(seq, { ...event, seq });
}

type EventReads = Pick<ShortReads, 'getEvent' | 'getDelivery' | 'countDeliveries' | 'getDestination'> &
  Pick<ShortReads, 'listDestinations'> &
  Pick<ShortReads, 'countDestinations' | 'listSealedDestinations'> &
  Pick<ReportReads, 'listEvents' | 'listDeliveries'>;

export function eventReads({ events, destinations, deliveries }: MemoryTables): EventReads {
  const listed = (seq: number): ListedDelivery | null => {
    const delivery = deliveries.get(seq);
    const event = delivery && events.get(delivery.eventSeq);
    return delivery && event ? { ...delivery, event } : null;
  };
  const inOrder = () =>
    [...destinations.values()].sort((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id);
  return {
    getEvent: async (seq) => events.get(seq) ?? null,
    getDelivery: async (seq) => listed(seq),
    async countDeliveries() {
      const due = [...deliveries.values()].flatMap(({ nextAtMs }) => nextAtMs ?? []);
      const waiting = [...deliveries.values()].filter(({ status }) => status === 'pending').length;
      return { waiting, dueSinceMs: due.length === 0 ? null : Math.min(...due) };
    },
    getDestination: async (id) => destinations.get(id) ?? null,
    async listDestinations({ accountId, after, limit }) {
      const of = inOrder().filter(
        (one) => accountId === null || one.accountId === (accountId === 'operators' ? null : accountId),
      );
      const at = of.findIndex(({ id }) => id === after);
      return of.slice(at + 1, at + 1 + limit);
    },
    countDestinations: async (accountId) => inOrder().filter((one) => one.accountId === accountId).length,
    listSealedDestinations: async () => inOrder().filter(({ secrets }) => secrets.length > 0),
    async listEvents({ account, types, before, limit, ...range }) {
      return [...events.values()]
        .filter((event) => (account === null || event.account === account) && (types?.includes(event.type) ?? true))
        .filter(({ seq, atMs }) => (before === null || seq < before) && isIn(range, atMs))
        .sort((one, other) => other.atMs - one.atMs || other.seq - one.seq)
        .slice(0, limit);
    },
    async listDeliveries({ accountId, destinationId, status, before, limit, ...range }) {
      return [...deliveries.values()]
        .filter((one) => accountId === null || one.accountId === accountId)
        .filter((one) => destinationId === null || one.destinationId === destinationId)
        .filter((one) => status === null || one.status === status)
        .filter(({ seq, createdAtMs }) => (before === null || seq < before) && isIn(range, createdAtMs))
        .sort((one, other) => other.seq - one.seq)
        .slice(0, limit)
        .flatMap(({ seq }) => listed(seq) ?? []);
    },
  };
}
