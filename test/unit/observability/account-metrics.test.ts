// Metrics of accounts: which accounts have them, what they count, and that nobody can make their number grow.

import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { formatId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import type { MessageReport } from '../../../src/gateway/gateway.ts';
import { type DailyTotal, emptyRecord } from '../../../src/ledger/ledger.ts';
import { AccountMetrics, type AccountReadings, type ShownAccount } from '../../../src/observability/account-metrics.ts';
import { MetricRegistry } from '../../../src/observability/registry.ts';
import { AccountsInMetrics, RANKED_ACCOUNTS, rankAccounts } from '../../../src/server/accounts-in-metrics.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryStores } from '../../support/memory-store/memory-store.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { readSamples } from '../../support/read-samples.ts';

const [COMPANY, TEAM, OTHER] = [2 ** 33, 2 ** 33 + 1, 2 ** 33 + 2] as const;
const acct = (id: number) => formatId('acct', id);
const named = (id: number): ShownAccount => ({ id, name: `name ${id}`, parent: null });

function messageOf(account: number, above: number[], cost = 1_500_000_000): MessageReport {
  const known = { requestId: 'req_1', account, key: 1, group: 'default', model: 'm', stream: false };
  const record = { ...emptyRecord(known), cost, inputTokens: 20, outputTokens: 3, cacheWrite1hTokens: 7 };
  return { record, caller: { above: above.map((id) => ({ id })), person: null } } as unknown as MessageReport;
}

/** The registry of an account's metrics, and their samples that are not 0. */
function makeMetrics(read: AccountReadings['read'] = async () => null) {
  const registry = new MetricRegistry();
  const metrics = new AccountMetrics(registry);
  let shown: ShownAccount[] | null = [];
  metrics.begin({
    read,
    async find() {
      if (shown === null) throw new Error('the store is unavailable');
      return shown;
    },
  });
  return {
    metrics,
    async show(accounts: number[] | null) {
      shown = accounts?.map(named) ?? null;
      await metrics.refresh();
    },
    async samples() {
      const all = Object.entries(readSamples(await registry.scrape()));
      return Object.fromEntries(
        all.filter(([name, value]) => value !== 0 && !name.startsWith('turnpike_account_info')),
      );
    },
    refuse: (account: number, above: number[], code: ErrorCode) =>
      metrics.countRefusal({ account: { id: account }, above: above.map((id) => ({ id })), key: { id: 1 } }, code),
  };
}

const messages = (account: string) => `turnpike_account_messages_total{account="${account}"}`;

describe('the counters of accounts', () => {
  test('count a message for its account and for those above it, and others together', async () => {
    const { metrics, show, samples } = makeMetrics();
    metrics.countMessage(messageOf(TEAM, [COMPANY]));
    expect(await samples()).toEqual({}); // no account is shown
    await show([COMPANY, TEAM]);
    metrics.countMessage(messageOf(TEAM, [COMPANY]));
    metrics.countMessage(messageOf(COMPANY, []));
    metrics.countMessage(messageOf(OTHER, []));
    expect(await samples()).toMatchObject({
      [messages(acct(COMPANY))]: 2,
      [messages(acct(TEAM))]: 1,
      [messages('other')]: 1,
      [`turnpike_account_cost_usd_total{account="${acct(COMPANY)}"}`]: 3,
      [`turnpike_account_tokens_total{account="${acct(TEAM)}",kind="input"}`]: 20,
      [`turnpike_account_tokens_total{account="${acct(TEAM)}",kind="cache_write_1h"}`]: 7,
    });
  });

  test.each([
    ['insufficient_user_quota', 'money'],
    ['requests_rate_exceeded', 'rate'],
    ['key_disabled', 'access'],
    ['model_not_found', 'request'],
    ['overloaded', 'service'],
    ['request_timeout', 'request'],
  ] as const)('count the refusal %s by its reason %s', async (code, reason) => {
    const { show, samples, refuse } = makeMetrics();
    await show([COMPANY]);
    refuse(TEAM, [COMPANY], code);
    refuse(OTHER, [], code);
    expect(await samples()).toEqual({
      [`turnpike_account_refusals_total{account="${acct(COMPANY)}",reason="${reason}"}`]: 1,
      [`turnpike_account_refusals_total{account="other",reason="${reason}"}`]: 1,
    });
  });

  test('are absent while an account is not shown, and go on where they were when it returns', async () => {
    const { metrics, show, samples } = makeMetrics();
    await show([TEAM]);
    metrics.countMessage(messageOf(TEAM, []));
    await show([OTHER]);
    metrics.countMessage(messageOf(TEAM, []));
    expect(await samples()).not.toHaveProperty([messages(acct(TEAM))]);
    await show([TEAM]);
    metrics.countMessage(messageOf(TEAM, []));
    expect(await samples()).toMatchObject({ [messages(acct(TEAM))]: 2, [messages('other')]: 1 });
  });

  test('stay as they are while the store is unavailable', async () => {
    const { metrics, show, samples } = makeMetrics();
    await show([TEAM]);
    await show(null);
    metrics.countMessage(messageOf(TEAM, []));
    expect(await samples()).toMatchObject({ [messages(acct(TEAM))]: 1 });
  });

  test('are those of a bounded number of accounts, of which a bounded number is remembered', async () => {
    const { metrics, show, samples } = makeMetrics();
    const count = bounds.accountCountsKeptMax + 3 * bounds.accountsInMetricsMax;
    for (let at = 0; at < count; at += 2 * bounds.accountsInMetricsMax) {
      const shown = Array.from({ length: 3 * bounds.accountsInMetricsMax }, (_, place) => COMPANY + at + place);
      await show(shown);
      for (const id of shown) metrics.countMessage(messageOf(id, []));
      const series = Object.keys(await samples()).filter((name) => name.startsWith('turnpike_account_messages_total'));
      expect(series).toHaveLength(2 * bounds.accountsInMetricsMax + 1);
    }
    await show([COMPANY]); // forgotten: it begins anew, which Prometheus takes for a restart
    metrics.countMessage(messageOf(COMPANY, []));
    expect(await samples()).toMatchObject({ [messages(acct(COMPANY))]: 1 });
  });
});

test('the gauges of an account say what balance, allowance and plan have left', async () => {
  const { show, samples } = makeMetrics(async () => ({
    available: 2_500_000_000,
    limits: [
      { limit: 'allowance', window: 'month', amount: 50_000_000_000, used: 7_000_000_000, endsAtMs: 1_000_000 },
      { limit: 'plan', window: '5h', amount: 1_000_000_000, used: 500_000_000, endsAtMs: null },
    ],
  }));
  await show([TEAM]);
  const [of, account] = [`account="${acct(TEAM)}",limit`, acct(TEAM)];
  expect(await samples()).toEqual({
    [`turnpike_account_available_usd{account="${account}"}`]: 2.5,
    [`turnpike_account_limit_usd{${of}="allowance",window="month"}`]: 50,
    [`turnpike_account_limit_usd{${of}="plan",window="5h"}`]: 1,
    [`turnpike_account_limit_used_usd{${of}="allowance",window="month"}`]: 7,
    [`turnpike_account_limit_used_usd{${of}="plan",window="5h"}`]: 0.5,
    [`turnpike_account_limit_end_timestamp_seconds{${of}="allowance",window="month"}`]: 1_000,
  });
});

describe('the accounts that have metrics', () => {
  const NOW_MS = Date.UTC(2026, 10, 20, 10);
  let clock: ReturnType<typeof manualClock>;
  let memory: ReturnType<typeof memoryStores>;
  let settings = { accountsInMetrics: [] as string[], topAccountsInMetrics: 0 };
  const parts = () => ({ stores: memory, settings: () => settings, clock });

  beforeEach(() => {
    clock = manualClock(NOW_MS);
    memory = memoryStores(clock);
    settings = { accountsInMetrics: [], topAccountsInMetrics: 0 };
  });

  async function makeAccount(id: number, name = 'one', parentId: number | null = null): Promise<void> {
    const terms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
    const account = { id, name, groups: [], status: 'enabled', parentId, createdAtMs: NOW_MS } as const;
    await memory.accounts.createAccount(account, terms, null, noAuditContext);
  }

  function spend(account: number, cost: number): void {
    const dayMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
    const total = {
      dayMs,
      account,
      key: 1,
      model: 'm',
      provider: '',
      group: '',
      person: 0,
      tagSet: 0,
      messages: 1,
      cost,
    };
    const rest = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, writtenOff: 0 };
    const none = { providerCost: 0, costedMessages: 0, costedRevenue: 0 };
    memory.tables.totals.set(`${account} ${memory.tables.totals.size}`, { ...total, ...rest, ...none } as DailyTotal);
  }

  const ranked = async () => (await memory.events.readFact(RANKED_ACCOUNTS)).split(' ').slice(1).map(Number);

  test('are those of the setting, if they exist, with their names and places', async () => {
    await makeAccount(COMPANY, 'acme');
    await makeAccount(TEAM, 'search', COMPANY);
    settings = { ...settings, accountsInMetrics: [acct(TEAM), acct(OTHER)] };
    expect(await new AccountsInMetrics(parts()).find()).toEqual([{ id: TEAM, name: 'search', parent: COMPANY }]);
  });

  test('are those with the highest cost, with that of accounts below, and without those of the setting', async () => {
    await makeAccount(COMPANY);
    await makeAccount(TEAM, 'team', COMPANY);
    await makeAccount(OTHER);
    spend(TEAM, 30);
    spend(OTHER, 20);
    spend(COMPANY, 0);
    settings = { accountsInMetrics: [], topAccountsInMetrics: 1 };
    await rankAccounts(parts());
    expect(await ranked()).toEqual([COMPANY]);
    settings = { accountsInMetrics: [acct(TEAM)], topAccountsInMetrics: 2 };
    await rankAccounts(parts());
    expect(await ranked()).toEqual([COMPANY, OTHER]);
    const found = await new AccountsInMetrics(parts()).find();
    expect(found.map(({ id }) => id)).toEqual([TEAM, COMPANY, OTHER]);
    settings = { ...settings, topAccountsInMetrics: 0 };
    expect(await new AccountsInMetrics(parts()).find()).toHaveLength(1);
  });

  test('are at most so many in a day, whatever others spend', async () => {
    settings = { accountsInMetrics: [], topAccountsInMetrics: 2 };
    const seen = new Set<number>();
    for (let at = 0; at < 10; at++) {
      await makeAccount(COMPANY + at);
      spend(COMPANY + at, 10 ** (at + 1));
      await rankAccounts(parts());
      for (const id of await ranked()) seen.add(id);
      clock.advance(3_600_000);
    }
    expect([...seen]).toEqual([COMPANY, COMPANY + 1]);
    clock.advance(DAY_MS);
    await rankAccounts(parts());
    expect(await ranked()).toEqual([COMPANY + 9, COMPANY + 8]);
  });

  test('without a cost do not appear, nor does one whose cost is longer ago than a week', async () => {
    await makeAccount(TEAM);
    await makeAccount(OTHER);
    spend(TEAM, 0);
    spend(OTHER, 5);
    clock.advance((bounds.accountsRankedDays + 1) * DAY_MS);
    spend(TEAM, 0);
    settings = { accountsInMetrics: [], topAccountsInMetrics: 5 };
    await rankAccounts(parts());
    expect(await ranked()).toEqual([]);
  });

  test('are ranked anew where what is stored cannot be read', async () => {
    await makeAccount(TEAM);
    spend(TEAM, 5);
    settings = { accountsInMetrics: [], topAccountsInMetrics: 5 };
    await memory.events.changeFact({ name: RANKED_ACCOUNTS, from: '', to: 'later {"form":1}' }, []);
    expect(await new AccountsInMetrics(parts()).find()).toEqual([]);
    await rankAccounts(parts());
    expect(await ranked()).toEqual([TEAM]);
  });

  test('keep their names and places in the labels for a day, however often they change', async () => {
    await makeAccount(TEAM, 'search');
    settings = { ...settings, accountsInMetrics: [acct(TEAM)] };
    const accounts = new AccountsInMetrics(parts());
    const names = new Set<string | undefined>();
    for (let hour = 0; hour < 48; hour++) {
      const stored = memory.tables.accounts.get(TEAM);
      if (stored !== undefined) memory.tables.accounts.set(TEAM, { ...stored, name: `renamed ${hour}` });
      names.add((await accounts.find())[0]?.name);
      clock.advance(3_600_000);
    }
    expect(names.size).toBeLessThanOrEqual(2);
  });
});
