// GET /metrics: who may read it, and that it counts messages. Everything goes through the public API; counts are
// compared with those before.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { bodyOf, type Json, startWorld, UPSTREAM_KEY } from '../../contract/post-messages/world.ts';
import { readSamples, type Samples } from '../../support/read-samples.ts';
import { scripts } from '../../support/scripted-upstream.ts';

const COST = { input: '1', output: '5' };
const world = await startWorld({
  models: {
    costed: { price: { input: '3', output: '15' }, routes: [{ provider: 'first', model: 'm', cost: COST }] },
  },
});
afterAll(() => world.stop());
beforeEach(() => world.upstream.play(scripts.good()));

async function scrape(): Promise<Samples> {
  const response = await world.scrape();
  expect(response.status).toBe(200);
  return readSamples(await response.text());
}

/** The changes of the samples during `act`, without unchanged ones. */
async function changesBy(act: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await scrape();
  await act();
  const after = await scrape();
  const changes = Object.entries(after).map(([name, value]) => [
    name,
    Number((value - (before[name] ?? 0)).toFixed(9)),
  ]);
  return Object.fromEntries(changes.filter(([, change]) => change !== 0));
}

async function send(members: Json = {}, status = 200): Promise<void> {
  const { secret } = await world.makeKey();
  const response = await world.post(secret, bodyOf(members));
  expect(response.status).toBe(status);
  await response.text();
}

test('only operators and viewers of the installation may read the metrics', async () => {
  const tokenOf = async (role: string, more: Json = {}) =>
    (await world.admin('POST', '/tokens', { role, ...more }))['token'] as string;
  const { account, secret } = await world.makeKey();
  const read = async (token: string) => (await world.scrape({ authorization: `Bearer ${token}` })).status;
  expect(await read(await tokenOf('viewer'))).toBe(200);
  expect(await read(await tokenOf('operator'))).toBe(200);
  expect(await read(await tokenOf('owner', { account }))).toBe(403);
  expect(await read(await tokenOf('member', { account }))).toBe(403);
  expect(await read(secret)).toBe(401);
  const bare = await world.scrape({});
  expect([bare.status, ((await bare.json()) as { error: { code: string } }).error.code]).toEqual([
    401,
    'token_missing',
  ]);
});

test('the metrics are text in the format of Prometheus, not cacheable, not readable by other origins, and only for GET', async () => {
  const response = await world.scrape();
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
  const posted = await fetch(`${world.url}/metrics`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  const preflight = await fetch(`${world.url}/metrics`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example' },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  expect((await fetch(`${world.url}/metricsx`)).status).toBe(404);
});

test('a message counts once: its outcome, its tokens, its cost, its times', async () => {
  const changes = await changesBy(() => send({ model: 'costed', stream: true }));
  expect(changes).toMatchObject({
    'turnpike_messages_total{outcome="completed",model="costed",provider="first",stream="true"}': 1,
    'turnpike_tokens_total{kind="input",model="costed"}': 25,
    'turnpike_tokens_total{kind="output",model="costed"}': 12,
    'turnpike_cost_usd_total{model="costed",group="default"}': 0.000255,
    'turnpike_provider_cost_usd_total{model="costed",provider="first"}': 0.000085,
    'turnpike_usage_source_total{source="reported"}': 1,
    'turnpike_message_seconds_count{model="costed",stream="true"}': 1,
    'turnpike_first_token_seconds_count{model="costed"}': 1,
    'turnpike_added_latency_seconds_count{stream="true"}': 1,
    turnpike_admission_seconds_count: 1,
    turnpike_settlement_seconds_count: 1,
    'turnpike_upstream_attempts_total{provider="first",result="answered"}': 1,
    'turnpike_upstream_attempt_seconds_count{provider="first"}': 1,
  });
  expect(changes['turnpike_ledger_batch_bundles_sum']).toBeGreaterThanOrEqual(2);
  expect(changes['turnpike_ledger_commit_seconds_count']).toBeGreaterThanOrEqual(1);
  expect(Object.keys(changes).filter((name) => /errors|refusals|written_off|unknown|disbelieved/.test(name))).toEqual(
    [],
  );
});

test('a write-off counts by its cause: the prompt, or only the output', async () => {
  const series = (reason: string) => `turnpike_written_off_usd_total{model="costed",reason="${reason}"}`;
  expect(await scrape()).toMatchObject({ [series('prompt')]: 0, [series('output')]: 0 }); // the sum exists before, so that an alert detects the first write-off
  const writtenOffBy = async (usage: Json) => {
    const { secret } = await world.makeKey({ credit: '0.20' });
    world.upstream.play(scripts.message({ usage }));
    const changes = await changesBy(async () => (await world.post(secret, bodyOf({ model: 'costed' }))).text());
    return [changes[series('prompt')] ?? 0, changes[series('output')] ?? 0];
  };
  expect(await writtenOffBy({ input_tokens: 60_000, output_tokens: 70 })).toEqual([0, 0]);
  expect(await writtenOffBy({ input_tokens: 66_400, output_tokens: 70 })).toEqual([0, 0.00025]); // 0.1992 for the prompt
  expect(await writtenOffBy({ input_tokens: 100_000, output_tokens: 12 })).toEqual([0.10018, 0]);
});

test('waiting for the provider or for the client’s body does not count as added latency', async () => {
  const { secret } = await world.makeKey();
  world.upstream.play(async (answer, request) => {
    await Bun.sleep(300);
    await scripts.good()(answer, request);
  });
  const text = JSON.stringify(bodyOf());
  const slowBody = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from(text.slice(0, 10)));
      await Bun.sleep(1_000); // measured from when the service begins to read
      controller.enqueue(Buffer.from(text.slice(10)));
      controller.close();
    },
  });
  const changes = await changesBy(async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': secret };
    const response = await fetch(`${world.url}/v1/messages`, { method: 'POST', headers, body: slowBody });
    expect(response.status).toBe(200);
    await response.text();
  });
  const whole = changes['turnpike_message_seconds_sum{model="plain",stream="false"}'] as number;
  expect(changes['turnpike_added_latency_seconds_sum{stream="false"}']).toBeLessThan(whole - 0.8);
});

test('a refusal counts by its code, and not as a message', async () => {
  const changes = await changesBy(async () => {
    await world.post('sk-tp-nobody', bodyOf());
    await send({ model: 'none-such' }, 400);
  });
  expect(changes).toMatchObject({
    'turnpike_refusals_total{code="key_invalid"}': 1,
    'turnpike_refusals_total{code="model_not_found"}': 1,
  });
  expect(Object.keys(changes).join(' ')).not.toMatch(/turnpike_messages_total|none-such/);
});

test('failed attempts count by their result, the message by its code', async () => {
  world.upstream.play(scripts.overloaded());
  const changes = await changesBy(async () => {
    await send({ model: 'paired' });
    await send({}, 529);
  });
  expect(changes).toMatchObject({
    'turnpike_upstream_attempts_total{provider="first",result="overloaded"}': 2,
    'turnpike_upstream_attempts_total{provider="second",result="answered"}': 1,
    'turnpike_messages_total{outcome="completed",model="paired",provider="second",stream="false"}': 1,
    'turnpike_messages_total{outcome="failed",model="plain",provider="first",stream="false"}': 1,
    'turnpike_message_errors_total{code="upstream_overloaded"}': 1,
  });
});

test('a provider is down after its last attempts failed, and up with its first response', async () => {
  world.upstream.play(scripts.resetBeforeHead());
  for (let message = 0; message < 5; message++) await send({}, 502);
  const down = await scrape();
  expect(down['turnpike_upstream_up{provider="first"}']).toBe(0);
  expect(down['turnpike_upstream_up{provider="second"}']).toBe(1);
  expect(
    Date.now() / 1000 - (down['turnpike_upstream_last_failure_timestamp_seconds{provider="first"}'] ?? 0),
  ).toBeLessThan(30);
  world.upstream.play(scripts.good());
  await send();
  expect((await scrape())['turnpike_upstream_up{provider="first"}']).toBe(1);
});

test('unknown and impossible counts of a provider are counted', async () => {
  world.upstream.play(scripts.message({ usage: { input_tokens: 25, output_tokens: 12, moon_tokens: 3 } }));
  expect(await changesBy(() => send())).toMatchObject({ turnpike_usage_unknown_total: 1 });
  world.upstream.play(scripts.message({ usage: { input_tokens: 25, output_tokens: -12 } }));
  expect(await changesBy(() => send())).toMatchObject({
    turnpike_usage_disbelieved_total: 1,
    'turnpike_usage_source_total{source="estimated"}': 1,
  });
});

test('streams, holds and held amounts are visible while a message runs', async () => {
  world.upstream.play(scripts.hangMidStream());
  const { secret } = await world.makeKey();
  const left = new AbortController();
  const response = await world.post(secret, bodyOf({ stream: true }), { signal: left.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  const open = await scrape();
  expect(open).toMatchObject({
    'turnpike_open_messages{stream="true"}': 1,
    'turnpike_open_messages{stream="false"}': 0,
    turnpike_open_holds: 1,
    turnpike_store_available: 1,
  });
  expect(open['turnpike_held_usd']).toBeGreaterThan(0.0009);
  expect(open['turnpike_oldest_hold_seconds']).toBeLessThan(30);
  expect(open['turnpike_requests_in_flight']).toBeGreaterThanOrEqual(2);
  left.abort();
  await reader?.cancel().catch(() => {});
  for (let tries = 0; tries < 200 && (await scrape())['turnpike_open_holds'] !== 0; tries++) await Bun.sleep(10);
  expect(await scrape()).toMatchObject({
    'turnpike_open_messages{stream="true"}': 0,
    turnpike_open_holds: 0,
    turnpike_held_usd: 0,
    turnpike_oldest_hold_seconds: 0,
  });
});

test('the process and its event loop are measured', async () => {
  await Bun.sleep(200);
  const samples = await scrape();
  expect(samples['turnpike_event_loop_delay_seconds_count']).toBeGreaterThan(1);
  expect(samples['turnpike_process_cpu_seconds_total']).toBeGreaterThan(0.01);
  expect(samples['turnpike_process_resident_memory_bytes']).toBeGreaterThan(10_000_000);
  expect(samples[`turnpike_build_info{version="0.0.0",runtime="bun ${Bun.version}"}`]).toBe(1);
});

test('the metrics contain no account, key, credential, address or message text', async () => {
  const { account, key, secret } = await world.makeKey({ name: 'CANARY-account' }, { name: 'CANARY-key' });
  const body = bodyOf({ messages: [{ role: 'user', content: 'CANARY-prompt' }], model: 'plain-latest' });
  const response = await world.post(secret, body);
  expect(response.status).toBe(200);
  const text = await (await world.scrape()).text();
  const secrets = [account, key, secret, UPSTREAM_KEY, '127.0.0.1', response.headers.get('request-id') as string];
  for (const canary of ['CANARY', 'plain-latest', ...secrets]) expect(text).not.toContain(canary);
});

test('accounts that a setting names have metrics of their own, with those below them', async () => {
  const company = await world.admin('POST', '/accounts', {
    name: 'acme "1"',
    credit: '5.00',
    allowance: '20',
    allowance_period: 'month',
  });
  const id = company['id'] as string;
  const { account, secret } = await world.makeKey({ name: 'team', credit: '0', parent: id, pays_from: 'parent' });
  await world.admin('POST', '/apply', { document: { settings: { accounts_in_metrics: [id, account] } } });
  await scrape();
  const changes = await changesBy(async () => {
    expect((await world.post(secret, bodyOf({ model: 'costed' }))).status).toBe(200);
    expect((await world.post(secret, bodyOf({ model: 'none-such' }))).status).toBe(400);
    await send();
  });
  for (const name of [id, account])
    expect(changes).toMatchObject({
      [`turnpike_account_messages_total{account="${name}"}`]: 1,
      [`turnpike_account_cost_usd_total{account="${name}"}`]: 0.000255,
      [`turnpike_account_tokens_total{account="${name}",kind="input"}`]: 25,
      [`turnpike_account_refusals_total{account="${name}",reason="request"}`]: 1,
    });
  expect(changes).toMatchObject({
    'turnpike_account_messages_total{account="other"}': 1,
    [`turnpike_account_available_usd{account="${id}"}`]: -0.000255,
    [`turnpike_account_limit_used_usd{account="${id}",limit="allowance",window="month"}`]: 0.000255,
  });
  const samples = await scrape();
  expect(samples).toMatchObject({
    [`turnpike_account_info{account="${id}",name="acme \\"1\\"",parent=""}`]: 1,
    [`turnpike_account_info{account="${account}",name="team",parent="${id}"}`]: 1,
    [`turnpike_account_limit_usd{account="${id}",limit="allowance",window="month"}`]: 20,
  });
  expect(samples).not.toHaveProperty([`turnpike_account_available_usd{account="${account}"}`]); // the company pays
  await world.admin('POST', '/apply', { document: { settings: { accounts_in_metrics: [] } } });
  expect(Object.keys(await scrape()).filter((name) => name.includes('acct_'))).toEqual([]);
});

test('a setting that names no account is refused with its name', async () => {
  const apply = (settings: Json) => world.admin('POST', '/apply', { document: { settings } });
  await expect(apply({ accounts_in_metrics: ['acme'] })).rejects.toThrow(
    /accounts_in_metrics.*must be the id of an acc/,
  );
  await expect(apply({ top_accounts_in_metrics: 51 })).rejects.toThrow(/top_accounts_in_metrics/);
});

test('messages count by the tags that a setting names, of which a bounded number of values have series', async () => {
  await world.admin('POST', '/apply', { document: { settings: { tags_in_metrics: ['team'] } } });
  const { secret } = await world.makeKey();
  const sendTagged = async (tags: string | null) => {
    const headers: Record<string, string> = tags === null ? {} : { 'x-turnpike-tags': tags };
    expect((await world.post(secret, bodyOf(), { headers })).status).toBe(200);
  };
  const changes = await changesBy(async () => {
    await sendTagged('team=search,env=prod');
    await sendTagged(null);
  });
  const series = (value: string) => `turnpike_tagged_messages_total{tag="team",value="${value}"}`;
  expect(changes).toMatchObject({
    [series('search')]: 1,
    [series('none')]: 1,
    'turnpike_tagged_cost_usd_total{tag="team",value="search"}': 0.000255,
  });
  expect(Object.keys(changes).join(' ')).not.toContain('prod');
  for (let at = 0; at <= bounds.tagMetricValuesMax; at++) await sendTagged(`team=team-${at}`);
  const samples = await scrape();
  const values = Object.keys(samples).filter((name) => name.startsWith('turnpike_tagged_messages_total{tag="team"'));
  expect(values).toHaveLength(bounds.tagMetricValuesMax + 1);
  expect(samples[series('other')]).toBe(3); // two places were taken before
});
