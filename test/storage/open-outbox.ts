// An outbox over a real database, receivers on loopback, and a dispatcher whose time a test sets.

import { DAY_MS } from '../../src/base/clock.ts';
import {
  type Destination,
  Dispatcher,
  destinationContext,
  type ListedDelivery,
  makeChannels,
  makeWebhookSecret,
  type Outbox,
} from '../../src/delivery/delivery.ts';
import type { NewEvent } from '../../src/events/events.ts';
import { openVault } from '../../src/secrets/secrets.ts';
import type { OutboxReads } from '../../src/storage/event-reads.ts';
import { makeOutbox } from '../../src/storage/event-writes.ts';
import type { Stores } from '../../src/storage/stores.ts';
import { manualClock } from '../support/manual-clock.ts';
import { noAuditContext } from '../support/no-audit-context.ts';

export const START_MS = Date.UTC(2026, 10, 20, 10);
export const vault = openVault(Buffer.alloc(32, 1));

export interface OpenedOutbox {
  stores: Stores & { outbox: OutboxReads };
  close(): void | Promise<void>;
}

/** One request that a receiver got. */
export interface Received {
  path: string;
  id: string;
  headers: Record<string, string>;
  body: string;
}

export interface Bench extends AsyncDisposable {
  stores: OpenedOutbox['stores'];
  outbox: Outbox;
  clock: ReturnType<typeof manualClock>;
  received: Received[];
  /** The answer by path; 200 by default. */
  answers: Map<string, (request: Request) => Response | Promise<Response>>;
  url(path: string): string;
  dispatcher: Dispatcher;
  /** A new dispatcher that knows nothing of what another one began, as after a crash. */
  restart(): Dispatcher;
  addDestination(path: string, more?: Partial<Destination>): Promise<Destination>;
  emit(...events: Partial<NewEvent>[]): Promise<void>;
  /** Rounds until nothing is in flight or due. */
  settle(): Promise<void>;
  deliveries(): Promise<ListedDelivery[]>;
}

/** Receivers on loopback, which note every request. */
function startReceivers(received: Received[], answers: Bench['answers']) {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const path = new URL(request.url).pathname;
      const headers = Object.fromEntries(request.headers);
      received.push({ path, id: headers['webhook-id'] ?? '', headers, body: await request.text() });
      return (await answers.get(path)?.(request)) ?? new Response('ok');
    },
  });
}

function destinationOf(id: number, path: string, address: string, nowMs: number): Destination {
  const sealed = vault.seal(makeWebhookSecret().reveal(), destinationContext({ id }));
  return {
    id,
    accountId: null,
    kind: 'webhook',
    name: path,
    address,
    types: ['*'],
    secrets: [{ sealed, endsAtMs: null }],
    unsubscribedAtMs: null,
    madeBy: 'local',
    createdAtMs: nowMs,
    status: 'enabled',
    disabledReason: null,
    version: 1,
    failingSinceMs: null,
    deliveredAtMs: null,
  };
}

const ALL = {
  accountId: null,
  destinationId: null,
  status: null,
  sinceMs: null,
  untilMs: null,
  before: null,
  limit: 1_000,
};

async function settle(dispatcher: Dispatcher): Promise<void> {
  for (let rounds = 0; rounds < 1_000; rounds++) {
    await dispatcher.round();
    if (dispatcher.inFlight === 0) return;
    await dispatcher.finish();
  }
  throw new Error('the dispatcher does not come to rest');
}

export async function openBench(open: (clock: ReturnType<typeof manualClock>) => unknown): Promise<Bench> {
  const clock = manualClock(START_MS);
  const { stores, close } = (await open(clock)) as OpenedOutbox;
  const outbox = makeOutbox(stores.gate, stores.outbox, () => null);
  const received: Received[] = [];
  const answers: Bench['answers'] = new Map();
  const server = startReceivers(received, answers);
  const channels = makeChannels({
    vault,
    nowMs: clock.nowMs,
    version: 'test',
    lookup: async () => ['127.0.0.1'],
    privateNetwork: () => 'everyone',
    accountName: async (id) => `account ${id}`,
    nameOf: async () => null,
    mail: null,
  });
  const makeDispatcher = () => new Dispatcher({ outbox, channels, clock, random: () => 0.5 });
  let number = 1;
  await makeAccounts(stores);
  const bench: Bench = {
    ...{ stores, outbox, clock, received, answers },
    url: (path) => `http://127.0.0.1:${server.port}${path}`,
    dispatcher: makeDispatcher(),
    restart() {
      bench.dispatcher = makeDispatcher();
      return bench.dispatcher;
    },
    async addDestination(path, more = {}) {
      const destination = { ...destinationOf(++number, path, bench.url(path), clock.nowMs()), ...more };
      await stores.destinations.createDestination(destination, noAuditContext);
      return destination;
    },
    emit: (...events) => stores.events.emit(events.map((event) => eventOf(clock.nowMs(), event))),
    settle: () => settle(bench.dispatcher),
    deliveries: async () => (await stores.deliveries.listDeliveries(ALL)).reverse(),
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      await bench.dispatcher.finish().catch(() => {});
      await close();
    },
  };
  return bench;
}

function eventOf(atMs: number, event: Partial<NewEvent>): NewEvent {
  const data = { threshold: '1.00', available: '0.50' };
  return { atMs, account: 7, type: 'balance.low', data, dedupe: null, ...event } as NewEvent;
}

async function makeAccounts({ accounts }: Stores): Promise<void> {
  const terms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
  for (const id of [7, 8, 9]) {
    const account = {
      id,
      name: `account ${id}`,
      groups: ['default'],
      status: 'enabled',
      createdAtMs: START_MS,
    } as const;
    await accounts.createAccount(account, terms, null, noAuditContext);
  }
}

export const THREE_DAYS_MS = 3 * DAY_MS;
