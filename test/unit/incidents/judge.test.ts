// Findings from counts of requests, refusals and events: one problem each, with what the provider said.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import type { StoredEvent } from '../../../src/events/events.ts';
import { judgeRefusals, judgeTraffic, judgeUpkeep, type Upkeep } from '../../../src/incidents/incidents.ts';
import { type FrequentRefusal, RouteCounter } from '../../../src/traffic/traffic.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 10, 30);
const MINUTE_MS = 60_000;

describe('of routes', () => {
  const routes = (...providers: string[]) => providers.map((provider) => ({ provider, upstreamModel: 'up' }));
  const models = [
    { name: 'fable', routes: routes('one', 'two') },
    { name: 'opus', routes: routes('one') },
  ];

  /** Counts messages, each with its attempts: "one timeout, two answered". */
  function judge(...messages: [model: string, attempts: string, count: number, reason?: string, status?: number][]) {
    const counter = new RouteCounter('a');
    for (const [model, written, count, reason = null, status = null] of messages) {
      const attempts = written.split(', ').map((attempt) => {
        const [provider = '', result = ''] = attempt.split(' ');
        const failure = result === 'answered' ? { status: 200, reason: null } : { status, reason };
        return { provider, model: 'up', credential: 'default', result, ms: 9, ...failure };
      });
      const isAnswered = attempts.at(-1)?.result === 'answered';
      const error = isAnswered ? null : { code: 'upstream_failed', message: '' };
      const outcome = isAnswered ? 'completed' : 'failed';
      for (let at = 0; at < count; at++) counter.count({ model, outcome, attempts, error }, NOW_MS - MINUTE_MS);
    }
    const found = judgeTraffic(counter.take(), models, () => null, NOW_MS);
    return found.filter(({ begins }) => begins);
  }

  test('a model of which half the messages fail is a problem, with what its provider said', () => {
    const found = judge(['opus', 'one answered', 49], ['opus', 'one failed', 51, 'internal error', 500]);
    expect(found).toMatchObject([
      {
        name: 'model:opus',
        sinceMs: NOW_MS - MINUTE_MS,
        facts: {
          kind: 'model_failing',
          severity: 'critical',
          provider: 'one',
          cause: 'failed',
          said: '500: internal error',
          requests: 51,
          ofRequests: 100,
        },
      },
    ]);
  });

  test('a model of which a tenth fails goes on, but does not begin', () => {
    expect(judge(['opus', 'one answered', 90], ['opus', 'one failed', 10])).toEqual([]);
  });

  test('a route that fails while another answers is a problem of its own, and its model is none', () => {
    const found = judge(['fable', 'one overloaded, two answered', 9], ['opus', 'one answered', 30]);
    expect(found).toMatchObject([
      {
        name: 'route:fable\none\nup',
        facts: { kind: 'route_failing', severity: 'warning', cause: 'overloaded', requests: 9 },
      },
    ]);
  });

  test('a provider of which all routes fail is a problem, beside the models whose messages fail', () => {
    const found = judge(['fable', 'one timeout, two answered', 9], ['opus', 'one timeout', 9]);
    expect(found).toMatchObject([
      {
        name: 'provider:one',
        facts: { kind: 'provider_failing', severity: 'critical', models: ['fable', 'opus'], requests: 18 },
      },
      { name: 'model:opus', facts: { provider: 'one' } },
    ]);
  });

  test.each([
    ['credentials', 401, 'invalid x-api-key', 'credentials'],
    ['credentials', 400, 'Your credit balance is too low to access the API.', 'out_of_credit'],
    ['rate_limited', 429, 'You exceeded your current quota, please check your plan', 'out_of_credit'],
    ['rate_limited', 429, 'slow down', 'rate_limited'],
    ['credentials', 402, 'payment required', 'out_of_credit'],
  ])('a fault %s with status %i and "%s" is a problem of the provider: %s', (result, status, reason, cause) => {
    const found = judge(['opus', `one ${result}`, 3, reason, status]);
    expect(found.map(({ name, facts }) => [name, facts.cause])).toEqual([
      ['provider:one', cause],
      ['model:opus', cause],
    ]);
  });

  test('content that providers reject is no problem', () => {
    expect(judge(['opus', 'one rejected', 99])).toEqual([]);
  });
});

describe('of refusals', () => {
  const row = (code: string, count: number, more: Partial<FrequentRefusal> = {}): FrequentRefusal => ({
    ...{ atMs: null, account: 7, key: 9, code, count, lastAtMs: NOW_MS, firstAtMs: NOW_MS - MINUTE_MS },
    message: 'The balance of the account is too low: this request may cost up to 0.10 USD, but 0.01 USD is available.',
    scope: 'account',
    ...more,
  });
  const names = (...rows: FrequentRefusal[]) =>
    judgeRefusals(rows).map(({ name, begins, facts: { kind } }) => [name, kind, begins]);

  test('an account without money is one problem of all of its keys', () => {
    const found = judgeRefusals([
      row('insufficient_user_quota', 2),
      row('insufficient_user_quota', 52, { key: 10, firstAtMs: NOW_MS - 2 * MINUTE_MS }),
    ]);
    expect(found).toMatchObject([
      {
        name: 'refused:account:7:insufficient_user_quota',
        account: 7,
        begins: true,
        sinceMs: NOW_MS - 2 * MINUTE_MS,
        facts: {
          kind: 'account_refused',
          severity: 'critical',
          requests: 54,
          key: null,
          cause: 'insufficient_user_quota',
        },
      },
    ]);
  });

  test('the quota of a key and the budget of its person are problems of the key', () => {
    expect(names(row('insufficient_user_quota', 3, { scope: 'key', message: 'spend limit reached' }))).toEqual([
      ['refused:key:9:insufficient_user_quota', 'key_refused', true],
    ]);
    expect(names(row('key_expired', 3))).toEqual([['refused:key:9:key_expired', 'key_refused', true]]);
    const disabled = { scope: 'key' as const, message: 'The account of this key is disabled.' };
    expect(names(row('account_disabled', 3, disabled))).toEqual([
      ['refused:account:7:account_disabled', 'account_refused', true],
    ]);
  });

  test('limits that pass by themselves, and mistakes of an application, need many requests', () => {
    const waits = { scope: 'account_held' } as const;
    expect(
      names(
        row('requests_rate_exceeded', bounds.incidentLimitedLeast - 1, { scope: 'key' }),
        row('insufficient_user_quota', bounds.incidentLimitedLeast - 1, waits),
        row('invalid_request', bounds.incidentRejectedLeast - 1),
        row('key_invalid', bounds.incidentRejectedLeast, { account: null, key: null }),
      ),
    ).toEqual([
      ['refused:key:9:requests_rate_exceeded', 'key_refused', false],
      ['refused:account:7:insufficient_user_quota', 'account_refused', false],
      ['refused:key:9:invalid_request', 'requests_rejected', false],
      ['refused:account:0:key_invalid', 'requests_rejected', true],
    ]);
  });
});

describe('of upkeep', () => {
  const nothing: Upkeep = {
    ...{ events: [], lastBackupAtMs: null, exports: new Map(), destinations: [], mails: [], credentials: [] },
    ...{ margins: [], pricesAsOf: null },
  };
  const found = (more: Partial<Upkeep>) => judgeUpkeep({ ...nothing, ...more }, NOW_MS).filter(({ begins }) => begins);
  const event = (type: StoredEvent['type'], ageMs: number, data: Record<string, unknown> = {}): StoredEvent => ({
    ...{ seq: 1, atMs: NOW_MS - ageMs, account: null, type, data },
  });

  test('a failed backup is a problem until a later one succeeds, or for a day', () => {
    const events = [event('backup.failed', 1_000, { reason: 'disk full' }), event('backup.failed', 9_000)];
    expect(found({ events })).toMatchObject([
      { name: 'backup', sinceMs: NOW_MS - 9_000, facts: { kind: 'backup_failing', said: 'disk full' } },
    ]);
    expect(found({ events, lastBackupAtMs: NOW_MS - 10 })).toEqual([]);
    expect(found({ events: [event('backup.failed', bounds.incidentEventMs + 1)] })).toEqual([]);
  });

  test('a failed recharge is a problem until a later one succeeds, and an export until its last run is done', () => {
    const failed = { ...event('recharge.failed', 5_000, { failure: 'card declined' }), account: 7 };
    expect(found({ events: [failed] })).toMatchObject([
      { name: 'recharge:7', account: 7, facts: { said: 'card declined' } },
    ]);
    expect(found({ events: [{ ...event('recharge.succeeded', 1_000), account: 7 }, failed] })).toEqual([]);
    const events = [event('export.failed', 5_000, { export: 'exp_1', name: 'daily', reason: 'no bucket' })];
    const exports = (doneAtMs: number | null) => new Map([['exp_1', { id: 1, doneAtMs }]]);
    expect(found({ events, exports: exports(null) })).toMatchObject([
      { name: 'export:1', facts: { subject: 'daily' } },
    ]);
    expect(found({ events, exports: exports(NOW_MS) })).toEqual([]);
    expect(found({ events })).toEqual([]); // it was deleted
  });

  test('a destination is a problem when it fails for a while or was disabled by the service', () => {
    const destination = { id: 3, accountId: 7, name: 'ops', status: 'enabled', disabledReason: null } as const;
    const failing = (ageMs: number) => found({ destinations: [{ ...destination, failingSinceMs: NOW_MS - ageMs }] });
    expect(failing(1_000)).toEqual([]);
    expect(failing(bounds.incidentQuietMs)).toMatchObject([{ name: 'destination:3', account: 7 }]);
    const disabled = { ...destination, status: 'disabled', failingSinceMs: null } as const;
    expect(found({ destinations: [{ ...disabled, disabledReason: null }] })).toEqual([]);
    expect(found({ destinations: [{ ...disabled, disabledReason: 'gone' }] })).toMatchObject([
      { facts: { severity: 'critical', said: 'gone' } },
    ]);
  });

  test('mails that failed twice, unreadable credentials, lost money and old price lists are problems', () => {
    expect(found({ mails: [{ createdAtMs: NOW_MS, tries: 1 }] })).toEqual([]);
    expect(found({ mails: [{ createdAtMs: NOW_MS - 5, tries: 2 }] })).toMatchObject([
      { name: 'mail', sinceMs: NOW_MS - 5 },
    ]);
    const credentials = [{ provider: 'one', credential: 'default', failure: 'no such file' }];
    expect(found({ credentials })).toMatchObject([{ facts: { kind: 'credential_unreadable', said: 'no such file' } }]);
    const margin = (usd: number) => [
      { model: 'opus', group: 'vip', margin: usd * 1e9, sinceMs: NOW_MS - 1, messages: 4 },
    ];
    expect([found({ margins: margin(1) }), found({ margins: margin(-0.001) })]).toEqual([[], []]);
    expect(found({ margins: margin(-2) })).toMatchObject([
      { name: 'margin:opus\nvip', facts: { subject: 'vip', loss: 2e9, requests: 4 } },
    ]);
    expect(found({ pricesAsOf: '2026-11-01' })).toEqual([]);
    expect(found({ pricesAsOf: '2026-01-01' })).toMatchObject([{ facts: { kind: 'prices_outdated' } }]);
  });
});
