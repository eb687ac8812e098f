// Incidents through the admin API: what begins one, who is affected, what can be done, who sees it, and how it ends. The clock is the
// test's.

import { beforeEach, expect, test } from 'bun:test';
import { parseId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import type { LimitScope } from '../../../src/errors.ts';
import { IncidentWatch, NodeIncidents } from '../../../src/server/watch-incidents.ts';
import { RouteCounter } from '../../../src/traffic/traffic.ts';
import { type Installation, type Json, makeAccount, makeInstallation, makeKey, useKey } from './installation.ts';

const MINUTE_MS = 60_000;

let installation: Installation;
let watch: IncidentWatch;
let counter: RouteCounter;
beforeEach(async () => {
  installation = await makeInstallation();
  const vendor = { kind: 'anthropic', base_url: 'https://api.example.com', api_key: 'sk-of-the-vendor' };
  const fable = { price: { input: '3', output: '15' }, routes: [{ provider: 'vendor' }] };
  const document = { providers: { vendor }, models: { fable } };
  expect((await installation.ask('POST', '/api/v1/apply', { document })).status).toBe(200);
  watch = newWatch();
  counter = new RouteCounter('node');
});

function newWatch(): IncidentWatch {
  const { stores, catalog, clock } = installation;
  return new IncidentWatch({ stores, catalog: () => catalog.current, clock });
}

async function incidents(token?: string, status = 'open'): Promise<Json[]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await installation.ask('GET', `/api/v1/incidents?status=${status}`, undefined, headers);
  expect(answer.status).toBe(200);
  return answer.body['data'] as Json[];
}

async function eventsOf(token?: string): Promise<Json[]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { body } = await installation.ask('GET', '/api/v1/events?limit=1000', undefined, headers);
  return (body['data'] as Json[]).filter(({ type }) => String(type).startsWith('incident.')).reverse();
}

async function tokenOf(role: string, account?: unknown): Promise<string> {
  const { body } = await installation.ask('POST', '/api/v1/tokens', { name: role, role, account });
  return String(body['token']);
}

/** Counts attempts of the only route, each of a message. */
async function sendMessages(answered: number, failed: number): Promise<void> {
  const nowMs = installation.clock.nowMs();
  const attempt = { provider: 'vendor', model: 'fable', credential: null, ms: 5 };
  const fault = { ...attempt, result: 'failed', status: 500, reason: 'internal error' };
  const message = { model: 'fable', outcome: 'completed', error: null };
  const ended = { ...message, outcome: 'failed', error: { code: 'upstream_failed', message: '' } };
  for (let at = 0; at < answered; at++)
    counter.count({ ...message, attempts: [{ ...attempt, result: 'answered', status: 200, reason: null }] }, nowMs);
  for (let at = 0; at < failed; at++) counter.count({ ...ended, attempts: [fault] }, nowMs);
  await installation.stores.traffic.putRouteHours(counter.take());
}

async function refuse(
  key: Json,
  count: number,
  message: string,
  { code = 'insufficient_user_quota', scope = 'account' as LimitScope } = {},
): Promise<void> {
  const nowMs = installation.clock.nowMs();
  const [account, id] = [parseId('acct', String(key['account'])), parseId('key', String(key['id']))];
  const atMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  await installation.stores.traffic.addRefusals([
    { atMs, account, key: id, code, status: 400, count, lastAtMs: nowMs, message, scope },
  ]);
}

const TOO_LOW = 'The balance of the account is too low: this request may cost up to 0.10 USD.';

test('a model of which 51 % fail is the worst problem, with who is affected and what its provider said', async () => {
  const account = await makeAccount(installation, { name: 'hit' });
  const key = await makeKey(installation, account['id']);
  await watch.round();
  expect(await incidents()).toEqual([]);
  await sendMessages(49, 51);
  await watch.round();
  expect(await incidents()).toMatchObject([
    {
      kind: 'model_failing',
      severity: 'critical',
      since: '2026-11-20T10:00:00.000Z',
      ended_at: null,
      model: 'fable',
      provider: 'vendor',
      cause: 'failed',
      message: '500: internal error',
      requests: 51,
      all_requests: 100,
      share: 0.51,
      actions: ['add_route', 'view_requests', 'tell_customers', 'refund', 'view_provider'],
    },
  ]);
  await useKey(installation, key, 3, { outcome: 'failed', model: 'fable' });
  installation.clock.advance(bounds.incidentCountEveryMs);
  await watch.round();
  expect(await incidents()).toMatchObject([
    { accounts: 1, most_affected: [{ account: account['id'], account_name: 'hit', requests: 3 }] },
  ]);
});

test('since when is kept when another node leads, and the incident ends some minutes after the model answers again', async () => {
  await sendMessages(0, 9);
  await watch.round();
  const [{ since, id }] = (await incidents()) as [Json];
  installation.clock.advance(5 * MINUTE_MS);
  await sendMessages(0, 9);
  watch = newWatch(); // a restart
  await watch.round();
  expect(await incidents()).toMatchObject([{ id, since, requests: 18 }]);
  installation.clock.advance(5 * MINUTE_MS);
  await sendMessages(0, 9);
  await watch.round();
  installation.clock.advance(5 * MINUTE_MS);
  await sendMessages(bounds.routeJudgedAttempts, 0);
  await watch.round();
  expect(await incidents()).toMatchObject([{ id, ended_at: null }]);
  installation.clock.advance(bounds.incidentQuietMs);
  await watch.round();
  expect(await incidents()).toEqual([]);
  expect(await incidents(undefined, 'ended')).toMatchObject([{ id, since, actions: [] }]);
});

test('an incident is reported once when it begins and once when it ends, whatever node leads', async () => {
  await sendMessages(0, 9);
  await Promise.all([watch.round(), newWatch().round()]);
  await newWatch().round();
  const [{ id, since }] = (await incidents()) as [Json];
  const facts = {
    incident: id,
    kind: 'model_failing',
    severity: 'critical',
    since,
    model: 'fable',
    provider: 'vendor',
  };
  expect(await eventsOf()).toMatchObject([
    {
      type: 'incident.opened',
      account: null,
      data: { ...facts, cause: 'failed', requests: 9 },
      description: 'Requests for the model fable have failed since Nov 20, 2026, 10:00 AM UTC: 500: internal error.',
    },
  ]);
  installation.clock.advance(5 * MINUTE_MS);
  await sendMessages(bounds.routeJudgedAttempts, 0);
  await watch.round();
  installation.clock.advance(bounds.incidentQuietMs);
  await watch.round();
  watch = newWatch();
  await watch.round();
  const [{ ended_at: ended }] = (await incidents(undefined, 'ended')) as [Json];
  expect(await eventsOf()).toMatchObject([
    { type: 'incident.opened' },
    {
      type: 'incident.ended',
      data: { ...facts, severity: 'warning', ended_at: ended },
      description: expect.stringMatching(
        /^Requests for the model fable failed from Nov 20, 2026, 10:00 AM UTC to Nov 20, 2026, 10:\d\d AM UTC\. The incident has ended\.$/,
      ),
    },
  ]);
});

test('an account gets reports of its own incidents only, and no more than the bound of an hour are made', async () => {
  await sendMessages(0, 9);
  const account = await makeAccount(installation);
  const key = await makeKey(installation, account['id']);
  const owner = await tokenOf('owner', account['id']);
  const other = await tokenOf('owner', (await makeAccount(installation))['id']);
  await refuse(key, 5, TOO_LOW);
  await watch.round();
  const kinds = async (token?: string) => (await eventsOf(token)).map(({ data }) => (data as Json)['kind']);
  expect([await kinds(owner), await kinds(other)]).toEqual([['account_refused'], []]);
  expect(await kinds()).toEqual(['model_failing', 'account_refused']);
  for (let at = 0; at < bounds.incidentReportsPerHourMax; at++) {
    const more = await makeAccount(installation);
    await refuse(await makeKey(installation, more['id']), 5, TOO_LOW);
  }
  await watch.round();
  expect(await kinds()).toHaveLength(bounds.incidentReportsPerHourMax);
});

test('errors that the sandbox simulates are no incident', async () => {
  const attempt = { provider: 'sandbox', model: 'sandbox-error-529', result: 'overloaded', ms: 5 };
  const message = { model: 'sandbox-echo', outcome: 'failed', error: { code: 'upstream_overloaded', message: '' } };
  for (let at = 0; at < 9; at++) counter.count({ ...message, attempts: [attempt] }, installation.clock.nowMs());
  await installation.stores.traffic.putRouteHours(counter.take());
  await watch.round();
  expect(await incidents()).toEqual([]);
});

test('two nodes that look at once begin one incident', async () => {
  await sendMessages(0, 9);
  await Promise.all([watch.round(), newWatch().round()]);
  expect(await incidents()).toHaveLength(1);
});

test('an account that is refused is critical, with the share of its requests, and over soon after it has money again', async () => {
  const account = await makeAccount(installation, { name: 'empty', credit: '0.004' });
  const key = await makeKey(installation, account['id']);
  await useKey(installation, key, 3);
  await refuse(key, 54, TOO_LOW);
  await watch.round();
  installation.clock.advance(bounds.incidentCountEveryMs);
  await watch.round();
  expect(await incidents()).toMatchObject([
    {
      kind: 'account_refused',
      severity: 'critical',
      account: account['id'],
      account_name: 'empty',
      key: null,
      cause: 'insufficient_user_quota',
      message: TOO_LOW,
      requests: 54,
      all_requests: 57,
      actions: ['add_credit', 'raise_limit', 'view_rejected', 'tell_customers'],
    },
  ]);
  await installation.ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '5.00', reference: 'a' });
  await watch.round();
  expect(await incidents()).toEqual([]);
});

test('an account that is still empty ends its incident when nothing was refused for ten minutes', async () => {
  const account = await makeAccount(installation, { credit: '0.001' });
  const key = await makeKey(installation, account['id']);
  await useKey(installation, key, 1);
  await refuse(key, 5, TOO_LOW);
  await watch.round();
  installation.clock.advance(bounds.incidentQuietMs - 1);
  await watch.round();
  expect(await incidents()).toHaveLength(1);
  installation.clock.advance(1);
  await watch.round();
  expect(await incidents()).toEqual([]);
});

test('holders see what concerns them only, without providers and their words', async () => {
  const [mine, other] = [await makeAccount(installation), await makeAccount(installation)];
  const [own, theirs] = [await makeKey(installation, mine['id']), await makeKey(installation, other['id'])];
  const [owner, member] = [await tokenOf('owner', mine['id']), await tokenOf('member', mine['id'])];
  const headers = { authorization: `Bearer ${member}` };
  const { body: ofMember } = await installation.ask('POST', '/api/v1/keys', { name: 'mine' }, headers);
  await sendMessages(0, 9);
  const quota = 'The quota of this key is too low: 0.01 USD is available.';
  for (const key of [own, theirs, ofMember]) await refuse(key, 5, quota, { scope: 'key' });
  await watch.round();
  expect((await incidents()).map(({ kind }) => kind).sort()).toEqual([
    'key_refused',
    'key_refused',
    'key_refused',
    'model_failing',
  ]);
  const seen = await incidents(owner);
  expect(new Set(seen.map(({ key }) => key))).toEqual(new Set([null, own['id'], ofMember['id']]));
  expect(seen.find(({ kind }) => kind === 'model_failing')).toMatchObject({
    ...{ model: 'fable', share: 1, provider: null, cause: null, message: null, requests: null },
    ...{ all_requests: null, accounts: null, most_affected: [], actions: ['view_requests'] },
  });
  expect(JSON.stringify(seen)).not.toMatch(/internal error|vendor/);
  const seenByMember = await incidents(member);
  expect(seenByMember.map(({ kind, key }) => [kind, key])).toEqual([
    ['key_refused', ofMember['id']],
    ['model_failing', null],
  ]);
  expect(seenByMember).toMatchObject([{ message: null }, {}]);
  const viewer = await tokenOf('viewer');
  expect(await incidents(viewer)).toHaveLength(4);
});

test('a holder does not see the failures of a model that the account cannot use', async () => {
  const file = { groups: { closed: { models: ['none'] } } };
  const applied = await installation.ask('POST', '/api/v1/apply', { document: file });
  expect(applied.status).toBe(200);
  const account = await makeAccount(installation, { groups: ['closed'] });
  await sendMessages(0, 9);
  await watch.round();
  expect(await incidents()).toHaveLength(1);
  expect(await incidents(await tokenOf('owner', account['id']))).toEqual([]);
});

test('signals that a node cannot export are an incident until it can', async () => {
  const { stores, clock } = installation;
  const node = new NodeIncidents('a');
  node.note('traces', 'connection refused', clock.nowMs());
  await node.round(stores, clock.nowMs());
  await new NodeIncidents('b').round(stores, clock.nowMs());
  await watch.round();
  expect(await incidents()).toMatchObject([
    { kind: 'telemetry_failing', subject: 'traces', message: 'connection refused', actions: ['view_events'] },
  ]);
  node.note('traces', null, clock.nowMs());
  await node.round(stores, clock.nowMs());
  expect(await incidents()).toEqual([]);
});

test('a model that a group sells below its cost is an incident, which only operators see', async () => {
  const account = await makeAccount(installation);
  const key = await makeKey(installation, account['id']);
  await useKey(installation, key, 2, { model: 'fable', providerCost: 20_000_000 });
  await watch.round();
  expect(await incidents()).toMatchObject([
    { kind: 'negative_margin', model: 'fable', subject: 'default', loss: '0.038', requests: 2 },
  ]);
  expect(await incidents(await tokenOf('owner', account['id']))).toEqual([]);
});
