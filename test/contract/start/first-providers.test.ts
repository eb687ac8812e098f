// Provider keys in the environment: the first start that has a key creates its provider, unless the operator already
// has one.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstFamilies, firstKinds } from '../../../src/catalog/catalog.ts';
import { listedModels } from '../../../src/catalog/price-list/price-list.ts';
import { readConfig } from '../../../src/config/config.ts';
import { providerKinds } from '../../../src/providers/providers.ts';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { startCounted, startTurnpike } from '../../support/start-turnpike.ts';
import { storeVariables } from '../../support/test-store.ts';

type Json = Record<string, unknown>;

const KEYS: Record<string, string> = {
  ANTHROPIC_API_KEY: 'sk-first-anthropic-1',
  GEMINI_API_KEY: 'sk-first-gemini-1',
  OPENAI_API_KEY: 'sk-first-openai-1',
};
const current = (family: string) =>
  listedModels(family).filter(({ retiresOn }) => retiresOn === null || Date.now() < Date.parse(retiresOn));

/** The offers and their providers after starts in one directory, each with its own variables. */
async function offersAfter(...starts: { environment: Record<string, string>; document?: object }[]) {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const store = await storeVariables(data);
  try {
    let lists: { providers: Json[]; models: Json[] } = { providers: [], models: [] };
    for (const { environment, document } of starts) {
      const config = readConfig({ data, listen: '127.0.0.1:0' }, { TURNPIKE_LOG: 'off', ...store, ...environment });
      const applyFile = document && { document, describeFault: (fault: object) => JSON.stringify(fault) };
      const server = await startCounted(config, { version: '0', print: () => {}, ...(applyFile && { applyFile }) });
      const { token } = JSON.parse(await Bun.file(join(data, 'operator.json')).text()) as { token: string };
      const list = async (name: string) => {
        const response = await fetch(`${server.url}/api/v1/${name}`, { headers: { authorization: `Bearer ${token}` } });
        return ((await response.json()) as { data: Json[] }).data;
      };
      lists = { providers: await list('providers'), models: await list('models') };
      await server.stop();
    }
    return lists;
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

const namesOf = (list: Json[]) => list.map(({ name }) => String(name)).filter((name) => !name.startsWith('sandbox'));

test('every provider family of a first start is a provider kind of the service', () => {
  for (const family of firstFamilies) expect([...providerKinds.keys()]).toContain(firstKinds[family]);
});

test('a first start with provider keys offers the models of each family, and shows no key', async () => {
  await using turnpike = await startTurnpike(undefined, KEYS);
  const providers = (await turnpike.admin('GET', '/providers'))['data'] as Json[];
  const models = (await turnpike.admin('GET', '/models?limit=200'))['data'] as Json[];
  expect(namesOf(providers).sort()).toEqual(['anthropic', 'gemini', 'openai']);
  expect(providers.find(({ name }) => name === 'gemini')).toMatchObject({
    kind: 'gemini',
    base_url: 'https://generativelanguage.googleapis.com',
  });
  expect(providers.find(({ name }) => name === 'openai')).toMatchObject({
    kind: 'openai-responses',
    base_url: 'https://api.openai.com',
  });
  const wanted = firstFamilies.flatMap((family) => current(family).map(({ name }) => name));
  expect(namesOf(models).sort()).toEqual(wanted.sort());
  expect(JSON.stringify(models.find(({ name }) => name === 'gemini-3.6-flash'))).toContain('"provider":"gemini"');
  expect(JSON.stringify([providers, models])).not.toContain('sk-first');
});

test('a provider key that is added later creates its provider and models at the next start, and changes nothing else', async () => {
  const { ANTHROPIC_API_KEY, GEMINI_API_KEY } = KEYS as Record<string, string>;
  const later = await offersAfter(
    { environment: { ANTHROPIC_API_KEY: ANTHROPIC_API_KEY as string } },
    { environment: { GEMINI_API_KEY: GEMINI_API_KEY as string } },
  );
  expect(namesOf(later.providers).sort()).toEqual(['anthropic', 'gemini']);
  expect(namesOf(later.models)).toContain('gemini-3.6-flash');
});

test('an existing provider of the same kind or name prevents a new one', async () => {
  const environment = { GEMINI_API_KEY: KEYS['GEMINI_API_KEY'] as string };
  const own = { kind: 'gemini', api_key: 'sk-own-gemini-key' };
  const other = { kind: 'anthropic', api_key: 'sk-own-anthropic-key' };
  for (const providers of [{ google: own }, { gemini: other }]) {
    const lists = await offersAfter({ environment: {}, document: { providers } }, { environment });
    expect(namesOf(lists.providers)).toEqual(Object.keys(providers));
    expect(namesOf(lists.models)).toEqual([]);
  }
});

test('an existing provider of any kind at the same address prevents a new one', async () => {
  const environment = { OPENAI_API_KEY: KEYS['OPENAI_API_KEY'] as string };
  const chat = { kind: 'openai', base_url: 'https://api.openai.com/v1', api_key: 'sk-own-openai-key' };
  const lists = await offersAfter({ environment: {}, document: { providers: { chat } } }, { environment });
  expect(namesOf(lists.providers)).toEqual(['chat']);
  const local = { kind: 'openai', base_url: 'http://127.0.0.1:11434/v1', private_network: true };
  const beside = await offersAfter({ environment: {}, document: { providers: { local } } }, { environment });
  expect(namesOf(beside.providers).sort()).toEqual(['local', 'openai']);
});

test('a first start with the key of Anthropic serves the web search of Claude Code and fast messages, priced', async () => {
  await using upstream = await startScriptedUpstream(scripts.stream());
  await using turnpike = await startTurnpike(undefined, KEYS);
  const provider = { kind: 'anthropic', base_url: upstream.url, api_key: 'sk-test', private_network: true };
  await turnpike.admin('POST', '/apply', { document: { providers: { anthropic: provider } } });
  const caller = await turnpike.makeKey();
  const charge = async (members: Json, finalUsage: Json): Promise<Json> => {
    upstream.play(
      scripts.stream({
        usage: { input_tokens: 1_000, output_tokens: 1 },
        finalUsage: { output_tokens: 100, ...finalUsage },
      }),
    );
    const messages = [{ role: 'user', content: 'Perform a web search for the query: turnpike' }];
    const response = await turnpike.post(caller.secret, { max_tokens: 32_000, stream: true, messages, ...members });
    expect([members['model'], response.status]).toEqual([members['model'], 200]);
    await response.text();
    const { data } = await turnpike.admin('GET', `/usage?account=${caller.account}&limit=1`);
    return (data as Json[])[0] as Json;
  };
  // As Claude Code sends it: one server tool, at most eight searches.
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }];
  const used = { server_tool_use: { web_search_requests: 3 } };
  for (const { name, price } of listedModels('anthropic').filter(({ name }) => name !== 'claude-sonnet-4-5')) {
    const record = await charge({ model: name, tools }, used);
    expect(record).toMatchObject({ web_searches: 3, outcome: 'completed', written_off: '0' });
    const tokens = 1_000 * Number(price.input) + 100 * Number(price.output);
    expect(Number(record['cost'])).toBeCloseTo(tokens / 1e6 + 3 * 0.01, 9);
    expect(record['provider_cost']).toBe(record['cost']);
  }
  const fast = await charge({ model: 'claude-opus-5-5', speed: 'fast' }, { speed: 'fast' });
  expect(fast).toMatchObject({ cost: '0.012', rates: { tier: 'fast', input: '8', output: '40' } }); // 1000 × 8 + 100 × 40
});

test('a first start with the key of OpenAI serves embeddings at their listed price', async () => {
  const vectors = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], model: 'm' };
  await using upstream = await startScriptedUpstream(
    scripts.json(JSON.stringify({ ...vectors, usage: { prompt_tokens: 1_000, total_tokens: 1_000 } })),
  );
  await using turnpike = await startTurnpike(undefined, KEYS);
  const provider = { kind: firstKinds.openai, base_url: upstream.url, api_key: 'sk-test', private_network: true };
  await turnpike.admin('POST', '/apply', { document: { providers: { openai: provider } } });
  const caller = await turnpike.makeKey();
  const response = await fetch(`${turnpike.url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${caller.secret}` },
    body: JSON.stringify({ model: 'text-embedding-3-small', input: 'turnpike '.repeat(200) }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"embedding"')]);
  const { data } = await turnpike.admin('GET', `/usage?account=${caller.account}`);
  expect(data).toMatchObject([{ model: 'text-embedding-3-small', cost: '0.00002', provider_cost: '0.00002' }]);
});
