// A stream is served until the balance is used up, whatever its max_tokens, and cut there. Nothing beyond is sent,
// nothing is written off, and less than the price of a token is left.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import { type Produced, plainPieces, produce, readEvents } from '../../support/producing-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const CENT = 10_000_000;
let produced: Produced[] = [];
let upstream: ScriptedUpstream;
let turnpike: Turnpike;

beforeAll(async () => {
  upstream = await startScriptedUpstream(() => {});
  const route = { provider: 'scripted', model: 'upstream-model' };
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: {
      dear: { price: { input: '5', output: '25' }, max_output_tokens: 64_000, routes: [route] },
      cheap: { price: { input: '1', output: '5' }, routes: [route] },
    },
  });
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

function play(plan: Parameters<typeof produce>[0]): void {
  produced = [];
  upstream.play(produce(plan, produced));
}

const ask = { messages: [{ role: 'user', content: 'Write a long book.' }], max_tokens: 64_000, stream: true };

async function recordOf(response: Response): Promise<Record<string, unknown>> {
  return turnpike.admin('GET', `/usage/${response.headers.get('request-id')}`);
}

async function moneyOf(account: string): Promise<{ balance: number; held: unknown }> {
  const { balance, held } = await turnpike.admin('GET', `/accounts/${account}`);
  return { balance: parseUsd(balance as string) as number, held };
}

function lastError(text: string): Record<string, unknown> | null {
  const last = readEvents(text).at(-1);
  return last?.['type'] === 'error' ? (last['error'] as Record<string, unknown>) : null;
}

function textTokens(text: string): number {
  let bytes = 0;
  for (const { delta } of readEvents(text) as { delta?: { text?: string } }[]) bytes += delta?.text?.length ?? 0;
  return bytes / 4;
}

describe('a stream that may cost more than the balance', () => {
  test('is served and cut when a dollar is used up: nothing is written off and less than a cent is left', async () => {
    play(() => ({ inputTokens: 20, pieces: plainPieces(64_000, 50), pauseMs: 1, isForLeaver: true }));
    const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
    const response = await turnpike.post(secret, { ...ask, model: 'dear' });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(lastError(text)).toMatchObject({ type: 'billing_error', code: 'insufficient_user_quota' });
    expect(text).not.toContain('message_stop');
    const record = await recordOf(response);
    expect(record).toMatchObject({ outcome: 'quota_cut', status: 200, usage_source: 'estimated', written_off: '0' });
    const { balance, held } = await moneyOf(account);
    expect(held).toBe('0');
    expect(balance).toBeGreaterThanOrEqual(0);
    expect(balance).toBeLessThan(CENT);
    // 0.9999 of a dollar at 25 USD per million: all relayed output was billed, except for the last piece.
    expect(record['output_tokens']).toBe(39_996);
    expect(textTokens(text)).toBeLessThanOrEqual(39_996);
    expect(textTokens(text)).toBeGreaterThan(39_996 - 200);
    await upstream.aborted(1);
    expect(produced[0]?.isFinished).toBe(false);
    expect(await turnpike.check()).toMatchObject({ ok: true });
  });

  test('is relayed as far as it is paid for, even if it arrives all at once', async () => {
    play(() => ({ inputTokens: 20, pieces: plainPieces(64_000, 50) }));
    const { secret } = await turnpike.makeKey({ credit: '1.00' });
    const response = await turnpike.post(secret, { ...ask, model: 'dear' });
    const text = await response.text();
    expect(lastError(text)).toMatchObject({ code: 'insufficient_user_quota' });
    expect(await recordOf(response)).toMatchObject({ outcome: 'quota_cut', output_tokens: 39_996, written_off: '0' });
    expect(textTokens(text)).toBeLessThanOrEqual(39_996);
    expect(textTokens(text)).toBeGreaterThan(39_000);
  });

  test('is admitted within the quota of its key and ends when that is used up', async () => {
    play(() => ({ inputTokens: 20, pieces: plainPieces(64_000, 50) }));
    const { account, secret } = await turnpike.makeKey({ credit: '50.00' }, { quota: '0.10' });
    const response = await turnpike.post(secret, { ...ask, model: 'dear' });
    expect(lastError(await response.text())).toMatchObject({ code: 'insufficient_user_quota' });
    const { balance } = await moneyOf(account);
    expect(balance).toBeGreaterThanOrEqual(parseUsd('49.90') as number);
    expect(balance).toBeLessThan(parseUsd('49.901') as number);
    expect(await turnpike.post(secret, { ...ask, model: 'dear' }).then(({ status }) => status)).toBe(400);
  });

  test('continues to its end if a credit arrives meanwhile', async () => {
    play(() => ({ inputTokens: 20, pieces: plainPieces(8_000, 20), pauseMs: 1 }));
    const { account, secret } = await turnpike.makeKey({ credit: '0.10' });
    const response = await turnpike.post(secret, { ...ask, model: 'dear' });
    await turnpike.admin('POST', `/accounts/${account}/credits`, { amount: '1.00' });
    expect(await response.text()).toContain('event: message_stop');
    expect(await recordOf(response)).toMatchObject({ outcome: 'completed', output_tokens: 8_000 });
    expect((await moneyOf(account)).balance).toBe((parseUsd('1.10') as number) - 20 * 5_000 - 8_000 * 25_000);
  });

  test('never holds more than its prompt and two tranches', async () => {
    play(() => ({ inputTokens: 20, pieces: plainPieces(20_000, 50), pauseMs: 1 }));
    const { account, secret } = await turnpike.makeKey({ credit: '9.00' });
    const response = await turnpike.post(secret, { ...ask, model: 'dear' });
    let most = 0;
    let isOver = false;
    const reading = response.text().then(() => {
      isOver = true;
    });
    while (!isOver) {
      const { held } = await moneyOf(account);
      const spent = (produced[0]?.outputTokens ?? 0) * 25_000;
      most = Math.max(most, (parseUsd(held as string) as number) - spent);
    }
    await reading;
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(25_000 * 2_048 + 3_000_000);
    expect(await recordOf(response)).toMatchObject({ outcome: 'completed', output_tokens: 20_000, written_off: '0' });
  });

  test('is refused if its first tranche cannot be paid, and the error says what is needed', async () => {
    const before = upstream.requests.length;
    const { secret } = await turnpike.makeKey({ credit: '0.001' });
    const response = await turnpike.post(secret, { ...ask, model: 'dear' });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: object }).error).toMatchObject({
      code: 'insufficient_user_quota',
      message: expect.stringMatching(/needs at least 0\.007\d* USD, but 0\.001 USD is available/),
    });
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('500 concurrent streams on a wallet that pays for a few', () => {
  test('spend no more than the balance and leave no hold', async () => {
    play(() => ({ inputTokens: 20, pieces: plainPieces(2_000, 20), pauseMs: 5 }));
    const { account, secret } = await turnpike.makeKey({ credit: '0.50' });
    const answers = await Promise.all(
      Array.from({ length: 500 }, async () => {
        const response = await turnpike.post(secret, { ...ask, model: 'cheap', max_tokens: 2_000 });
        return { status: response.status, text: await response.text() };
      }),
    );
    const { balance, held } = await moneyOf(account);
    expect([held, balance >= 0]).toEqual(['0', true]);
    expect(balance).toBeLessThan(CENT);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
    const kinds = answers.map(({ status, text }) =>
      status === 200 ? (text.includes('message_stop') ? 'whole' : String(lastError(text)?.['code'])) : String(status),
    );
    expect([...new Set(kinds)].sort()).toEqual(['400', 'insufficient_user_quota', 'whole']);
    const usage = await turnpike.admin('GET', `/usage?account=${account}&limit=1000`);
    const records = usage['data'] as Record<string, string>[];
    const sum = (name: string) => records.reduce((total, record) => total + (parseUsd(record[name] as string) ?? 0), 0);
    expect(sum('written_off')).toBe(0);
    expect(sum('cost')).toBe((parseUsd('0.50') as number) - balance);
  });
});
