// Tests of Codex under management, for `npm run test:clients`: the managed file of docs/coding-agents.md, the list of models, limits, and
// a token that is refused.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { turnpikeCommand } from '../../support/build-executable.ts';
import { readBlocks } from '../../support/read-blocks.ts';
import { agents } from './agents.ts';
import { CODE } from './claude-terminal.ts';
import { ALLOWED, agentKey, approve, type Company, DENIED, startCompany } from './company.ts';
import type { Json } from './conversations/conversation.ts';
import { Machine } from './terminal.ts';

const MS_MAX = 120_000;
const selected = process.env['AGENTS_SELECTED']?.split(',') ?? agents.map(({ name }) => name);
const program = agents.find(({ name }) => name === 'codex')?.find() ?? null;
const codex = program ?? '';
const usage = { input_tokens: 1_000, output_tokens: 100 };
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }], usage });

let company: Company;
let machine: Machine;

if (!selected.includes('codex') || program === null || !Machine.isAvailable)
  test.skip('codex under management: needs its program and namespaces of mounts', () => {});
else describe('codex under management', isManaged);

/** The managed file that the page shows, for this service. */
function managedFile(url: string): string {
  const page = readFileSync(join(rootDirectory, 'docs', 'coding-agents.md'), 'utf8');
  const shown = readBlocks(page).find(({ language, code }) => language === 'toml' && code.includes('model_provider'));
  return `check_for_update_on_startup = false\n${shown?.code.replaceAll('https://gateway.example.com', url)}`;
}

/** Puts a `turnpike` in front of the machine's path that runs these lines before the command itself. */
function putCommand(lines = ''): void {
  const quoted = turnpikeCommand([]).map((word) => `'${word}'`);
  mkdirSync(join(machine.home, 'bin'), { recursive: true });
  writeFileSync(join(machine.home, 'bin', 'turnpike'), `#!/bin/sh\n${lines}\nexec ${quoted.join(' ')} "$@"\n`, {
    mode: 0o755,
  });
}

const ofPath = () => ({ PATH: `${join(machine.home, 'bin')}:${process.env['PATH']}` });
const run = (...words: string[]) => machine.run([codex, ...words], ofPath());
const ask = async (...words: string[]) => {
  company.take();
  const done = await run('exec', '--json', '--skip-git-repo-check', ...words, 'hi');
  return { ...done, asked: company.take() };
};

async function signIn(): Promise<void> {
  await using terminal = machine.open([...turnpikeCommand([]), 'agent', 'login', company.url]);
  await approve(company, await terminal.find(CODE));
  await terminal.see('Signed in.');
}

function isManaged(): void {
  beforeAll(async () => {
    company = await startCompany();
    company.turns.push(text('Hello from the model.'));
    machine = new Machine({ 'codex/managed_config.toml': managedFile(company.url) });
    putCommand();
    await signIn();
  }, MS_MAX);
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await company?.[Symbol.asyncDispose]();
  });

  test(
    'asks this service, whatever provider its person has set',
    async () => {
      mkdirSync(join(machine.home, '.codex'), { recursive: true });
      writeFileSync(join(machine.home, '.codex', 'config.toml'), 'model_provider = "openai"\nmodel = "gpt-5.5"\n');
      const { out, exitCode, asked } = await ask();
      expect([exitCode, out.includes('Hello from the model.')]).toEqual([0, true]);
      const [sent] = asked.filter(({ path }) => path.startsWith('/v1/responses'));
      expect((JSON.parse(sent?.body ?? '{}') as Json)['model']).toBe(ALLOWED);
    },
    MS_MAX,
  );

  listsModels();

  test(
    'runs its command for another token when one is refused',
    async () => {
      const { out: former } = await machine.run([...turnpikeCommand([]), 'agent', 'token', company.url]);
      const { data } = (await company.browser.get('/api/v1/agent-sign-ins')).body as { data: Json[] };
      await company.browser.post(`/api/v1/agent-sign-ins/${data[0]?.['id']}/revoke`);
      await signIn();
      const once = join(machine.home, 'once');
      putCommand(`if [ ! -e ${once} ]; then touch ${once}; echo ${former.trim()}; exit 0; fi`);
      const { out, exitCode, asked } = await ask();
      expect([exitCode, out.includes('Hello from the model.')]).toEqual([0, true]);
      const bearers = asked.map(({ headers }) => headers.get('authorization'));
      expect(asked[0]).toMatchObject({ status: 401 });
      expect(bearers[0]).toBe(`Bearer ${former.trim()}`);
      const [answered, ...more] = asked.filter(
        ({ path, status }) => path.startsWith('/v1/responses') && status === 200,
      );
      expect(answered?.headers.get('authorization')).not.toBe(`Bearer ${former.trim()}`);
      expect(more).toEqual([]);
    },
    MS_MAX,
  );

  showsLimit();
}

function listsModels(): void {
  const listed = async () => {
    const { out } = await run('debug', 'models');
    return (JSON.parse(out) as { models: Json[] }).models.map(({ slug, display_name: name }) => [slug, name]);
  };
  test(
    'lists the models that the sign-in allows, by their names here, and none of its own',
    async () => {
      expect(await listed()).toEqual([[ALLOWED, 'Sonnet of the works']]);
      await using terminal = machine.open(['env', `PATH=${ofPath().PATH}`, codex]);
      await terminal.see('To get started'); // the end of its start
      await terminal.type('/model');
      await terminal.see('/model choose what model');
      await terminal.type('\r');
      await terminal.see('Select Model and Effort');
      await terminal.see('Sonnet of the works');
      expect(terminal.text).not.toContain('GPT-');
    },
    MS_MAX,
  );

  test(
    'lists another model once its policy allows it',
    async () => {
      await company.turnpike.admin('POST', '/apply', {
        document: { agent_policies: { works: { accounts: [company.account], models: [ALLOWED, DENIED] } } },
      });
      rmSync(join(machine.home, '.codex', 'models_cache.json')); // which it uses for some minutes
      expect((await listed()).map(([slug]) => slug)).toEqual([DENIED, ALLOWED]);
    },
    MS_MAX,
  );
}

function showsLimit(): void {
  test(
    'shows how little is left of a limit',
    async () => {
      const { id } = await agentKey(company, 'Codex');
      const setQuota = (quota: string) =>
        company.browser.ask('PATCH', `/api/v1/keys/${id}`, { quota, quota_period: 'month' });
      await setQuota('50');
      const { out: token } = await machine.run([...turnpikeCommand([]), 'agent', 'token', company.url]);
      company.turns.splice(0, company.turns.length, { ...text('Long.'), usage: { ...usage, output_tokens: 30_000 } });
      const headers = { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ model: ALLOWED, max_output_tokens: 32_000, input: 'hi' });
      for (let sent = 0; sent < 20; sent++)
        expect((await fetch(`${company.url}/v1/responses`, { method: 'POST', headers, body })).status).toBe(200);
      await setQuota(((20 * 0.7701) / 0.965).toFixed(9));
      company.turns.splice(0, company.turns.length, text('Fine.'));
      await using terminal = machine.open(['env', `PATH=${ofPath().PATH}`, codex, 'hi']);
      await terminal.find(/Hooksneedreview|Fine\.|trust/);
      await terminal.see('less than 5% of your monthly limit left');
    },
    MS_MAX,
  );
}
