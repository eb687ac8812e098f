// The guarantees of events and their deliveries, on every database: each is delivered at least once with one id, in
// order, whatever crashes; and no receiver delays another.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import { destinationContext, makeWebhookSecret } from '../../src/delivery/delivery.ts';
import { nextTryMs } from '../../src/delivery/retries.ts';
import { isEventType } from '../../src/events/events.ts';
import { Outpaced } from '../../src/ledger/ledger.ts';
import { makeOutbox, takeLead } from '../../src/storage/event-writes.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { type Bench, openBench, THREE_DAYS_MS, vault } from './open-outbox.ts';

type Open = Parameters<typeof openBench>[0];

export function outboxConformance(open: Open): void {
  storing(open);
  sending(open);
  sendingAgain(open);
  failing(open);
  bounding(open);
  crashing(open);
  leading(open);
}

function pathsOf({ received }: Bench): string[] {
  return received.map(({ path }) => path);
}

function storing(open: Open): void {
  test('an event is stored once for each text of `dedupe`, and lists have it by account and type', async () => {
    await using bench = await openBench(open);
    await bench.emit({ dedupe: 'one' }, { dedupe: 'one' }, { dedupe: 'two', account: 8 });
    await bench.emit({ dedupe: 'one' }, { account: null, type: 'backup.failed', data: { reason: 'disk full' } });
    const list = (more: object) =>
      bench.stores.events.listEvents({
        account: null,
        types: null,
        sinceMs: null,
        untilMs: null,
        before: null,
        limit: 10,
        ...more,
      });
    const all = await list({});
    expect(all.map(({ account, type }) => [account, type])).toEqual([
      [null, 'backup.failed'],
      [8, 'balance.low'],
      [7, 'balance.low'],
    ]);
    expect((await list({ account: 7 })).map(({ seq }) => seq)).toEqual([all[2]?.seq as number]);
    expect(await list({ types: ['backup.failed'] })).toEqual(all.slice(0, 1));
    expect(await list({ before: all[0]?.seq, limit: 1 })).toEqual(all.slice(1, 2));
    expect(await bench.stores.events.getEvent(all[1]?.seq as number)).toEqual(all[1] ?? null);
    expect(await bench.stores.events.getEvent(12_345)).toBeNull();
  });

  test('a fact changes with its events once, and a second change of the same fact is outpaced', async () => {
    await using bench = await openBench(open);
    const { events } = bench.stores;
    const event = { atMs: 1, account: null, type: 'provider.failing', dedupe: null } as const;
    const data = { provider: 'p', since: new Date(1).toISOString() };
    const change = () => events.changeFact({ name: 'fact', from: '', to: 'x' }, [{ ...event, data }]);
    await change();
    expect(await change().catch((failure: unknown) => failure)).toBeInstanceOf(Outpaced);
    expect(await events.readFact('fact')).toBe('x');
    expect(await events.readFact('another')).toBe('');
    expect(
      await events.listEvents({ account: null, types: null, sinceMs: null, untilMs: null, before: null, limit: 10 }),
    ).toHaveLength(1);
  });

  test('a destination is listed by account, and a change of an old version is outpaced', async () => {
    await using bench = await openBench(open);
    const { destinations } = bench.stores;
    const own = await bench.addDestination('/own');
    const ofSeven = await bench.addDestination('/seven', { accountId: 7 });
    expect(await destinations.getDestination(ofSeven.id)).toEqual(ofSeven);
    const ids = async (accountId: number | 'operators' | null, after: number | null = null) =>
      (await destinations.listDestinations({ accountId, after, limit: 10 })).map(({ id }) => id);
    expect([await ids(null), await ids(7), await ids('operators'), await ids(null, own.id)]).toEqual([
      [own.id, ofSeven.id],
      [ofSeven.id],
      [own.id],
      [ofSeven.id],
    ]);
    expect([await destinations.countDestinations(7), await destinations.countDestinations(null)]).toEqual([1, 1]);
    await destinations.updateDestination({ ...own, name: 'new' }, 1, noAuditContext);
    expect(await destinations.getDestination(own.id)).toMatchObject({ name: 'new', version: 2 });
    const late = destinations.updateDestination({ ...own, name: 'late' }, 1, noAuditContext);
    expect(await late.catch((failure: unknown) => failure)).toBeInstanceOf(Outpaced);
  });
}

function sending(open: Open): void {
  test('an event reaches each destination that wants it, and no other account’s', async () => {
    await using bench = await openBench(open);
    await bench.addDestination('/operators');
    await bench.addDestination('/seven', { accountId: 7 });
    await bench.addDestination('/eight', { accountId: 8 });
    await bench.addDestination('/keys', { accountId: 7, types: ['key.*'] });
    await bench.addDestination('/disabled', { accountId: 7, status: 'disabled' });
    await bench.emit({});
    await bench.emit({ type: 'message.written_off', data: { request: 'req_1', key: 'key_1', amount: '1.00' } });
    await bench.settle();
    expect(pathsOf(bench).sort()).toEqual(['/operators', '/operators', '/seven']);
    expect((await bench.deliveries()).map(({ status }) => status)).toEqual(['delivered', 'delivered', 'delivered']);
  });

  test('events of one account arrive in order, also when the first attempt fails', async () => {
    await using bench = await openBench(open);
    await bench.addDestination('/hook');
    let failures = 2;
    bench.answers.set('/hook', () => new Response('no', { status: failures-- > 0 ? 500 : 200 }));
    for (let count = 0; count < 5; count++) await bench.emit({});
    await bench.settle();
    expect(bench.received).toHaveLength(1);
    for (let tries = 1; tries <= 2; tries++) {
      bench.clock.advance((nextTryMs(tries, 0, 0.5) as number) + 1);
      await bench.settle();
    }
    const ids = bench.received.map(({ id }) => id);
    expect(ids).toEqual([ids[0], ids[0], ...[...new Set(ids)].sort()] as string[]);
    expect(new Set(ids).size).toBe(5);
  });

  test('an event that one account’s receiver refuses does not delay events of another account', async () => {
    await using bench = await openBench(open);
    await bench.addDestination('/operators');
    bench.answers.set('/operators', () => new Response('', { status: bench.received.length === 1 ? 500 : 200 }));
    await bench.emit({ account: 7 });
    await bench.settle();
    await bench.emit({ account: 7 }, { account: 8 });
    await bench.settle();
    expect((await bench.deliveries()).map(({ status }) => status)).toEqual(['pending', 'pending', 'delivered']);
  });
}

function sendingAgain(open: Open): void {
  test('a rotated secret signs beside the new one until it expires', async () => {
    await using bench = await openBench(open);
    const destination = await bench.addDestination('/hook');
    const context = destinationContext(destination);
    const sealed = vault.seal(makeWebhookSecret().reveal(), context);
    const [former] = destination.secrets;
    const endsAtMs = bench.clock.nowMs() + bounds.webhookSecretGraceMs;
    const secrets = [
      { sealed, endsAtMs: null },
      { sealed: former?.sealed ?? '', endsAtMs },
    ];
    await bench.stores.destinations.updateDestination({ ...destination, secrets }, 1, noAuditContext);
    await bench.emit({});
    await bench.settle();
    bench.clock.advance(bounds.webhookSecretGraceMs);
    await bench.emit({});
    await bench.settle();
    const counts = bench.received.map(({ headers }) => headers['webhook-signature']?.split(' ').length);
    expect(counts).toEqual([2, 1]);
  });

  test('a delivery that is sent again has the same id', async () => {
    await using bench = await openBench(open);
    await bench.addDestination('/hook');
    await bench.emit({});
    await bench.settle();
    const [delivery] = await bench.deliveries();
    await bench.stores.deliveries.redeliver(delivery?.seq as number, bench.clock.nowMs(), noAuditContext);
    await bench.settle();
    expect(new Set(bench.received.map(({ id }) => id)).size).toBe(1);
    expect(bench.received).toHaveLength(2);
    expect((await bench.deliveries())[0]).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
  });
}

function failing(open: Open): void {
  test('a delivery is retried for three days, then its silent destination is disabled, with an event', async () => {
    await using bench = await openBench(open);
    const destination = await bench.addDestination('/dead', { accountId: 7 });
    await bench.addDestination('/operators', { types: ['destination.*'] });
    bench.answers.set('/dead', () => new Response('down', { status: 503 }));
    await bench.emit({});
    const startMs = bench.clock.nowMs();
    for (let tries = 0; tries < 30; tries++) {
      await bench.settle();
      const [delivery] = await bench.deliveries();
      if (delivery?.nextAtMs == null) break;
      bench.clock.advance(delivery.nextAtMs - bench.clock.nowMs());
    }
    const [delivery] = await bench.deliveries();
    expect(delivery).toMatchObject({ status: 'failed', tries: 12 });
    expect(delivery?.attempts[0]).toMatchObject({ status: 503, error: 'answered 503', excerpt: 'down' });
    const lastedMs = bench.clock.nowMs() - startMs;
    expect(lastedMs).toBeGreaterThan(THREE_DAYS_MS * 0.95);
    expect(lastedMs).toBeLessThanOrEqual(THREE_DAYS_MS);
    expect(await bench.stores.destinations.getDestination(destination.id)).toMatchObject({ status: 'disabled' });
    await bench.settle();
    expect(pathsOf(bench).filter((path) => path === '/operators')).toHaveLength(1);
  });

  test('a destination that was disabled keeps what waits, and delivers it when it is enabled', async () => {
    await using bench = await openBench(open);
    const { destinations } = bench.stores;
    const destination = await bench.addDestination('/hook');
    bench.answers.set('/hook', () => new Response('', { status: 500 }));
    await bench.emit({}, {}, {});
    await bench.settle();
    const now = async () => (await destinations.getDestination(destination.id)) as typeof destination;
    const nowMs = bench.clock.nowMs();
    await destinations.updateDestination({ ...(await now()), status: 'disabled' }, nowMs, noAuditContext);
    bench.clock.advance(60_000);
    bench.answers.clear();
    await bench.settle();
    expect(bench.received).toHaveLength(1);
    await destinations.updateDestination({ ...(await now()), status: 'enabled' }, bench.clock.nowMs(), noAuditContext);
    await bench.settle();
    expect((await bench.deliveries()).map(({ status }) => status)).toEqual(['delivered', 'delivered', 'delivered']);
  });
}

function bounding(open: Open): void {
  test('a receiver that never answers holds its own slots only', async () => {
    await using bench = await openBench(open);
    const hanging = Promise.withResolvers<Response>();
    bench.answers.set('/hanging', () => hanging.promise);
    for (let count = 0; count < 12; count++) await bench.addDestination('/hanging', { accountId: 7 });
    await bench.addDestination('/well', { accountId: 8 });
    await bench.emit({ account: 7 }, { account: 7 }, { account: 8 }, { account: 8 });
    await bench.dispatcher.round();
    for (let tries = 0; tries < 200 && pathsOf(bench).filter((path) => path === '/well').length < 2; tries++) {
      await bench.dispatcher.waitForEnd(50);
      await bench.dispatcher.round();
    }
    expect(pathsOf(bench).filter((path) => path === '/well')).toHaveLength(2);
    expect(pathsOf(bench).filter((path) => path === '/hanging')).toHaveLength(bounds.deliveriesPerAccountAtOnce);
    hanging.resolve(new Response());
  });

  test('one account cannot fill the queue of a destination without bound', async () => {
    await using bench = await openBench(open);
    await bench.addDestination('/dead');
    bench.answers.set('/dead', () => new Response('', { status: 500 }));
    const many = Array.from({ length: 100 }, () => ({ account: 7 }));
    for (let count = 0; count <= bounds.deliveriesWaitingMax / 100 + 1; count++) await bench.emit(...many);
    await bench.emit({ account: 8 });
    await bench.dispatcher.round();
    const countOf = (lane: number) => bench.outbox.countWaiting(2, lane, 10_000);
    expect(await countOf(7)).toBeLessThanOrEqual(bounds.deliveriesWaitingMax + bounds.eventsSpreadAtOnce);
    expect(await countOf(8)).toBe(1);
    const { waiting, dueSinceMs } = await bench.stores.deliveries.countDeliveries();
    expect([waiting, dueSinceMs]).toEqual([(await countOf(7)) + 1, expect.any(Number)]);
    await bench.dispatcher.finish();
    bench.answers.clear();
  });
}

function crashing(open: Open): void {
  const points = [
    'after the event',
    'after the fan-out',
    'after the request arrived',
    'before the attempt is recorded',
  ];
  test.each(points)('a crash %s loses nothing and keeps the id', async (point) => {
    await using bench = await openBench(open);
    await bench.addDestination('/hook');
    await bench.emit({}, {});
    const answer = Promise.withResolvers<void>();
    if (point === 'after the request arrived')
      bench.answers.set('/hook', async () => {
        await answer.promise;
        return new Response('late');
      });
    if (point === 'after the fan-out') {
      const { write, ...reads } = bench.outbox;
      const [first, second] = await reads.listUnspread(10, isEventType);
      if (first === undefined || second === undefined) throw new Error('there are no events');
      const to = [{ destinationId: 2, accountId: null, skipped: null }];
      const atMs = bench.clock.nowMs();
      await write([first, second].map((event) => ({ kind: 'spread' as const, event, atMs, to })));
    } else if (point !== 'after the event') {
      await bench.dispatcher.round();
      for (let waits = 0; waits < 200 && bench.received.length === 0; waits++) await Bun.sleep(5);
    }
    const crashed = bench.dispatcher;
    bench.restart();
    crashed.forget();
    bench.answers.clear();
    await bench.dispatcher.resume();
    await bench.settle();
    answer.resolve();
    const deliveries = await bench.deliveries();
    expect(deliveries.map(({ status }) => status)).toEqual(['delivered', 'delivered']);
    const ids = bench.received.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(ids.toSorted()).toEqual(ids);
  });
}

function leading(open: Open): void {
  test('one node leads while its lease is valid, and a node that no longer leads writes nothing', async () => {
    await using bench = await openBench(open);
    const { gate, outbox: reads } = bench.stores;
    const lease = (node: string, epoch: number | null, leaseMs: number) =>
      gate.submit({ operations: [{ kind: 'renew', node, epoch, leaseMs }] });
    await lease('a', null, 15_000);
    await lease('b', null, 15_000);
    const take = (name: string) =>
      takeLead(gate, name, bench.clock.nowMs()).then(
        () => true,
        (failure) => !(failure instanceof Outpaced),
      );
    expect([await take('a 1'), await take('b 1')]).toEqual([true, false]);
    const [outboxOfA, outboxOfB] = ['a 1', 'b 1'].map((name) => makeOutbox(gate, reads, () => name));
    await bench.emit({});
    const [event] = await bench.outbox.listUnspread(1, isEventType);
    if (event === undefined) throw new Error('there is no event');
    const spread = [{ kind: 'spread', event, atMs: 1, to: [] }] as const;
    expect(await outboxOfB?.write(spread).catch((failure: unknown) => failure)).toBeInstanceOf(Outpaced);
    expect(await bench.outbox.listUnspread(1, isEventType)).toHaveLength(1);
    bench.clock.advance(16_000);
    await lease('b', 1, 15_000);
    expect(await take('b 1')).toBe(true);
    expect(await outboxOfA?.write(spread).catch((failure: unknown) => failure)).toBeInstanceOf(Outpaced);
    await outboxOfB?.write(spread);
    expect(await bench.outbox.listUnspread(1, isEventType)).toHaveLength(0);
  });
}
