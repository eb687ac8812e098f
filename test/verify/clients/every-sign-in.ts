// Tests of coding agents that sign in to the service, for `npm run test:clients`: each program itself, in a terminal where a person
// would use one, with oidc-provider as the company's issuer.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { turnpikeCommand } from '../../support/build-executable.ts';
import { agents } from './agents.ts';
import { beginSignIn, CODE, signInAtTerminal } from './claude-terminal.ts';
import { ALLOWED, agentKey, approve, type Company, DENIED, startCompany } from './company.ts';
import type { Json } from './conversations/conversation.ts';
import { Machine } from './terminal.ts';

const MS_MAX = 120_000;
/** With strict single use of refresh tokens, clients sign out when it takes this long. */
const SLOW_REFRESH_MS = 5_000;
const selected = process.env['AGENTS_SELECTED']?.split(',') ?? agents.map(({ name }) => name);
const usage = { input_tokens: 1_000, output_tokens: 100 };
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }], usage });

let company: Company;
let machine: Machine;
const claude = selected.includes('claude-code')
  ? (agents.find(({ name }) => name === 'claude-code')?.find() ?? null)
  : null;
if (claude === null || !Machine.isAvailable)
  test.skip('claude-code signs in: needs its program, `script` and namespaces of mounts', () => {});
else describe('claude-code signs in', signsIn);

const credentials = () => join(machine.home, '.claude', '.credentials.json');
const changeStored = (change: (stored: Json) => Json) => {
  const all = JSON.parse(readFileSync(credentials(), 'utf8')) as { enterpriseGateway: Json };
  writeFileSync(credentials(), JSON.stringify({ ...all, enterpriseGateway: change(all.enterpriseGateway) }));
};
const ask = async (...words: string[]) => {
  const run = await machine.run([claude ?? '', '-p', ...words, '--output-format', 'json']);
  const printed = (run.out.trim().startsWith('{') ? JSON.parse(run.out) : {}) as Json;
  return { ...run, printed, asked: company.take() };
};
const paths = (asked: readonly { method: string; path: string }[]) =>
  asked.map(({ method, path }) => `${method} ${path.split('?')[0]}`);
const messagesOf = (asked: ReturnType<Company['take']>) => asked.filter(({ path }) => path.startsWith('/v1/messages?'));

function signsIn(): void {
  beforeAll(async () => {
    company = await startCompany();
    company.turns.push(text('Hello.'));
    const managed = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: company.url };
    machine = new Machine(
      { 'claude-code/managed-settings.json': JSON.stringify(managed) },
      { DISABLE_AUTOUPDATER: '1' },
    );
  }, MS_MAX);
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await company?.[Symbol.asyncDispose]();
  });

  test(
    'only once the person has approved its code, and says so when they deny it',
    async () => {
      await using terminal = machine.open([claude ?? '']);
      const code = await beginSignIn(terminal);
      expect((await company.browser.post(`/api/v1/device-codes/${code}/deny`)).status).toBe(200);
      await terminal.see('Sign-in was denied in the browser.');
      expect(existsSync(credentials()) ? readFileSync(credentials(), 'utf8') : '').not.toContain('jwt');
      company.take();
    },
    MS_MAX,
  );

  test(
    'in its terminal, after the person has approved its code in the console',
    () => signInAtTerminal(claude ?? '', company, machine),
    MS_MAX,
  );

  works();
  refreshes();
  isLimited();
  ends();
}

function works(): void {
  test(
    'works with tools, and shows the cost that is billed',
    async () => {
      company.take();
      const call = {
        type: 'tool_use' as const,
        id: 'toolu_1',
        name: 'Bash',
        input: '{"command":"echo it-ran","description":"Says"}',
      };
      company.turns.splice(0, company.turns.length, { content: [call], usage }, text('Done.'));
      const { printed, asked, exitCode } = await ask('Run it.', '--allowedTools', 'Bash');
      expect([exitCode, printed['result']]).toEqual([0, 'Done.']);
      const [first] = asked;
      expect(first?.path).toBe('/managed/settings');
      expect(messagesOf(asked)).toHaveLength(2);
      expect(messagesOf(asked)[1]?.body).toContain('it-ran');
      expect(printed['total_cost_usd']).toBeCloseTo(2 * 0.00765, 9);
      expect(Object.values(printed['modelUsage'] as Json)).toMatchObject([{ costBasis: 'managed' }]);
      const { data } = (await company.turnpike.admin('GET', '/usage?limit=2')) as { data: Json[] };
      expect(data.map(({ cost }) => cost)).toEqual(['0.00765', '0.00765']);
    },
    MS_MAX,
  );

  test(
    'keeps its settings, and asks only whether they have changed',
    async () => {
      const { asked } = await ask('hi');
      expect(asked.find(({ path }) => path === '/managed/settings')?.status).toBe(304);
    },
    MS_MAX,
  );

  test(
    'uses an allowed model in place of another',
    async () => {
      const { asked, exitCode } = await ask('hi', '--model', DENIED);
      expect(exitCode).toBe(0);
      expect(messagesOf(asked).map(({ body }) => (JSON.parse(body) as Json)['model'])).toEqual([ALLOWED]);
    },
    MS_MAX,
  );
}

function refreshes(): void {
  test(
    'refreshes its token before it expires',
    async () => {
      changeStored((stored) => ({ ...stored, expiresAt: Date.now() + 200_000 }));
      const before = (JSON.parse(readFileSync(credentials(), 'utf8')) as { enterpriseGateway: Json }).enterpriseGateway[
        'jwt'
      ];
      const { asked, exitCode } = await ask('hi');
      expect(exitCode).toBe(0);
      expect(paths(asked)[0]).toBe('POST /oauth/token');
      const after = (JSON.parse(readFileSync(credentials(), 'utf8')) as { enterpriseGateway: Json }).enterpriseGateway[
        'jwt'
      ];
      expect(after).not.toBe(before);
    },
    MS_MAX,
  );

  test(
    'refreshes in three processes at once, while the answers take seconds, and stays signed in',
    async () => {
      changeStored((stored) => ({ ...stored, expiresAt: Date.now() - 1_000 }));
      company.intercept = ({ path }) => (path === '/oauth/token' ? Bun.sleep(SLOW_REFRESH_MS).then(() => null) : null);
      const runs = await Promise.all([1, 2, 3].map(() => machine.run([claude ?? '', '-p', 'hi'])));
      expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
      company.intercept = null;
      const refreshes = company.take().filter(({ path }) => path === '/oauth/token');
      expect(refreshes.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect((await ask('hi')).exitCode).toBe(0);
    },
    MS_MAX,
  );
}

function isLimited(): void {
  test(
    'shows the sentence of a limit that is reached, after one request',
    async () => {
      const { id } = await agentKey(company, 'Claude Code');
      await company.browser.ask('PATCH', `/api/v1/keys/${id}`, { quota: '0.000001', quota_period: 'month' });
      const { printed, asked, exitCode } = await ask('hi');
      expect(exitCode).toBe(1);
      expect(String(printed['result'])).toMatch(/^spend limit reached · resets (\w+ 1, .*|00:00 UTC) · ask finops$/);
      expect(messagesOf(asked)).toHaveLength(1);
      await company.browser.ask('PATCH', `/api/v1/keys/${id}`, { quota: null });
    },
    MS_MAX,
  );

  test(
    'asks its person to sign in again when its sign-in is revoked, after one request',
    async () => {
      const { data } = (await company.browser.get('/api/v1/agent-sign-ins')).body as { data: Json[] };
      await company.browser.post(`/api/v1/agent-sign-ins/${data[0]?.['id']}/revoke`);
      const { exitCode, out, errors, asked } = await ask('hi');
      expect(exitCode).toBe(1);
      expect(out + errors).toMatch(/sign in again|no longer accepts/i);
      expect(asked.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(2);
    },
    MS_MAX,
  );
}

function ends(): void {
  test(
    'signs in again, and ends the sign-in when it signs out',
    async () => {
      await signInAtTerminal(claude ?? '', company, machine, true);
      company.take();
      expect((await machine.run([claude ?? '', 'auth', 'logout'])).exitCode).toBe(0);
      expect(paths(company.take()).filter((path) => path === 'POST /oauth/revoke')).toHaveLength(2);
      const { data } = (await company.browser.get('/api/v1/agent-sign-ins')).body as { data: Json[] };
      expect(data.map(({ status }) => status)).toEqual(['revoked', 'revoked']);
    },
    MS_MAX,
  );

  test(
    'is out when its person is disabled',
    async () => {
      await signInAtTerminal(claude ?? '', company, machine, true);
      await company.turnpike.admin('PATCH', `/people/${company.person}`, { status: 'disabled' });
      changeStored((stored) => ({ ...stored, expiresAt: Date.now() - 1_000 }));
      company.take();
      const { exitCode, out, errors, asked } = await ask('hi');
      expect(exitCode).toBe(1);
      expect(out + errors).toMatch(/session expired|no longer accepts/);
      expect(asked.find(({ path }) => path === '/oauth/token')?.status).toBe(401);
    },
    MS_MAX,
  );
}

const codex = selected.includes('codex') ? (agents.find(({ name }) => name === 'codex')?.find() ?? null) : null;
if (codex === null || !Machine.isAvailable)
  test.skip('codex signs in: needs its program and namespaces of mounts', () => {});
else describe('codex signs in by `turnpike agent`', usesCommand);

/** With its settings from a managed file of the machine. */
function usesCommand(): void {
  const command = turnpikeCommand([]);
  beforeAll(async () => {
    company = await startCompany();
    company.turns.push(text('Hello from the model.'));
    const [program = '', ...words] = command;
    const managed = [
      `model_provider = "company"\nmodel = "${ALLOWED}"\ncheck_for_update_on_startup = false`,
      `[model_providers.company]\nname = "Company"\nbase_url = "${company.url}/v1"\nwire_api = "responses"`,
      `[model_providers.company.auth]\ncommand = "${program}"`,
      `args = ${JSON.stringify([...words, 'agent', 'token', company.url])}`,
    ];
    machine = new Machine({ 'codex/managed_config.toml': `${managed.join('\n')}\n` });
  }, MS_MAX);
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await company?.[Symbol.asyncDispose]();
  });

  const ask = async () => {
    company.take();
    const run = await machine.run([codex ?? '', 'exec', '--json', '--skip-git-repo-check', 'hi']);
    return { ...run, answers: company.take().filter(({ path }) => path.startsWith('/v1/responses')) };
  };

  test(
    'after the person has approved its code',
    async () => {
      await using terminal = machine.open([...command, 'agent', 'login', company.url]);
      await approve(company, await terminal.find(CODE));
      await terminal.see('Signed in.');
      const { out, exitCode, answers } = await ask();
      expect(out).toContain('Hello from the model.');
      expect([exitCode, answers.length]).toEqual([0, 1]);
      const { data } = (await company.turnpike.admin('GET', '/usage?limit=1')) as { data: Json[] };
      expect(data[0]?.['key']).toBe((await agentKey(company, 'Codex'))['id'] as string);
    },
    MS_MAX,
  );

  test(
    'and shows the sentence of a limit that is reached, after one request',
    async () => {
      const { id } = await agentKey(company, 'Codex');
      await company.browser.ask('PATCH', `/api/v1/keys/${id}`, { quota: '0.000001', quota_period: 'month' });
      const { out, answers } = await ask();
      expect(out).toMatch(/spend limit reached · resets (\w+ 1|00:00 UTC) · ask finops/);
      expect(answers).toHaveLength(1);
    },
    MS_MAX,
  );
}
