// Rate and concurrency limits under load, observed at a provider that counts its concurrent messages.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Asked, holdRequests, type RawAnswer } from '../support/held-requests.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type OverlapUpstream, startOverlapUpstream } from './overlap-upstream.ts';

const ROUNDS_MAX = 20;

let upstream: OverlapUpstream;
let turnpike: Turnpike;
beforeAll(async () => {
  upstream = await startOverlapUpstream();
  const models = ['*'];
  turnpike = await startTurnpike(
    upstream.document({
      narrow: { models, concurrency: 7 },
      slow: { models, rpm: 60 },
      small: { models, output_tpm: 100 },
    }),
  );
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
  await upstream.close();
});

function message(model: string, stream: boolean, content = 'go') {
  return { model, max_tokens: 16, stream, messages: [{ role: 'user', content }] };
}

function codeOf({ status, body }: RawAnswer): string {
  return status === 200 ? '200' : JSON.parse(body).error.code;
}

function countCodes(answers: readonly RawAnswer[]): Record<string, number> {
  return Object.fromEntries(
    Object.entries(Object.groupBy(answers, codeOf)).map(([code, of]) => [code, of?.length ?? 0]),
  );
}

/** Sends the messages concurrently, `rounds` times. */
async function sendRounds(asked: readonly Asked[], rounds: number): Promise<RawAnswer[]> {
  const answers: RawAnswer[] = [];
  for (let round = 0; round < rounds; round++)
    answers.push(...(await (await holdRequests(turnpike.url, asked)).release()));
  return answers;
}

describe('a concurrency limit', () => {
  test.each([
    ['a key', {}, { concurrency: 5 }, 5],
    ["an account's group, over all its keys", { groups: ['narrow'] }, {}, 7],
  ])('of %s is never exceeded, streams or not, and is used in full', async (_whose, account, key, limit) => {
    const made = await turnpike.makeKey(account, key);
    const secrets = [made.secret];
    if ('groups' in account) {
      const second = await turnpike.admin('POST', '/keys', { account: made.account });
      secrets.push(second['key'] as string);
    }
    upstream.takeMost();
    const asked = Array.from({ length: 300 }, (_, at) => ({
      secret: secrets[at % secrets.length] as string,
      body: message('counted', at % 2 === 0),
    }));
    const answers = await sendRounds(asked, 3);
    let most = upstream.takeMost();
    // On a busy machine not every round reaches this concurrency.
    for (let round = 3; most < limit && round < ROUNDS_MAX; round++) {
      answers.push(...(await sendRounds(asked, 1)));
      most = Math.max(most, upstream.takeMost());
    }
    expect(most).toBe(limit);
    const counts = countCodes(answers);
    expect(Object.keys(counts).sort()).toEqual(['200', 'concurrency_exceeded']);
    expect(counts['200']).toBeGreaterThanOrEqual(3 * limit);
    const refused = answers.find(({ status }) => status !== 200);
    expect([refused?.status, Number(refused?.headers['retry-after'])]).toEqual([429, 1]);
    // All slots are free again.
    expect(countCodes(await sendRounds(asked.slice(0, limit), 1))).toEqual({ '200': limit });
  });

  test('frees a slot as soon as its client disconnects', async () => {
    const { secret } = await turnpike.makeKey({}, { concurrency: 1 });
    for (let round = 0; round < 5; round++) {
      const leaving = new AbortController();
      const stream = await turnpike.post(
        secret,
        { ...message('sandbox-lorem', true), max_tokens: 50_000 },
        { signal: leaving.signal },
      );
      expect([round, stream.status]).toEqual([round, 200]);
      const refused = await turnpike.post(secret, message('counted', false));
      expect([refused.status, (await refused.json()).error.code]).toEqual([429, 'concurrency_exceeded']);
      leaving.abort();
      await until(async () => (await turnpike.post(secret, message('sandbox-echo', false))).status === 200);
    }
  });
});

describe('a limit of requests per minute', () => {
  test.each([
    ['a key', {}, { rpm: 60 }],
    ['a group', { groups: ['slow'] }, {}],
  ])('of %s lets through what it says and what came back meanwhile, no more', async (_whose, account, key) => {
    const { secret } = await turnpike.makeKey(account, key);
    const asked = Array<Asked>(1_000).fill({ secret, body: message('sandbox-echo', false) });
    const held = await holdRequests(turnpike.url, asked);
    const startedMs = performance.now();
    const answers = [...(await held.release()), ...(await sendRounds(asked, 1))];
    const cameBack = Math.floor((performance.now() - startedMs) / 1_000); // One per second.
    const counts = countCodes(answers);
    expect(Object.keys(counts).sort()).toEqual(['200', 'requests_rate_exceeded']);
    expect(counts['200']).toBeGreaterThanOrEqual(60);
    expect(counts['200']).toBeLessThanOrEqual(60 + cameBack);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers).toMatchObject({
      'retry-after': '1',
      'anthropic-ratelimit-requests-limit': '60',
      'anthropic-ratelimit-requests-remaining': '0',
    });
  });
});

describe('a limit of tokens per minute', () => {
  const content = 'x'.repeat(160); // 40 input tokens and 16 output tokens.
  test.each([
    ['input tokens of a key', {}, { input_tpm: 100 }, 3, 'input_tokens_rate_exceeded'],
    ['output tokens of a key', {}, { output_tpm: 40 }, 3, 'output_tokens_rate_exceeded'],
    ['output tokens of a group', { groups: ['small'] }, {}, 7, 'output_tokens_rate_exceeded'],
  ])('admits while there are %s, and then nobody until they are back', async (_what, account, key, admitted, code) => {
    const { secret } = await turnpike.makeKey(account, key);
    const body = message('sandbox-echo', false, content);
    const statuses: number[] = [];
    for (let at = 0; at < admitted; at++) statuses.push((await turnpike.post(secret, body)).status);
    expect(statuses).toEqual(Array<number>(admitted).fill(200));
    const answers = await sendRounds(Array<Asked>(200).fill({ secret, body }), 1);
    expect(countCodes(answers)).toEqual({ [code]: 200 });
    for (const { headers } of answers) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(3);
    // Token counting uses none of these tokens and is not delayed by their limit.
    const counted = await fetch(`${turnpike.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': secret },
      body: JSON.stringify(body),
    });
    expect(counted.status).toBe(200);
  });
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 2_000; waitedMs += 5) {
    if (await isSo()) return;
    await Bun.sleep(5);
  }
  throw new Error('it did not come to be within two seconds');
}
