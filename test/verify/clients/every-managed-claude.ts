// Tests of Claude Code under management, for `npm run test:clients`: managed settings that fail, limits, prices, models, telemetry,
// subagents, and what it does when a provider or a key refuses.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startOtlpReceiver } from '../../support/otlp-receiver.ts';
import type { Script } from '../../support/scripted-upstream.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { agents } from './agents.ts';
import { openSession, say, signInAtTerminal } from './claude-terminal.ts';
import { ALLOWED, type Asked, agentKey, type Company, DENIED, OWN, startCompany } from './company.ts';
import type { Json } from './conversations/conversation.ts';
import { Machine } from './terminal.ts';
import { sayMessage } from './upstreams/speak-messages.ts';

const MS_MAX = 120_000;
const SILENT_MS = 360_000;
const selected = process.env['AGENTS_SELECTED']?.split(',') ?? agents.map(({ name }) => name);
const isEverything = process.env['AGENTS_OVER'] === 'every-kind';
const program = agents.find(({ name }) => name === 'claude-code')?.find() ?? null;
const claude = program ?? '';
const usage = { input_tokens: 1_000, output_tokens: 100 };
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }], usage });

let company: Company;
let machine: Machine;

if (!selected.includes('claude-code') || program === null || !Machine.isAvailable)
  test.skip('claude-code under management: needs its program, `script` and namespaces of mounts', () => {});
else {
  describe('claude-code under management', isManaged);
  describe('claude-code with telemetry', sendsTelemetry);
  describe('claude-code with a helper for its key', usesHelper);
}

async function startSignedIn(environment: Record<string, string> = {}): Promise<void> {
  company = await startCompany(environment);
  company.turns.push(text('Hello.'));
  const managed = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: company.url };
  const files = { 'claude-code/managed-settings.json': JSON.stringify(managed) };
  machine = new Machine(files, { DISABLE_AUTOUPDATER: '1' });
  await signInAtTerminal(claude, company, machine);
  company.take();
}
async function stop(): Promise<void> {
  await machine?.[Symbol.asyncDispose]();
  await company?.[Symbol.asyncDispose]();
}

const ask = async (...words: string[]) => {
  const run = await machine.run([claude, '-p', ...words, '--output-format', 'json']);
  const printed = (run.out.trim().startsWith('{') ? JSON.parse(run.out) : {}) as Json;
  return { ...run, printed, asked: company.take() };
};
const messagesOf = (asked: readonly Asked[]) => asked.filter(({ path }) => path.startsWith('/v1/messages?'));
const bodyOf = ({ body }: { body: string }) => JSON.parse(body) as Json;
const applyPolicy = (policy: Json) =>
  company.turnpike.admin('POST', '/apply', {
    document: { agent_policies: { works: { accounts: [company.account], models: [ALLOWED], ...policy } } },
  });

function isManaged(): void {
  beforeAll(() => startSignedIn(), MS_MAX);
  afterAll(stop);
  afterEach(() => {
    company.intercept = null;
    company.take();
    company.turns.splice(0, company.turns.length, text('Hello.'));
  });

  test.each([
    ['fail', () => new Response('no', { status: 503 })],
    ['do not come', () => new Promise<Response>(() => {})],
  ])(
    'does not start when its settings %s',
    async (_, answer) => {
      company.intercept = ({ path }) => (path.startsWith('/managed/settings') ? answer() : null);
      const { exitCode, out, errors, asked } = await ask('hi');
      expect(exitCode).toBe(1);
      expect(out + errors).toContain("Couldn't load settings");
      expect(messagesOf(asked)).toEqual([]);
    },
    MS_MAX,
  );

  showsLimits();
  showsModels();
  hasSubagents();
  meetsRefusals();
}

/** A message with the token of the sign-in, as another client could send it. */
function sendByHand(model: string, max_tokens: number): Promise<Response> {
  const stored = readFileSync(join(machine.home, '.claude', '.credentials.json'), 'utf8');
  const { jwt } = (JSON.parse(stored) as { enterpriseGateway: { jwt: string } }).enterpriseGateway;
  const headers = { authorization: `Bearer ${jwt}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model, max_tokens, messages: [{ role: 'user', content: 'hi' }] });
  return fetch(`${company.url}/v1/messages`, { method: 'POST', headers, body });
}

/** Those of a provider's own limits, which are not the person's. */
const UPSTREAM_LIMITS = {
  'anthropic-ratelimit-unified-status': 'allowed',
  'anthropic-ratelimit-unified-overage-utilization': '0.11',
  'anthropic-ratelimit-unified-5h-utilization': '0.22',
  'anthropic-ratelimit-requests-remaining': '33',
};

function showsLimits(): void {
  test(
    'warns in its footer near a limit, by headers of the service and none of the provider, and shows the amounts',
    async () => {
      const { id } = await agentKey(company, 'Claude Code');
      const setQuota = (quota: string | null) =>
        company.browser.ask('PATCH', `/api/v1/keys/${id}`, { quota, quota_period: 'month' });
      await setQuota('50');
      // So much that what is left pays for the prompt of a session.
      company.turns.splice(0, company.turns.length, { ...text('Long.'), usage: { ...usage, output_tokens: 30_000 } });
      for (let sent = 0; sent < 20; sent++) expect((await sendByHand(ALLOWED, 32_000)).status).toBe(200);
      await setQuota(((20 * 0.7701) / 0.965).toFixed(9));
      company.turns.splice(0, company.turns.length, withHeaders(UPSTREAM_LIMITS));
      await using terminal = await openSession(claude, machine);
      await say(terminal, 'how are you');
      await terminal.see("You've used 96% of your usage credits");
      const answers = messagesOf(company.take());
      for (const { answered } of answers) {
        const limits = [...answered].filter(([name]) => name.startsWith('anthropic-ratelimit'));
        expect(limits.map(([, value]) => value)).not.toContain('0.11');
        expect(limits.map(([name]) => name)).not.toContain('anthropic-ratelimit-unified-5h-utilization');
        expect(limits.map(([, value]) => value)).not.toContain('33');
      }
      const last = answers.findLast(({ status }) => status === 200);
      expect(last?.answered.get('anthropic-ratelimit-unified-overage-surpassed-threshold')).toBe('0.95');
      await say(terminal, '/usage');
      await terminal.see('spent this month');
      expect(company.take().map(({ path }) => path)).toContain('/api/oauth/usage');
      expect(terminal.text).toMatch(/\$15\.4\d\/\$15\.96spentthismonth/);
      await setQuota(null);
    },
    MS_MAX,
  );
}

/** A message with more headers. */
function withHeaders(headers: Record<string, string>): Script {
  return (answer, request) => {
    const [begin, send] = [answer.begin.bind(answer), answer.send.bind(answer)];
    const more = Object.assign(Object.create(answer) as typeof answer, {
      begin: (status: number, given: Record<string, string>) => begin(status, { ...given, ...headers }),
      send: (status: number, given: Record<string, string>, body: string) =>
        send(status, { ...given, ...headers }, body),
    });
    return sayMessage(text('Fine.'))(more, request);
  };
}

function showsModels(): void {
  test(
    'lists the models of the sign-in by their names here, and counts tokens without a message',
    async () => {
      await applyPolicy({
        models: [ALLOWED, OWN],
        settings: { env: { CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1' } },
      });
      await using terminal = await openSession(claude, machine);
      await say(terminal, '/model');
      await terminal.see('Own of the works');
      const listed = company.take().filter(({ path }) => path.startsWith('/v1/models'));
      expect(listed[0]).toMatchObject({ path: '/v1/models?limit=1000', status: 200 });
      expect(terminal.text).not.toContain('Opus4.6');
      await terminal.type('\u001b');
      await terminal.see('Kept model');
      await say(terminal, '/context');
      await terminal.see('Free space');
      const counted = company.take().filter(({ path }) => path.startsWith('/v1/messages'));
      expect(counted.length).toBeGreaterThan(5);
      expect(new Set(counted.map(({ path, status }) => `${path} ${status}`))).toEqual(
        new Set(['/v1/messages/count_tokens?beta=true 200']),
      );
      await terminal.type('\u001b');
      await say(terminal, '/status');
      await terminal.see('Gateway account');
      await terminal.see('dev@example.com');
      await applyPolicy({});
    },
    MS_MAX,
  );
}

function hasSubagents(): void {
  test(
    'has the messages of a subagent recorded under its own name in the session',
    async () => {
      const input = JSON.stringify({ description: 'Looks', prompt: 'Look.', subagent_type: 'general-purpose' });
      const call = { type: 'tool_use' as const, id: 'toolu_agent', name: 'Agent', input };
      company.turns.splice(0, company.turns.length, { content: [call], usage }, text('Seen.'), text('Done.'));
      const { printed, asked } = await ask('Let somebody look.', '--allowedTools', 'Agent,Task');
      expect(printed['result']).toBe('Done.');
      const session = asked.at(-1)?.headers.get('x-claude-code-session-id');
      const path = `/usage?session=${session}&limit=10`;
      const { data } = (await company.turnpike.admin('GET', path)) as { data: Json[] };
      const sent = messagesOf(asked).map(({ headers }) => headers.get('x-claude-code-agent-id'));
      // In any order: some are sent at once.
      expect(data.map(({ agent }) => String(agent)).sort()).toEqual(sent.map(String).sort());
      expect(sent.filter((agent) => agent !== null)).toHaveLength(1);
    },
    MS_MAX,
  );
}

function meetsRefusals(): void {
  test(
    'goes on without safeguards where the provider does not know them',
    async () => {
      const refusing: Script = (answer, request) =>
        'safeguards' in bodyOf(request)
          ? scripts.refusedContent('safeguards: Extra inputs are not permitted')(answer, request)
          : sayMessage(text('Quite safe.'))(answer, request);
      company.turns.splice(0, company.turns.length, refusing);
      await using terminal = await openSession(claude, machine);
      await say(terminal, 'is it safe');
      await terminal.see('Quite safe.');
      const asked = messagesOf(company.take());
      expect(asked.filter((one) => 'safeguards' in bodyOf(one)).map(({ status }) => status)).toEqual([400]);
      expect(asked.at(-1)?.status).toBe(200);
    },
    MS_MAX,
  );

  const testWhole = isEverything ? test : () => {}; // takes as long as it waits
  testWhole(
    'waits for a provider that is silent for six minutes',
    async () => {
      const silent: Script = async (answer, request) => {
        await Bun.sleep(SILENT_MS);
        return sayMessage(text('At last.'))(answer, request);
      };
      company.turns.splice(0, company.turns.length, silent);
      const settings = { agent_sign_in: 'on', upstream_silence_seconds: 900 };
      await company.turnpike.admin('POST', '/apply', { document: { settings } });
      const { out, exitCode } = await machine.run([claude, '-p', 'hi'], {}, SILENT_MS + MS_MAX);
      expect([exitCode, out.trim()]).toEqual([0, 'At last.']);
      expect(messagesOf(company.take())).toHaveLength(1);
    },
    SILENT_MS + MS_MAX,
  );

  test(
    'is refused a model that its policy does not allow, whatever it asks',
    async () => {
      const before = company.sent.length;
      const response = await sendByHand(DENIED, 9);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(`model ${DENIED} is not in your role's availableModels allowlist`);
      expect(company.sent.length).toBe(before);
    },
    MS_MAX,
  );
}

function sendsTelemetry(): void {
  let collector: Awaited<ReturnType<typeof startOtlpReceiver>>;
  beforeAll(async () => {
    collector = await startOtlpReceiver();
    await startSignedIn({ TURNPIKE_AGENT_OTLP_ENDPOINT: collector.url });
  }, MS_MAX);
  afterAll(async () => {
    await stop();
    await collector?.[Symbol.asyncDispose]();
  });

  test(
    'turned on by its managed settings, which arrives with the labels of the sign-in',
    async () => {
      await applyPolicy({ settings: { env: { CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: '1' } } });
      await company.turnpike.admin('PATCH', `/accounts/${company.account}`, { tags: { team: 'search' } });
      const { exitCode, asked } = await ask('hi');
      expect(exitCode).toBe(0);
      const exports = asked.filter(({ path }) => /^\/v1\/(metrics|logs|traces)$/.test(path));
      expect(new Set(exports.map(({ path, status }) => `${path} ${status}`))).toEqual(
        new Set(['/v1/metrics 200', '/v1/logs 200', '/v1/traces 200']),
      );
      for (const { headers } of exports) expect(headers.get('authorization')).toMatch(/^Bearer eyJ/);
      expect(collector.resources.length).toBe(exports.length);
      for (const { attributes } of collector.resources)
        expect(attributes).toMatchObject({
          'service.name': 'claude-code',
          'user.id': company.person,
          'user.email': 'dev@example.com',
          'turnpike.account': company.account,
          'turnpike.client': 'claude-code',
          'turnpike.tag.team': 'search',
        });
      expect(collector.resources.flatMap(({ names }) => names)).toContain('claude_code.token.usage');
    },
    MS_MAX,
  );
}

function usesHelper(): void {
  beforeAll(async () => {
    company = await startCompany();
    company.turns.push(text('Hello.'));
    machine = new Machine({}, { DISABLE_AUTOUPDATER: '1', ANTHROPIC_BASE_URL: company.url, ANTHROPIC_MODEL: ALLOWED });
  }, MS_MAX);
  afterAll(stop);

  test(
    'asks it again when its key is refused, and sends the message with the new one',
    async () => {
      const [first, second] = [
        await company.turnpike.makeKey({ credit: '1' }),
        await company.turnpike.makeKey({ credit: '1' }),
      ];
      await company.turnpike.admin('POST', `/keys/${first.key}/revoke`, {});
      const [once, helper] = [join(machine.home, 'once'), join(machine.home, 'helper.sh')];
      const printed = `if [ -e ${once} ]; then echo ${second.secret}; else touch ${once}; echo ${first.secret}; fi`;
      writeFileSync(helper, `#!/bin/sh\n${printed}\n`, { mode: 0o755 });
      const settings = join(machine.home, 'settings.json');
      writeFileSync(settings, JSON.stringify({ apiKeyHelper: helper }));
      const { asked, exitCode, printed: answer } = await ask('hi', '--settings', settings);
      expect([exitCode, answer['result']]).toEqual([0, 'Hello.']);
      expect(messagesOf(asked).map(({ status }) => status)).toEqual([401, 200]);
    },
    MS_MAX,
  );
}
