// Bills from the APIs of vendors, over real connections: pages, credentials, failures, and addresses that are refused.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { fetchAnthropicBill } from '../../../src/bills/anthropic.ts';
import { fetchAwsBill } from '../../../src/bills/aws.ts';
import { formatUnits } from '../../../src/bills/bill-line.ts';
import { fetchOpenaiBill } from '../../../src/bills/openai.ts';
import type { BillingApi } from '../../../src/bills/request-page.ts';
import { bounds } from '../../../src/config/config.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { ADMIN_KEYS, type BillingApis, startBillingApis } from '../../support/billing-apis.ts';
import { setBounds } from '../../support/set-bounds.ts';

const SINCE = Date.UTC(2026, 10, 1);
const UNTIL = Date.UTC(2026, 10, 3);
const fetchers = { anthropic: fetchAnthropicBill, openai: fetchOpenaiBill, aws: fetchAwsBill };
type Kind = keyof typeof fetchers;

let apis: BillingApis;
beforeEach(async () => {
  apis = await startBillingApis();
});
afterEach(() => apis[Symbol.asyncDispose]());

function fetchFrom(kind: Kind, facts: Partial<BillingApi> = {}) {
  return fetchers[kind](
    {
      source: { baseUrl: apis.url, isPrivate: true },
      credential: new Secret(ADMIN_KEYS[kind]),
      lookup: async () => [],
      nowMs: () => Date.UTC(2026, 10, 5),
      signal: new AbortController().signal,
      ...facts,
    },
    SINCE,
    UNTIL,
  );
}

const failure = (kind: Kind, facts?: Partial<BillingApi>) =>
  fetchFrom(kind, facts).then(
    () => 'no failure',
    (thrown: Error) => thrown.message,
  );

async function linesOf(kind: Kind) {
  const { lines, days } = await fetchFrom(kind);
  expect(days).toEqual([SINCE, SINCE + 86_400_000]);
  return lines
    .filter(({ dayMs }) => dayMs === UNTIL - 86_400_000) // of the second page
    .map(({ model, feature, amount, quantity }) => [model, feature, formatUnits(amount), quantity]);
}

describe('a bill is read in pages, with amounts to the last digit and with quantities', () => {
  test('from Anthropic, in cents', async () => {
    expect(await linesOf('anthropic')).toEqual([
      ['claude-haiku-4-5-20251001', 'output', '1.2378912', 247_578],
      ['claude-haiku-4-5-20251001', 'input', '0.005', 5_000],
      ['', 'web_search', '0.01', 1],
      ['claude-haiku-4-5-20251001', 'cache_write', '0', 7],
    ]);
    expect(apis.asked[0]).toBe(
      '/v1/organizations/cost_report?starting_at=2026-11-01T00%3A00%3A00Z&ending_at=2026-11-03T00%3A00%3A00Z&bucket_width=1d&limit=31&group_by%5B%5D=description',
    );
    expect(apis.asked).toHaveLength(4);
  });

  test('from OpenAI, whose numbers do not become floats', async () => {
    expect(await linesOf('openai')).toEqual([
      ['gpt-5', 'input', '0.13080438340307526', 600],
      ['gpt-5', 'cache_read', '0.0000015', 400],
      ['gpt-5', 'output', '2.00', 200],
    ]);
  });

  test('from AWS, signed, without other services', async () => {
    expect(await linesOf('aws')).toEqual([['Claude4.6Sonnet', 'output', '0.0150000001', 1_000]]);
    expect(JSON.parse(apis.asked[1] ?? '')).toMatchObject({ Granularity: 'DAILY', NextPageToken: '2026-11-02' });
  });
});

describe('a bill that cannot be read', () => {
  test('is asked for again after 429 and 5xx, a bounded number of times', async () => {
    apis.failures.push(429, 503);
    expect(await linesOf('anthropic')).toHaveLength(4);
    apis.asked.length = 0;
    apis.failures.push(...Array<number>(bounds.billTriesMax).fill(500));
    expect(await failure('openai')).toContain('the vendor answered 500');
    expect(apis.asked).toHaveLength(bounds.billTriesMax);
  });

  test('fails at once without the right, and never with the key in its message', async () => {
    const message = await failure('anthropic', { credential: new Secret('sk-ant-admin-wrong') });
    expect(message).toContain('the vendor answered 401: the credential must be one that may read costs');
    expect(message).not.toContain('wrong');
    expect(apis.asked).toHaveLength(1);
    expect(await failure('aws', { credential: new Secret('no keys') })).toContain('no AWS access key');
  });

  test.each([
    ['something else than JSON', '<html>', 'is not JSON'],
    ['a list', '[]', 'is not an object'],
    ['no data', '{}', 'the member data of an answer is not a list of objects'],
    ['no next page', '{"data":[],"has_more":true}', 'does not name the next one'],
    ['a day that is none', '{"data":[{"starting_at":"now","results":[]}],"has_more":false}', 'is not a day'],
  ])('fails for %s', async (_why, answer, message) => {
    apis.answers.push(answer);
    expect(await failure('anthropic')).toContain(message);
  });

  test('fails for pages that repeat, and for an answer that is too large', async () => {
    const page = '{"data":[],"has_more":true,"next_page":"again"}';
    apis.answers.push(page, page);
    expect(await failure('openai')).toContain('a list repeats a page');
    using _ = setBounds({ billAnswerBytesMax: 100 });
    apis.answers.push(`{"data":"${'x'.repeat(200)}"}`);
    expect(await failure('openai')).toContain('more than 100 bytes');
  });

  test('fails for another currency and for amounts that are not decimals', async () => {
    const cost = (amount: string, currency: string) =>
      `{"data":[{"start_time":${SINCE / 1_000},"results":[{"amount":{"value":${amount},"currency":"${currency}"},"line_item":"m, input"}]}],"has_more":false}`;
    apis.answers.push(cost('1', 'eur'));
    expect(await failure('openai')).toContain('the currency must be USD');
    apis.answers.push(cost('1e300', 'usd'));
    expect(await failure('openai')).toContain('is not an amount');
    apis.answers.push(cost('-1', 'usd'));
    expect(await failure('openai')).toContain('must not be negative');
  });

  test('is not asked for at a private address, unless the operator allows it', async () => {
    const source = { baseUrl: apis.url, isPrivate: false };
    expect(await failure('anthropic', { source })).toContain('in a private network');
    const named = { baseUrl: apis.url.replace('127.0.0.1', 'billing.example.com'), isPrivate: false };
    expect(await failure('openai', { source: named, lookup: async () => ['10.0.0.1'] })).toContain('10.0.0.1');
    expect(apis.asked).toEqual([]);
  });

  test('ends when its time is over', async () => {
    expect(await failure('anthropic', { signal: AbortSignal.abort() })).toContain('did not answer in time');
  });
});
