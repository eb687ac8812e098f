// Changes of events, destinations and deliveries as bundles for the ledger.

import type { DeliveryStore, DestinationStore, Outbox, OutboxChange } from '../delivery/delivery.ts';
import type { EventStore } from '../events/events.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { submit } from './account-writes.ts';
import { eventRows } from './change-events.ts';
import type { CoCommittedRow } from './co-committed.ts';
import type { OutboxReads } from './event-reads.ts';

async function write(gate: LedgerGate, rows: CoCommittedRow[]): Promise<void> {
  if (rows.length > 0) await submit(gate, [], rows);
}

export function eventWrites(gate: LedgerGate): Pick<EventStore, 'emit' | 'changeFact'> {
  return {
    emit: (events, rows = []) => write(gate, [...eventRows(events), ...(rows as CoCommittedRow[])]),
    changeFact: (fact, events, rows = []) =>
      write(gate, [{ table: 'facts', ...fact }, ...eventRows(events), ...(rows as CoCommittedRow[])]),
  };
}

export function destinationWrites(gate: LedgerGate): Pick<DestinationStore, 'createDestination' | 'updateDestination'> {
  return {
    createDestination: (destination, auditContext) =>
      submit(gate, [], [{ table: 'destinations', destination }], auditContext),
    updateDestination: (destination, nowMs, auditContext) =>
      submit(gate, [], [{ table: 'destinations', destination, replaces: destination.version, nowMs }], auditContext),
  };
}

export function deliveryWrites(gate: LedgerGate): Pick<DeliveryStore, 'redeliver'> {
  return {
    redeliver: (seq, nowMs, auditContext) =>
      submit(gate, [], [{ table: 'deliveries', redelivered: seq, nowMs }], auditContext),
  };
}

/** The outbox of a node. `leader`: the node with its lease; null: it is the only one. */
export function makeOutbox(gate: LedgerGate, reads: OutboxReads, leader: () => string | null): Outbox {
  return {
    ...reads,
    write(changes) {
      const holder = leader();
      const fence: CoCommittedRow[] = holder === null ? [] : [{ table: 'leader', hold: holder }];
      return write(gate, [...fence, ...changes.map(changeRow)]);
    },
  };
}

function changeRow(change: OutboxChange): CoCommittedRow {
  return change.kind === 'emit' ? { table: 'events', event: change.event } : { table: 'deliveries', change };
}

/** Makes the node lead unless the lease of the leading node is valid. Throws Outpaced then. */
export function takeLead(gate: LedgerGate, leader: string, nowMs: number): Promise<void> {
  return write(gate, [{ table: 'leader', take: leader, nowMs }]);
}
