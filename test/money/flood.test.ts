// Floods of refused requests: they are answered from memory and hardly reach the store. A change in their favor
// applies to the very next request.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseAnswer, type RawAnswer } from '../support/held-requests.ts';
import { type CountedService, startCountedService } from './counted-service.ts';

const FLOOD = 50_000;
const BATCHES_MAX = 1_000;
const CONNECTIONS = 16; // Without remembered refusals each round would be a batch.

let service: CountedService;
beforeAll(async () => {
  service = await startCountedService();
});
afterAll(async () => {
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  await service[Symbol.asyncDispose]();
});

function bodyOf(maxTokens: number, stream = false): object {
  return { model: 'sandbox-lorem', max_tokens: maxTokens, stream, messages: [{ role: 'user', content: 'go' }] };
}

/** Cost of this many tokens of sandbox-lorem, in nanodollars. */
function costOf(maxTokens: number): number {
  return 1_000 + maxTokens * 5_000;
}

function post(secret: string, body: object, signal: AbortSignal | null = null): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-api-key': secret };
  return fetch(`${service.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

async function codeOf(response: Response): Promise<string> {
  return codeOfText(response.status, await response.text());
}

function codeOfText(status: number, body: string): string {
  return status === 200 ? '200' : `${status} ${JSON.parse(body).error.code}`;
}

/** Sends the same request this many times over keep-alive connections, and counts each answer. */
async function flood(secret: string, body: object, count: number): Promise<Record<string, number>> {
  const { hostname, port } = new URL(service.url);
  const text = JSON.stringify(body);
  const request = Buffer.from(
    `POST /v1/messages HTTP/1.1\r\nhost: ${hostname}:${port}\r\nx-api-key: ${secret}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  const codes: Record<string, number> = {};
  const note = ({ status, body: answer }: RawAnswer) => {
    const code = codeOfText(status, answer);
    codes[code] = (codes[code] ?? 0) + 1;
  };
  let left = count;
  const connections = Array.from({ length: CONNECTIONS }, () =>
    repeatOn(hostname, Number(port), request, note, () => left-- > 0),
  );
  await Promise.all(connections);
  return codes;
}

/** Sends the request again after each answer while `mayGoOn` returns true. */
async function repeatOn(
  hostname: string,
  port: number,
  request: Buffer,
  note: (answer: RawAnswer) => void,
  mayGoOn: () => boolean,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let received: Buffer = Buffer.alloc(0);
  const socket = await Bun.connect({
    hostname,
    port,
    socket: {
      data(_socket, bytes) {
        received = received.length === 0 ? Buffer.from(bytes) : Buffer.concat([received, bytes]);
        const answer = parseAnswer(received);
        if (answer === null) return;
        received = Buffer.alloc(0);
        note(answer);
        go();
      },
      close: () => reject(new Error('the connection was closed')), // Has no effect after the last answer.
      error: (_socket, error) => reject(error),
    },
  });
  const go = () => {
    if (mayGoOn()) socket.write(request);
    else {
      resolve();
      socket.end();
    }
  };
  go();
  return promise;
}

/** Counts the batches that the store receives while `act` runs. */
async function countBatches(act: () => Promise<void>): Promise<number> {
  const before = service.ledger.batches();
  await act();
  return service.ledger.batches() - before;
}

/** Starts a stream that holds the cost of this many tokens until it is aborted. */
async function holdStream(secret: string, maxTokens: number): Promise<() => Promise<void>> {
  const leaving = new AbortController();
  const response = await post(secret, bodyOf(maxTokens, true), leaving.signal);
  expect(response.status).toBe(200);
  const reading = response.text().catch(() => {});
  return async () => {
    leaving.abort();
    await reading;
    await service.gateway.running.waitUntilEmpty(2_000);
  };
}

describe('a flood of refused messages', () => {
  test(`for an empty wallet, ${FLOOD} of them, hardly reaches the store; after a credit the next message is admitted`, async () => {
    const { account, secret } = await service.makeKey(0);
    const batches = await countBatches(async () => {
      expect(await flood(secret, bodyOf(8), FLOOD)).toEqual({ '400 insufficient_user_quota': FLOOD });
    });
    expect(batches).toBeLessThan(BATCHES_MAX);
    await service.credit(account, costOf(8));
    expect(await codeOf(await post(secret, bodyOf(8)))).toBe('200');
    expect(await codeOf(await post(secret, bodyOf(8)))).toBe('400 insufficient_user_quota');
  }, 180_000); // a busy machine takes long

  test('while a hold is open hardly reaches the store; when it ends the next message is admitted', async () => {
    const { secret } = await service.makeKey(costOf(100_000));
    const leave = await holdStream(secret, 100_000);
    const batches = await countBatches(async () => {
      expect(await flood(secret, bodyOf(8), FLOOD)).toEqual({ '400 insufficient_user_quota': FLOOD });
    });
    expect(batches).toBeLessThan(BATCHES_MAX);
    // Alternates two kinds: one that can never be paid, and one that only the hold prevents.
    const ofTwo = await countBatches(async () => {
      for (let at = 0; at < FLOOD / 50; at++) {
        const response = await post(secret, bodyOf(at % 2 === 0 ? 200_000 : 8));
        expect(await codeOf(response)).toBe('400 insufficient_user_quota');
        expect(response.headers.get('x-should-retry')).toBe(at % 2 === 0 ? 'false' : null);
      }
    });
    expect(ofTwo).toBeLessThan(BATCHES_MAX / 10);
    await leave();
    expect(await codeOf(await post(secret, bodyOf(8)))).toBe('200');
  }, 180_000); // a busy machine takes long

  test('for an exhausted key, a rate, a concurrency limit or a disabled key does not reach the store', async () => {
    const spent = await service.makeKey(costOf(1_000), { quota: costOf(8) });
    const fast = await service.makeKey(costOf(1_000), { requestsPerMinute: 1 });
    const crowded = await service.makeKey(costOf(100_000), { concurrency: 1 });
    const disabled = await service.makeKey(costOf(1_000), { status: 'disabled' });
    for (const { secret } of [spent, fast]) expect(await codeOf(await post(secret, bodyOf(8)))).toBe('200');
    const leave = await holdStream(crowded.secret, 50_000);
    for (const [{ secret }, code] of [
      [spent, '400 insufficient_user_quota'],
      [fast, '429 requests_rate_exceeded'],
      [crowded, '429 concurrency_exceeded'],
      [disabled, '401 key_disabled'],
    ] as const) {
      const batches = await countBatches(async () => {
        expect(await flood(secret, bodyOf(8), FLOOD / 10)).toEqual({ [code]: FLOOD / 10 });
      });
      expect(batches).toBeLessThan(BATCHES_MAX / 10);
    }
    await leave();
    expect(await codeOf(await post(crowded.secret, bodyOf(8)))).toBe('200');
  }, 180_000); // a busy machine takes long

  test('on one account affects neither the money nor the admission of another', async () => {
    const poor = await service.makeKey(0);
    const rich = await service.makeKey(costOf(8) * 50);
    const flooding = flood(poor.secret, bodyOf(8), FLOOD / 10);
    for (let at = 0; at < 50; at++) expect(await codeOf(await post(rich.secret, bodyOf(8)))).toBe('200');
    expect(await codeOf(await post(rich.secret, bodyOf(8)))).toBe('400 insufficient_user_quota');
    expect(await flooding).toEqual({ '400 insufficient_user_quota': FLOOD / 10 });
  });
});

describe('a remembered refusal', () => {
  test('of an expensive message does not refuse a cheap one that can be paid', async () => {
    const { secret } = await service.makeKey(costOf(8));
    expect(await codeOf(await post(secret, bodyOf(9)))).toBe('400 insufficient_user_quota');
    expect(await codeOf(await post(secret, bodyOf(8)))).toBe('200');
  });

  test('of an expensive message does not refuse a cheap one that only holds prevent', async () => {
    const { secret } = await service.makeKey(costOf(100_000));
    const leave = await holdStream(secret, 99_999);
    const dear = await post(secret, bodyOf(200_000));
    expect([await codeOf(dear), dear.headers.get('x-should-retry')]).toEqual(['400 insufficient_user_quota', 'false']);
    const cheap = await post(secret, bodyOf(8));
    expect([await codeOf(cheap), cheap.headers.get('x-should-retry')]).toEqual(['400 insufficient_user_quota', null]);
    await leave();
  });
});
