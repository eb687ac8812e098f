// Hundreds of clients disconnect at every stage: before their body is read, during admission, before the first event,
// mid-stream, at the end. Everything they held is released. Each disconnect is triggered by what the client and the
// provider have seen, so that every case occurs on a machine of any speed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../src/base/money.ts';
import { makeRandom } from '../support/random.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream, upstreamEvents } from '../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

const CLIENTS = 600;
const PLACES = 40;
const CLIENTS_AT_ONCE = 60; // More than there are slots: some are refused.
const REST_MS = 20;
const WAIT_MS_MAX = 60_000; // Only a slot or hold that is never released takes this long.
const UNTIL_TEXT = 4; // Events, the last of which is the first with text.
const LATE_COST = '0.000085'; // The provider reports 25 input tokens and 12 output tokens.
const MODELS = ['late', 'late', 'sandbox-lorem', 'sandbox-echo', 'sandbox-cut', 'sandbox-error-529'] as const;

/**
 * When a client disconnects: after half of its body, after all of it, after some milliseconds, when the provider has
 * the request (it answers after the disconnect), at the first event of a stream (the provider continues only when
 * aborted), or after the whole answer.
 */
const MOMENTS = ['half-sent', 'sent', 'any', 'asked', 'begun', 'answered'] as const;
type Moment = (typeof MOMENTS)[number];

class Client {
  readonly name: string;
  readonly model: (typeof MODELS)[number];
  readonly moment: Moment;
  readonly isStream: boolean;
  readonly isReset: boolean;
  readonly anyMs: number;
  readonly providerMs: number;
  readonly asked = Promise.withResolvers<void>();
  readonly left = Promise.withResolvers<void>();
  /** Request id of its message, if it has seen the response head. */
  requestId: string | null = null;

  constructor(at: number, random: () => number) {
    this.name = `client ${at}`;
    this.model = MODELS[at % MODELS.length] as Client['model'];
    const moment = MOMENTS[Math.floor(at / MODELS.length) % MOMENTS.length] as Moment;
    this.isStream = moment === 'begun' || random() < 0.6;
    // The sandbox sends no request and waits for nothing.
    this.moment = this.model !== 'late' && (moment === 'asked' || moment === 'begun') ? 'any' : moment;
    this.isReset = random() < 0.5;
    this.anyMs = random() * 60;
    this.providerMs = random() * 40;
  }

  get body(): object {
    const messages = [{ role: 'user', content: this.name }];
    return { model: this.model, max_tokens: 100, stream: this.isStream, messages };
  }
}

const random = makeRandom(11);
const clients = Array.from({ length: CLIENTS }, (_, at) => new Client(at, random));
const clientOf = new Map(clients.map((client) => [client.name, client]));

let upstream: ScriptedUpstream;
let turnpike: Turnpike;
beforeAll(async () => {
  upstream = await startScriptedUpstream(async (answer, request) => {
    const client = clientOf.get(JSON.parse(request.body).messages[0].content);
    client?.asked.resolve();
    if (client?.moment === 'begun') {
      answer.begin(200, { 'content-type': 'text/event-stream' });
      return await answer.write(upstreamEvents().slice(0, UNTIL_TEXT).join(''));
    }
    if (client?.moment === 'asked') await client.left.promise;
    else await Bun.sleep(client?.providerMs ?? 0);
    if (!answer.isGone) await scripts.good()(answer, request);
  });
  const route = { provider: 'scripted', model: 'late' };
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { late: { price: { input: '1', output: '5' }, routes: [route] } },
  });
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

/** Reads a connection until this much has arrived. */
async function connect() {
  const { hostname, port } = new URL(turnpike.url);
  let received = '';
  let isClosed = false;
  const close = () => {
    isClosed = true;
  };
  const data = (_: unknown, bytes: Buffer) => {
    received += bytes.toString('latin1');
  };
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data, close, error: close } });
  const has = async (pattern: RegExp) => {
    await until(async () => pattern.test(received) || isClosed);
    return received;
  };
  return { socket, has, received: () => received };
}

/** Sends a message, half of its body first, and disconnects at the client’s moment. Retries if no slot was free. */
async function sendAndLeave(secret: string, client: Client): Promise<void> {
  const text = JSON.stringify(client.body);
  const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\n`;
  for (const untilMs = Date.now() + WAIT_MS_MAX; Date.now() < untilMs; await Bun.sleep(REST_MS)) {
    const { socket, has, received } = await connect();
    socket.write(`${head}content-length: ${text.length}\r\n\r\n${text.slice(0, text.length / 2)}`);
    if (client.moment === 'any') await Bun.sleep(client.anyMs / 4);
    if (client.moment !== 'half-sent') socket.write(text.slice(text.length / 2));
    if (client.moment === 'any') await Bun.sleep((client.anyMs * 3) / 4);
    if (client.moment === 'asked') await Promise.race([client.asked.promise, has(/^HTTP/)]);
    if (client.moment === 'begun') await has(/event: content_block_delta|^HTTP\/1.1 [45]/);
    if (client.moment === 'answered')
      await has(client.isStream ? /event: (?:message_stop|error)|^HTTP\/1.1 [45]/ : /\r\n\r\n./);
    const seen = received();
    if (client.isReset) socket.terminate();
    else socket.end();
    client.requestId = /^request-id: (\S+)/im.exec(seen)?.[1] ?? null;
    if (!seen.startsWith('HTTP/1.1 429')) break;
  }
  client.left.resolve();
}

describe('clients that disconnect', () => {
  test(`at any moment, ${CLIENTS} of them, leave no hold and no slot taken and pay only for what they used`, async () => {
    const made = await turnpike.makeKey({ credit: '1.00' }, { concurrency: PLACES });
    const waiting = [...clients];
    const sendInTurn = async () => {
      for (let client = waiting.shift(); client !== undefined; client = waiting.shift())
        await sendAndLeave(made.secret, client);
    };
    await Promise.all(Array.from({ length: CLIENTS_AT_ONCE }, sendInTurn));
    await until(async () => (await turnpike.admin('GET', `/accounts/${made.account}`))['held'] === '0');
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });

    const usage = await turnpike.admin('GET', `/usage?account=${made.account}&limit=1000`);
    const records = usage['data'] as Record<string, string | number>[];
    const paid = records.reduce((sum, { cost }) => sum + nanos(cost), 0);
    const { balance } = await turnpike.admin('GET', `/accounts/${made.account}`);
    expect(parseUsd(balance as string)).toBe(1_000_000_000 - paid);
    for (const record of records) {
      if (record['outcome'] === 'failed') expect(record).toMatchObject({ cost: '0', usage_source: 'none' });
      if (record['model'] === 'sandbox-lorem') expect(record['output_tokens'] as number).toBeLessThanOrEqual(100);
      if (record['model'] === 'late') expect(nanos(record['cost'])).toBeLessThanOrEqual(nanos(LATE_COST));
    }
    expectOutcomes(records);
    const again = Array.from({ length: PLACES }, () =>
      turnpike.post(made.secret, { model: 'late', max_tokens: 9, messages: [{ role: 'user', content: 'go' }] }),
    );
    expect((await Promise.all(again)).map(({ status }) => status)).toEqual(Array<number>(PLACES).fill(200));
  });
});

/** Clients that disconnected at a moment that allows only one outcome. */
function expectOutcomes(records: readonly Record<string, unknown>[]): void {
  const recordOf = new Map(records.map((record) => [record['request_id'], record]));
  const seen = { begun: 0, answered: 0, failed: 0 };
  for (const { model, moment, requestId } of clients) {
    const record = recordOf.get(requestId);
    if (model === 'late' && moment === 'answered') {
      seen.answered++;
      expect(record).toMatchObject({ outcome: 'completed', usage_source: 'reported', cost: LATE_COST });
    }
    if (model === 'late' && moment === 'begun') {
      seen.begun++;
      expect(record).toMatchObject({ outcome: 'client_gone' });
      expect(nanos(record?.['cost'])).toBeLessThan(nanos(LATE_COST));
    }
    if (model === 'sandbox-error-529' && moment === 'answered') {
      seen.failed++;
      expect(record).toMatchObject({ outcome: 'failed' });
    }
  }
  expect(Math.min(seen.answered, seen.begun, seen.failed)).toBeGreaterThanOrEqual(
    Math.floor(CLIENTS / MODELS.length / MOMENTS.length),
  );
  // A message without streaming is billed as reported once the provider has it, whether or not its client waits.
  const isAsked = ({ model, moment, isStream }: Client) =>
    model === 'late' && !isStream && (moment === 'asked' || moment === 'answered');
  const reported = records.filter(
    ({ model, stream, cost }) => model === 'late' && stream === false && cost === LATE_COST,
  );
  expect(reported.length).toBeGreaterThanOrEqual(clients.filter(isAsked).length);
}

function nanos(cost: unknown): number {
  return parseUsd(cost as string) as number;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const untilMs = Date.now() + WAIT_MS_MAX; Date.now() < untilMs; await Bun.sleep(5)) if (await isSo()) return;
  throw new Error('it did not come to be in time');
}
