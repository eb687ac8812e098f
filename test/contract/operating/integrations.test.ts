// Integrations: their state, what sets them, and their tests, over real servers on loopback. No answer has a secret.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { bounds, integrationIds, readConfig } from '../../../src/config/config.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

type Json = Record<string, unknown>;

const SECRETS = ['sk_test_scripted0000000000', 'whsec_scripted000000000000', 'the-client-secret', 'the-s3-secret'];
let smtp: ScriptedSmtp;
let otlp: OtlpReceiver;
let stripe: Awaited<ReturnType<ScriptedStripe['listen']>>;
const scripted = new ScriptedStripe();
/** An issuer with its document, and a store of objects. */
let server: Bun.Server<undefined>;
let document: Json | null;
let s3Status = 200;
const s3Requests: string[] = [];
let turnpike: Turnpike;

beforeAll(async () => {
  [smtp, otlp, stripe] = await Promise.all([startScriptedSmtp(), startOtlpReceiver(), scripted.listen()]);
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === '/.well-known/openid-configuration')
        return document === null ? new Response('gone', { status: 503 }) : Response.json(document);
      s3Requests.push(`${request.method} ${pathname}`);
      return new Response(s3Status === 200 ? '' : '<Error><Code>AccessDenied</Code></Error>', { status: s3Status });
    },
  });
  const origin = server.url.origin;
  document = { issuer: origin, ...endpointsOf(origin) };
  const environment = {
    TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
    TURNPIKE_SMTP_URL: smtp.url,
    TURNPIKE_MAIL_FROM: 'turnpike@example.com',
    TURNPIKE_STRIPE_SECRET_KEY: scripted.secretKey,
    TURNPIKE_STRIPE_WEBHOOK_SECRET: scripted.webhookSecret,
    TURNPIKE_STRIPE_API_URL: stripe.url,
    TURNPIKE_OIDC_ISSUER: origin,
    TURNPIKE_OIDC_CLIENT_ID: 'turnpike',
    TURNPIKE_OIDC_CLIENT_SECRET: 'the-client-secret',
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    OTEL_METRICS_EXPORTER: 'none',
  };
  turnpike = await startTurnpike({ settings: { webhook_private_network: 'operators' } }, environment);
});
afterAll(async () => {
  await turnpike?.stop();
  await Promise.all([smtp?.[Symbol.asyncDispose](), otlp?.[Symbol.asyncDispose](), stripe?.stop(), server?.stop(true)]);
});

const endpointsOf = (origin: string) => ({
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  jwks_uri: `${origin}/keys`,
});

async function ask(
  method: string,
  path: string,
  body?: object,
  token?: string,
): Promise<{ status: number; body: Json }> {
  const authorization = `Bearer ${token ?? (await operatorToken())}`;
  const answer = await fetch(`${turnpike.url}/api/v1${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  for (const secret of SECRETS) expect(text).not.toContain(secret);
  return { status: answer.status, body: JSON.parse(text) };
}
let operator: Promise<string> | undefined;
const operatorToken = () => {
  operator ??= turnpike.admin('POST', '/tokens', { role: 'operator' }).then(({ token }) => String(token));
  return operator;
};
const stateOf = async (id: string) =>
  ((await ask('GET', '/integrations')).body['data'] as Json[]).find((one) => one['id'] === id) as Json;
const run = async (id: string, body: object = {}) => (await ask('POST', `/integrations/${id}/test`, body)).body;

test('each integration has a state, its place, and the variables that the configuration reads', async () => {
  const { body } = await ask('GET', '/integrations');
  expect((body['data'] as Json[]).map(({ id, state }) => [id, state])).toEqual([
    ['mail', 'set'],
    ['payments', 'set'],
    ['sign_in', 'set'],
    ['telemetry', 'set'],
    ['storage', 'not_set'],
  ]);
  expect(integrationIds).toHaveLength(5);
  for (const { id, settings } of body['data'] as { id: string; settings: string[] }[])
    for (const name of settings.filter((one) => one.startsWith('TURNPIKE_')))
      expect([id, name, () => readConfig({}, { [name]: '' })]).toEqual([id, name, expect.any(Function)]);
  expect((await ask('POST', '/integrations/storage/test', {})).status).toBe(409);
});

test('mail is tested by a mail to the given address, and keeps since when it works or fails', async () => {
  expect((await ask('POST', '/integrations/mail/test', {})).status).toBe(400);
  expect(await run('mail', { to: 'ada@example.com' })).toMatchObject({ ok: true, integration: { state: 'working' } });
  expect((await smtp.untilMails(1))[0]).toMatchObject({ to: ['ada@example.com'] });
  const { since } = await stateOf('mail');
  smtp.script = (command) => (command === 'RCPT' ? '550 no such mailbox' : null);
  const { ok, integration } = await run('mail', { to: 'ada@example.com' });
  expect([ok, integration]).toEqual([
    false,
    expect.objectContaining({ state: 'failing', error: expect.stringContaining('550') }),
  ]);
  const failing = await stateOf('mail');
  expect(await run('mail', { to: 'ada@example.com' })).toMatchObject({ integration: { since: failing['since'] } });
  expect(since).not.toBe(failing['since']);
  smtp.script = () => null;
});

test('payments are tested by a call of Stripe’s API', async () => {
  expect(await run('payments')).toMatchObject({ ok: true });
  scripted.faultOf = () => 'unavailable';
  expect(await run('payments')).toMatchObject({ ok: false, integration: { state: 'failing' } });
  scripted.faultOf = () => null;
});

test('sign-in is tested by the discovery document of each issuer', async () => {
  expect(await run('sign_in')).toMatchObject({ ok: true });
  const failureOf = async () => ((await run('sign_in'))['integration'] as Json)['error'];
  const whole = document;
  document = { ...whole, issuer: 'https://another.example.com' };
  expect(await failureOf()).toContain('another issuer');
  document = { ...whole, jwks_uri: undefined };
  expect(await failureOf()).toContain('has no jwks_uri');
  document = null;
  expect(await failureOf()).toContain('503');
  document = whole;
});

test('telemetry is tested by a span that the collector takes', async () => {
  expect(await run('telemetry')).toMatchObject({ ok: true });
  expect(otlp.spans.map(({ name }) => name)).toContain('turnpike.test');
  otlp.answer(401);
  expect(await run('telemetry')).toMatchObject({ ok: false, integration: { state: 'failing' } });
  otlp.answer(200);
});

test('storage is tested by a small object of each export, written and deleted', async () => {
  const { origin } = server.url;
  const target = {
    target: 's3',
    s3_endpoint: origin,
    s3_region: 'eu-central-1',
    s3_bucket: 'costs',
    s3_prefix: 'turnpike',
    s3_access_key_id: 'AKIAEXAMPLE',
    s3_secret_access_key: 'the-s3-secret',
  };
  const { id } = await turnpike.admin('POST', '/exports', { name: 'costs', kind: 'records', every: 'day', ...target });
  expect(await stateOf('storage')).toMatchObject({ state: 'set', place: `${origin} (costs)` });
  expect(await run('storage')).toMatchObject({ ok: true });
  const object = `/costs/turnpike/turnpike-test-${id}.txt`;
  expect(s3Requests).toEqual([`PUT ${object}`, `DELETE ${object}`]);
  s3Status = 403;
  const { integration } = await run('storage');
  expect(integration).toMatchObject({ state: 'failing', error: expect.stringContaining('AccessDenied') });
  s3Status = 200;
});

test('tests are audited, limited in number, and for operators only', async () => {
  const { body } = await ask('GET', '/audit?limit=50');
  expect((body['data'] as Json[]).map(({ action, object }) => `${action} ${object}`)).toContain(
    'integration.test integration storage',
  );
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'viewer' });
  expect((await ask('GET', '/integrations', undefined, String(token))).status).toBe(200);
  expect((await ask('POST', '/integrations/payments/test', {}, String(token))).status).toBe(403);
  const statuses: number[] = [];
  for (let at = 0; at < bounds.integrationTestsMax; at++)
    statuses.push((await ask('POST', '/integrations/telemetry/test', {})).status);
  expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
});
