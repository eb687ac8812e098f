// Two thousand concurrent messages against a meter that pays for one hundred: exactly one hundred pass, for every
// kind of meter. The service runs as a process of its own.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { formatUsd, parseUsd } from '../../src/base/money.ts';
import { holdRequests, type RawAnswer } from '../support/held-requests.ts';
import { makeRandom } from '../support/random.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';

const AT_ONCE = 2_000;
const AFFORDED = 100;
const OUTPUT_TOKENS = 8;
const COST_NANO = costOf(1, OUTPUT_TOKENS);
const WORTH = formatUsd(AFFORDED * COST_NANO);

let turnpike: TurnpikeProcess;
beforeAll(async () => {
  turnpike = await spawnTurnpike();
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
});

/** Prices of the sandbox: 1 and 5 USD per million tokens. */
function costOf(inputTokens: number, outputTokens: number): number {
  return inputTokens * 1_000 + outputTokens * 5_000;
}

function lorem(maxTokens: number, stream: boolean) {
  return { model: 'sandbox-lorem', max_tokens: maxTokens, stream, messages: [{ role: 'user', content: 'go' }] };
}

/** Returns the error code of a refusal, or "ok" or "broken" for a response. */
function verdict({ status, body }: RawAnswer): string {
  if (status !== 200) return `${status} ${JSON.parse(body).error.code}`;
  const isWhole = body.startsWith('{')
    ? JSON.parse(body).usage.output_tokens > 0
    : body.includes('event: message_stop');
  return isWhole ? '200' : '200 cut';
}

function countVerdicts(answers: readonly RawAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[verdict(answer)] = (counts[verdict(answer)] ?? 0) + 1;
  return counts;
}

async function balanceOf(account: string): Promise<number> {
  const shown = await turnpike.admin('GET', `/accounts/${account}`);
  expect(shown['held']).toBe('0');
  return parseUsd(shown['balance'] as string) as number;
}

describe('of 2,000 messages at once, every other one streamed,', () => {
  test.each([
    ['the wallet', { credit: WORTH }, {}],
    ["the key's quota", {}, { quota: WORTH }],
    ["the account's allowance", { allowance: WORTH, allowance_period: 'month' }, {}],
  ])('exactly the 100 pass that %s can pay', async (_meter, account, key) => {
    const made = await turnpike.makeKey(account, key);
    const before = await balanceOf(made.account);
    const asked = Array.from({ length: AT_ONCE }, (_, at) => ({
      secret: made.secret,
      body: lorem(OUTPUT_TOKENS, at % 2 === 0),
    }));
    const held = await holdRequests(turnpike.url, asked);
    expect([held.openCount, held.answeredCount]).toEqual([AT_ONCE, 0]); // Checks that the requests really ran concurrently.
    const answers = await held.release();
    expect(countVerdicts(answers)).toEqual({
      '200': AFFORDED,
      '400 insufficient_user_quota': AT_ONCE - AFFORDED,
    });
    expect(before - (await balanceOf(made.account))).toBe(AFFORDED * COST_NANO);
    if ('credit' in account) expect(await balanceOf(made.account)).toBe(0);
    const usage = await turnpike.admin('GET', `/usage?account=${made.account}&limit=1000`);
    expect((usage['data'] as unknown[]).length).toBe(AFFORDED);
    const shown = await turnpike.admin('GET', `/keys/${made.key}`);
    expect(shown['quota_used']).toBe(WORTH);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});

describe('messages of random cost over several keys and accounts', () => {
  test('cost in total what the balances lost, and never more than was available', async () => {
    const seed = 20_261_120;
    const random = makeRandom(seed);
    const callers = await makeCallers();
    const asked = Array.from({ length: 900 }, () => {
      const caller = callers[Math.floor(random() * callers.length)] as (typeof callers)[number];
      const body = lorem(1 + Math.floor(random() * 40), random() < 0.5);
      return { secret: caller.secret, caller, body };
    });
    const held = await holdRequests(turnpike.url, asked);
    const answering = held.release();
    let isOver = false;
    const watching = watchBalances(callers, () => isOver);
    const answers = await answering;
    isOver = true;
    expect(await watching).toBeGreaterThanOrEqual(0);

    const spentBy = (isOf: (caller: (typeof callers)[number]) => boolean) =>
      answers.reduce((sum, answer, at) => {
        const { caller, body } = asked[at] as (typeof asked)[number];
        return isOf(caller) && verdict(answer) === '200' ? sum + costOf(1, body.max_tokens) : sum;
      }, 0);
    for (const caller of callers) {
      const shown = await turnpike.admin('GET', `/keys/${caller.key}`);
      expect(parseUsd(shown['quota_used'] as string)).toBe(spentBy((one) => one.key === caller.key));
      if (caller.quota !== null) expect(parseUsd(shown['quota_used'] as string)).toBeLessThanOrEqual(caller.quota);
      const spent = spentBy((one) => one.account === caller.account);
      expect([seed, await balanceOf(caller.account)]).toEqual([seed, caller.credit - spent]);
    }
    const verdicts = countVerdicts(answers);
    expect(Object.keys(verdicts).sort()).toEqual(['200', '400 insufficient_user_quota']);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});

interface SpendingCaller {
  account: string;
  key: string;
  secret: string;
  credit: number;
  quota: number | null;
}

/** Three accounts of three keys each, none with enough balance for all of its requests. */
async function makeCallers(): Promise<SpendingCaller[]> {
  const callers: SpendingCaller[] = [];
  for (const credit of [3_000_000, 12_345_678, 9_000_001]) {
    const first = await turnpike.makeKey({ credit: formatUsd(credit) });
    callers.push({ ...first, credit, quota: null });
    for (const quota of [1_500_000, 2_222_222]) {
      const made = await turnpike.admin('POST', '/keys', { account: first.account, quota: formatUsd(quota) });
      callers.push({
        account: first.account,
        key: made['id'] as string,
        secret: made['key'] as string,
        credit,
        quota,
      });
    }
  }
  return callers;
}

/**
 * Lowest available balance of any account, read repeatedly while messages run. Each reading also checks the books.
 */
async function watchBalances(callers: readonly SpendingCaller[], isOver: () => boolean): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  while (!isOver()) {
    expect(await turnpike.check()).toMatchObject({ ok: true, faults: [] });
    for (const { account } of callers) {
      const { balance, held } = await turnpike.admin('GET', `/accounts/${account}`);
      least = Math.min(least, (parseUsd(balance as string) as number) - (parseUsd(held as string) as number));
    }
  }
  return least;
}
