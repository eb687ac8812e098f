// Reads of events, destinations and deliveries, the same for both databases. Lists of what grows are reports.

import type { DeliveryStore, DestinationStore, DueDelivery, ListedDelivery, Outbox } from '../delivery/delivery.ts';
import type { EventStore } from '../events/events.ts';
import { DocumentUnreadable } from './document-shape.ts';
import {
  type DeliveryTable,
  type DestinationTable,
  type EventTable,
  readDeliveryRow,
  readDestinationRow,
  readEventRow,
} from './event-rows.ts';
import { prepareCount, prepareOne, readPage, readRows } from './readable-rows.ts';
import { Bindings, columnsAs, newestFirst, pageStarts, type SqlReader } from './sql-reader.ts';
import type { ReportReads, ShortReads } from './stores.ts';

const eventColumns = (on: SqlReader, of: string) => columnsAs(on, of, ['seq', 'atMs', 'account'], ['type', 'document']);

const destinationNames = [
  ['id', 'accountId', 'createdAtMs', 'version', 'failingSinceMs', 'deliveredAtMs'],
  ['status', 'disabledReason', 'document'],
] as const;

const deliveryNames = [
  ['seq', 'eventSeq', 'destinationId', 'accountId', 'createdAtMs', 'tries', 'nextAtMs', 'doneAtMs'],
  ['status', 'attempts'],
] as const;

/** Columns of the event v of a delivery. */
const columnsOfEvent = (on: SqlReader) => columnsAs(on, 'v', ['atMs', 'account'], ['type', 'document'], 'event_');

/** Columns of the delivery r with its event v. */
const deliveryColumns = (on: SqlReader) => `${columnsAs(on, 'r', ...deliveryNames)}, ${columnsOfEvent(on)}`;

type DestinationReads = Pick<
  DestinationStore,
  'getDestination' | 'listDestinations' | 'countDestinations' | 'listSealedDestinations'
>;

type DeliveryShortReads = Pick<DeliveryStore, 'getDelivery' | 'countDeliveries'>;

export function eventShortReads(on: SqlReader): Pick<ShortReads, 'getEvent'> & DeliveryShortReads & DestinationReads {
  const event = `SELECT ${eventColumns(on, 'v')} FROM events v WHERE v.seq = $1`;
  const delivery = `SELECT ${deliveryColumns(on)} FROM deliveries r JOIN events v ON v.seq = r.event_seq WHERE r.seq = $1`;
  // Two parts, so that each has its index.
  const counts = on.prepare<{ waiting: number; dueSinceMs: number | null }>(
    `SELECT (SELECT ${on.number('count(*)')} FROM deliveries d WHERE d.status = 'pending') AS waiting,
       (SELECT ${on.number('min(d.next_at_ms)')} FROM deliveries d WHERE d.next_at_ms IS NOT NULL) AS "dueSinceMs"`,
  );
  return {
    countDeliveries: async () => (await counts())[0] ?? { waiting: 0, dueSinceMs: null },
    getEvent: prepareOne(on, event, readEventRow),
    getDelivery: prepareOne(on, delivery, readDeliveryRow),
    ...destinationReads(on),
  };
}

function destinationReads(on: SqlReader): DestinationReads {
  const columns = columnsAs(on, 'r', ...destinationNames);
  const text = (where: string) => `SELECT ${columns} FROM destinations r ${where}`;
  const prepare = (where: string) => on.prepare<DestinationTable>(text(where));
  const last = '(SELECT COALESCE(MAX(l.created_at_ms), -1) FROM destinations l WHERE l.id = $1), $1';
  const page = `(r.created_at_ms, r.id) > (${last}) ORDER BY r.created_at_ms, r.id LIMIT $2 OFFSET $3`;
  const all = prepare(`WHERE ${page}`);
  const ofAccount = prepare(`WHERE r.account_id = $4 AND ${page}`);
  const ofOperators = prepare(`WHERE r.account_id IS NULL AND ${page}`);
  const sealed = prepare('ORDER BY r.id');
  const count = prepareCount(on, 'destinations r', 'COALESCE(r.account_id, 0) = $1');
  return {
    getDestination: prepareOne(on, text('WHERE r.id = $1'), readDestinationRow),
    listDestinations({ accountId, after, limit }) {
      const ask = (skipped: number) => {
        const page = [after ?? 0, limit, skipped] as const;
        if (accountId === null) return all(...page);
        return accountId === 'operators' ? ofOperators(...page) : ofAccount(...page, accountId);
      };
      return readPage(on, limit, ask, idOf, readDestinationRow);
    },
    countDestinations: (accountId) => count(accountId ?? 0),
    listSealedDestinations: async () =>
      (await sealed()).map(readDestinationRow).filter(({ secrets }) => secrets.length > 0),
  };
}

export function eventLists(on: SqlReader): Pick<ReportReads, 'listEvents' | 'listDeliveries'> {
  return { listEvents: listEvents(on), listDeliveries: listDeliveries(on) };
}

function listEvents(on: SqlReader): EventStore['listEvents'] {
  const startOf = pageStarts(on, 'events');
  return async ({ account, types, limit, ...asked }) => {
    const bindings = new Bindings();
    const page = newestFirst(bindings, { sinceMs: asked.sinceMs, start: await startOf(asked) });
    const equal = account === null ? [] : ([['account_id', bindings.add(account)]] as const);
    const index = account === null ? 'events_in_order' : 'events_of_account';
    const where = types === null ? [] : [`r.type IN (${types.map((type) => bindings.add(type)).join(', ')})`];
    const range = on.range({ ...page, table: 'events', index, equal, where }, bindings);
    const text = `SELECT ${eventColumns(on, 'r')} ${range} LIMIT ${bindings.add(limit)}`;
    return (await on.read<EventTable>(text, ...bindings.values)).map(readEventRow);
  };
}

function listDeliveries(on: SqlReader): ReportReads['listDeliveries'] {
  const columns = columnsAs(on, 'r', ...deliveryNames);
  return async ({ accountId, destinationId, status, sinceMs, untilMs, before, limit }) => {
    const bindings = new Bindings();
    const equal: [string, string][] = [];
    if (destinationId !== null) equal.push(['destination_id', bindings.add(destinationId)]);
    else if (accountId !== null) equal.push(['account_id', bindings.add(accountId)]);
    const index = destinationId !== null ? 'deliveries_of_destination' : 'deliveries_of_account';
    const where = [
      ...(status === null ? [] : [`r.status = ${bindings.add(status)}`]),
      ...(sinceMs === null ? [] : [`r.created_at_ms >= ${bindings.add(sinceMs)}`]),
      ...(untilMs === null ? [] : [`r.created_at_ms <= ${bindings.add(untilMs)}`]),
      ...(destinationId !== null && accountId !== null ? [`r.account_id = ${bindings.add(accountId)}`] : []),
    ];
    const range = on.range(
      {
        table: 'deliveries',
        index: equal.length === 0 ? null : index,
        equal,
        order: ['seq'],
        direction: 'DESC',
        after: [bindings.add(before ?? Number.MAX_SAFE_INTEGER)],
        upTo: [bindings.add(0)],
        where,
      },
      bindings,
    );
    const found = `SELECT ${columns} ${range} LIMIT ${bindings.add(limit)}`;
    const text = `SELECT r.*, ${columnsOfEvent(on)} FROM (${found}) r JOIN events v ON v.seq = CAST(r."eventSeq" AS bigint) ORDER BY r.seq DESC`;
    return (await on.read<DeliveryTable>(text, ...bindings.values)).map(readDeliveryRow);
  };
}

const RECEIVERS_MAX = 1_000; // more than the bounds on destinations allow

export type OutboxReads = Omit<Outbox, 'write'>;

export function outboxReads(on: SqlReader): OutboxReads {
  const unspread = on.prepare<EventTable>(
    `SELECT ${eventColumns(on, 'v')} FROM events v WHERE v.spread = 0 ORDER BY v.seq LIMIT $1 OFFSET $2`,
  );
  const receivers = on.prepare<DestinationTable>(
    `SELECT ${columnsAs(on, 'r', ...destinationNames)} FROM destinations r
     WHERE (r.account_id IS NULL OR r.account_id = $1) AND r.status = 'enabled' LIMIT ${RECEIVERS_MAX}`,
  );
  const waiting = on.prepare<{ count: number }>(
    `SELECT ${on.number('count(*)')} AS count FROM (SELECT 1 FROM deliveries d
       WHERE d.destination_id = $1 AND d.lane = $2 AND d.status = 'pending' LIMIT $3) found`,
  );
  return {
    listUnspread: (limit, isKnown) =>
      readPage(
        on,
        limit,
        (skipped) => unspread(limit, skipped),
        ({ seq }) => seq,
        (row) => {
          if (isKnown(row.type)) return readEventRow(row);
          throw new DocumentUnreadable(`events.type: a later release wrote "${row.type}"`);
        },
      ),
    listReceivers: async (account) => readRows(on, await receivers(account ?? 0), idOf, readDestinationRow),
    countWaiting: async (destinationId, lane, limit) => (await waiting(destinationId, lane, limit))[0]?.count ?? 0,
    listDue: dueReads(on),
  };
}

function idOf({ id }: DestinationTable): number {
  return id;
}

type DueTable = DeliveryTable & Record<`to_${string}`, unknown>;

function dueReads(on: SqlReader): Outbox['listDue'] {
  const destination = columnsAs(on, 't', ...destinationNames, 'to_');
  const prepare = (isFailing: string) =>
    on.prepare<DueTable>(
      `SELECT ${deliveryColumns(on)}, ${destination} FROM deliveries r
       JOIN destinations t ON t.id = r.destination_id JOIN events v ON v.seq = r.event_seq
       WHERE r.next_at_ms <= $1 AND (r.next_at_ms, r.seq) > ($2, $3) AND t.status = 'enabled'
         AND t.failing_since_ms IS ${isFailing} ORDER BY r.next_at_ms, r.seq LIMIT $4 OFFSET $5`,
    );
  const [failing, others] = [prepare('NOT NULL'), prepare('NULL')];
  return ({ nowMs, isFailing, after, limit }) => {
    const due = isFailing ? failing : others;
    return readPage(
      on,
      limit,
      (skipped) => due(nowMs, after?.nextAtMs ?? -1, after?.seq ?? 0, limit, skipped),
      (row) => row.destinationId,
      (row): DueDelivery => {
        const [delivery, destination] = partsOf(row);
        const listed: ListedDelivery = readDeliveryRow(delivery);
        return { delivery: listed, event: listed.event, destination: readDestinationRow(destination) };
      },
    );
  };
}

function partsOf(row: DueTable): [DeliveryTable, DestinationTable] {
  const isOfDestination = ([name]: [string, unknown]) => name.startsWith('to_');
  const members = Object.entries(row);
  const destination = members.filter(isOfDestination).map(([name, value]) => [name.slice('to_'.length), value]);
  const delivery = members.filter((member) => !isOfDestination(member));
  return [Object.fromEntries(delivery), Object.fromEntries(destination)] as [DeliveryTable, DestinationTable];
}
