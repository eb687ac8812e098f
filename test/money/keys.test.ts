// Keys and accounts that change while messages run: a disabled one admits no further message, running messages end as
// documented, and an enabled one works at once.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { type Asked, holdRequests } from '../support/held-requests.ts';
import { sharedTurnpike } from '../support/shared-turnpike.ts';
import type { Turnpike } from '../support/start-turnpike.ts';

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
});
afterEach(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
});
afterAll(async () => {
  await turnpike.stop();
});

const echo = { model: 'sandbox-echo', max_tokens: 8, messages: [{ role: 'user', content: 'go' }] };
const SWITCHES = 5;
const LOOPS = 16;

async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error?: { code: string } };
  return `${response.status}${error === undefined ? '' : ` ${error.code}`}`;
}

interface Stream {
  requestId: string;
  /** Reads the whole body. */
  text: Promise<string>;
}

/** Starts a stream of this many tokens at 400 per second, and resolves at its first event. */
async function beginStream(secret: string, maxTokens: number): Promise<Stream> {
  const response = await turnpike.post(secret, {
    ...echo,
    model: 'sandbox-lorem',
    max_tokens: maxTokens,
    stream: true,
  });
  expect(response.status).toBe(200);
  return { requestId: response.headers.get('request-id') as string, text: response.text() };
}

function lastEvent(text: string): { type: string; error?: { type: string; code: string } } {
  return JSON.parse(text.slice(text.lastIndexOf('\ndata: ') + 7));
}

/** Sends messages over many connections until it is stopped, and records when each was sent and its status. */
function startLoad(secret: string) {
  const sent: { atMs: number; code: string }[] = [];
  let isOver = false;
  const send = async () => {
    while (!isOver) {
      const atMs = performance.now();
      sent.push({ atMs, code: await codeOf(await turnpike.post(secret, echo)) });
    }
  };
  const loops = Array.from({ length: LOOPS }, send);
  const stop = async () => {
    isOver = true;
    await Promise.all(loops);
  };
  return {
    sent,
    /** Answered messages that were sent after that time. */
    sentFrom: (fromMs: number) => () => sent.filter(({ atMs }) => atMs > fromMs),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const switches = [
  ['a key', 'key_disabled', (made: { key: string }) => `/keys/${made.key}`],
  ['an account', 'account_disabled', (made: { account: string }) => `/accounts/${made.account}`],
] as const;

describe.each(switches)('%s that is disabled', (_what, refusal, pathOf) => {
  test('admits no message after the operator’s response, and works again when enabled', async () => {
    const made = await turnpike.makeKey();
    await using load = startLoad(made.secret);
    let admitted = 0;
    for (let round = 0; round < SWITCHES; round++) {
      await Bun.sleep(10);
      await turnpike.admin('PATCH', pathOf(made), { status: 'disabled' });
      const sentWhileOff = load.sentFrom(performance.now());
      await until(async () => sentWhileOff().length >= LOOPS);
      expect(new Set(sentWhileOff().map(({ code }) => code))).toEqual(new Set([`401 ${refusal}`]));
      await turnpike.admin('PATCH', pathOf(made), { status: 'enabled' });
      expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('200');
      admitted++;
    }
    await load.stop();
    admitted += load.sent.filter(({ code }) => code === '200').length;
    expect(new Set(load.sent.map(({ code }) => code))).toEqual(new Set(['200', `401 ${refusal}`]));
    expect(await countRecords(made.account)).toBe(admitted);
  });

  test('admits no message that was authenticated before but not read yet', async () => {
    const made = await turnpike.makeKey();
    const held = await holdRequests(turnpike.url, Array<Asked>(100).fill({ secret: made.secret, body: echo }));
    await turnpike.admin('PATCH', pathOf(made), { status: 'disabled' });
    const answers = await held.release();
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.parse(body).error.code}`))).toEqual(
      new Set([`401 ${refusal}`]),
    );
    expect(await countRecords(made.account)).toBe(0);
  });

  test('lets running messages end normally and bills them', async () => {
    const made = await turnpike.makeKey();
    const stream = await beginStream(made.secret, 80);
    await turnpike.admin('PATCH', pathOf(made), { status: 'disabled' });
    expect(await codeOf(await turnpike.post(made.secret, echo))).toBe(`401 ${refusal}`);
    expect(lastEvent(await stream.text).type).toBe('message_stop');
    const record = await turnpike.admin('GET', `/usage/${stream.requestId}`);
    expect(record).toMatchObject({ outcome: 'completed', output_tokens: 80, cost: '0.000401' });
  });
});

describe('a key that is revoked', () => {
  test('with --now ends its streams with an error, billed as received; other keys’ streams continue', async () => {
    const made = await turnpike.makeKey();
    const other = (await turnpike.admin('POST', '/keys', { account: made.account }))['key'] as string;
    const [stream, spared] = await Promise.all([beginStream(made.secret, 40_000), beginStream(other, 100)]);
    await Bun.sleep(50);
    const shown = await turnpike.admin('POST', `/keys/${made.key}/revoke`, { now: true });
    expect(shown['status']).toBe('revoked');
    const text = await stream.text;
    expect(text).not.toContain('message_stop');
    expect(lastEvent(text)).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error', code: 'key_disabled' },
      request_id: stream.requestId,
    });
    const received = [...text.matchAll(/"text_delta","text":"([^"]*)"/g)].reduce(
      (sum, [, piece]) => sum + (piece ?? '').length,
      0,
    );
    const record = await turnpike.admin('GET', `/usage/${stream.requestId}`);
    expect(record).toMatchObject({ outcome: 'service_cut', usage_source: 'estimated', input_tokens: 1 });
    // The provider’s output and the client’s may differ by what was in transit.
    expect(record['output_tokens'] as number).toBeGreaterThanOrEqual(Math.floor(received / 4));
    expect(record['output_tokens'] as number).toBeLessThanOrEqual(received / 4 + 40);
    expect(lastEvent(await spared.text).type).toBe('message_stop');
    expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('401 key_disabled');
    const again = turnpike.admin('PATCH', `/keys/${made.key}`, { status: 'enabled' });
    expect(await again.catch(String)).toContain('409');
  });

  test('with --now ends a message that is not streamed at once, and its answer is billed when it comes', async () => {
    const made = await turnpike.makeKey();
    const slow = turnpike.post(made.secret, { ...echo, model: 'sandbox-slow' });
    await until(async () => (await turnpike.admin('GET', `/accounts/${made.account}`))['held'] !== '0');
    await turnpike.admin('POST', `/keys/${made.key}/revoke`, { now: true });
    const response = await slow;
    expect(await codeOf(response)).toBe('401 key_disabled');
    // Its first byte comes after five seconds.
    while ((await turnpike.admin('GET', `/accounts/${made.account}`))['held'] !== '0') await Bun.sleep(50);
    const record = await turnpike.admin('GET', `/usage/${response.headers.get('request-id')}`);
    expect(record).toMatchObject({ outcome: 'service_cut', usage_source: 'reported', status: 401 });
    expect(record['cost']).not.toBe('0');
  });

  test('without --now lets streams finish', async () => {
    const made = await turnpike.makeKey();
    const stream = await beginStream(made.secret, 60);
    await turnpike.admin('POST', `/keys/${made.key}/revoke`, {});
    expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('401 key_disabled');
    expect(lastEvent(await stream.text).type).toBe('message_stop');
  });
});

describe('a key that is changed', () => {
  test('expires at its time, checked on every message', async () => {
    const expiresAtMs = Date.now() + 2_000;
    const made = await turnpike.makeKey({}, { expires_at: new Date(expiresAtMs).toISOString() });
    expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('200');
    const stream = await beginStream(made.secret, 1_200);
    await Bun.sleep(expiresAtMs + 50 - Date.now());
    expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('401 key_expired');
    expect(lastEvent(await stream.text).type).toBe('message_stop');
    await turnpike.admin('PATCH', `/keys/${made.key}`, { expires_at: null });
    expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('200');
  });

  test('applies its new quota, limits and scope to the next message', async () => {
    const made = await turnpike.makeKey();
    const change = async (body: object) => {
      await turnpike.admin('PATCH', `/keys/${made.key}`, body);
      return codeOf(await turnpike.post(made.secret, echo));
    };
    expect(await change({ quota: '0.000001' })).toBe('400 insufficient_user_quota');
    expect(await change({ quota: '1.00' })).toBe('200');
    expect(await change({ models: ['sandbox-lorem'] })).toBe('400 model_not_found');
    expect(await change({ models: null })).toBe('200');
    expect(await change({ rpm: 1 })).toBe('200');
    expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('429 requests_rate_exceeded');
    expect(await change({ rpm: null })).toBe('200');
    expect(await change({ addresses: ['192.0.2.0/24'] })).toBe('403 address_not_allowed');
    expect(await change({ addresses: null })).toBe('200');
  });

  test('works for the next message after its account is credited', async () => {
    const made = await turnpike.makeKey({ credit: '0' });
    for (let round = 0; round < 5; round++) {
      for (let at = 0; at < 5; at++)
        expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('400 insufficient_user_quota');
      await turnpike.admin('POST', `/accounts/${made.account}/credits`, { amount: '0.000041' }); // Hold of one message.
      expect(await codeOf(await turnpike.post(made.secret, echo))).toBe('200');
      const { available } = await turnpike.admin('GET', `/accounts/${made.account}`);
      await turnpike.admin('POST', `/accounts/${made.account}/credits`, { amount: `-${available}` });
    }
  });
});

async function countRecords(account: string): Promise<number> {
  let count = 0;
  for (let cursor: unknown = null; ; ) {
    const page = await turnpike.admin(
      'GET',
      `/usage?account=${account}&limit=1000${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    count += (page['data'] as unknown[]).length;
    cursor = page['next_cursor'];
    if (cursor === null) return count;
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 2_000; waitedMs += 5) {
    if (await isSo()) return;
    await Bun.sleep(5);
  }
  throw new Error('it did not come to be within two seconds');
}
