// When the lists of providers are read, and what a name that they do not have is answered. Real providers of each kind over
// sockets; the time is a parameter.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { type CallerScope, CatalogHolder } from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import { ModelLists } from '../../../src/gateway/gateway.ts';
import { providerKinds } from '../../../src/providers/providers.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { apply, KINDS, unseal } from '../catalog/support.ts';

const upstream = await startScriptedUpstream(scripts.json('{}'));
afterAll(() => upstream.close());
beforeEach(() => upstream.reset());

const caller: CallerScope = { account: 1, keyModels: null, groups: ['all'] };
const listOf = (...ids: string[]) => scripts.json(JSON.stringify({ object: 'list', data: ids.map((id) => ({ id })) }));

const CREDENTIAL = { api_key: 'sk-list-credential' };
const PRIVATE = { credentials: { own: { api_key: 'sk-own', group: 'all' } } };

/** One entry `local/*` over providers of this kind, with these credentials. */
function makeLists(kind = 'openai', credentials: object = CREDENTIAL, providers = ['local']) {
  const documentsAt = (path: string, given = credentials) => {
    const settingsOf = (name: string) => {
      const base_url = `${upstream.url}/${name === 'local' ? path : name}`;
      return { kind, base_url, ...given, private_network: true };
    };
    const routes = providers.map((provider) => ({ provider, model: '*' }));
    const file = {
      providers: Object.fromEntries(providers.map((name) => [name, settingsOf(name)])),
      models: { 'local/*': { price: { input: '1', output: '2' }, routes } },
      groups: { all: { models: ['*'] } },
    };
    return apply([], file, { kinds: [...KINDS, 'openai-responses', 'gemini'] });
  };
  const clock = manualClock(1_000_000);
  const open = (sealed: string, context: string) => unseal(sealed, context);
  const holder = new CatalogHolder(documentsAt('v1'), open, clock.nowMs);
  const states: (string | null)[] = [];
  const given = providerKinds.get(kind);
  if (given?.listModels === undefined) throw new Error('no list');
  const { listModels } = given;
  let begun = 0;
  const counted: typeof given = {
    ...given,
    listModels(...parameters) {
      begun++;
      return listModels(...parameters);
    },
  };
  const lists = new ModelLists(holder, new Map([[kind, counted]]), clock.nowMs, (_, failure) => states.push(failure));
  const names = () => [...holder.current.models.keys()];
  const find = async (name: string, by = caller) => lists.find(by, name, 'messages');
  return { documentsAt, clock, holder, lists, states, names, find, begun: () => begun };
}

describe('a list is read', () => {
  test('at first use, once however many ask at the same time, and sorted', async () => {
    upstream.play(listOf('qwen3:8b', 'gemma', 'gemma'));
    const { lists, names, find } = makeLists();
    await Promise.all([lists.refresh(), lists.refresh(), find('local/gemma'), find('local/other')]);
    expect(names()).toEqual(['local/gemma', 'local/qwen3:8b']);
    expect(upstream.requests).toMatchObject([{ method: 'GET', path: '/v1/models', body: '' }]);
    expect(upstream.requests[0]?.headers['authorization']).toBe('Bearer sk-list-credential');
    expect(lists.refresh()).toBeNull();
  });

  test('again after its age, in the background, and its models change with it', async () => {
    upstream.play(listOf('a'), listOf('b'));
    const { clock, lists, names } = makeLists();
    await lists.refresh();
    clock.advance(bounds.modelListAgeMsMax - 1);
    expect([lists.refresh(), upstream.requests.length]).toEqual([null, 1]);
    clock.advance(1);
    expect(lists.refresh()).toBeNull(); // nobody waits for it
    while (upstream.requests.length < 2 || names()[0] === 'local/a') await Bun.sleep(1);
    expect(names()).toEqual(['local/b']);
  });

  test('for an unknown name, so that a new model works at once; unknown names together cause one reading in the gap', async () => {
    upstream.play(listOf('a'), listOf('a', 'new'));
    const { clock, lists, names, find } = makeLists();
    await lists.refresh();
    for (let at = 0; at < 100; at++) expect(lists.find(caller, `local/unknown-${at}`, 'messages')).toBeNull();
    expect(upstream.requests).toHaveLength(1);
    clock.advance(bounds.modelListGapMs);
    await Promise.all(Array.from({ length: 100 }, (_, at) => find(at === 0 ? 'local/new' : `local/unknown-${at}`)));
    expect(upstream.requests).toHaveLength(2);
    expect(names()).toEqual(['local/a', 'local/new']);
    expect(lists.find(caller, 'local/new', 'messages')).toBeNull();
  });

  test('not for a name that no entry can sell to the caller', async () => {
    upstream.play(listOf('a'));
    const { clock, lists, find } = makeLists();
    await lists.refresh();
    clock.advance(bounds.modelListGapMs);
    await find('local/new', { ...caller, keyModels: ['other/*'] });
    await find('local/new', { ...caller, groups: [] });
    await find('elsewhere/new');
    await find(`local/${'x'.repeat(bounds.modelNameCharactersMax)}`);
    await lists.find(caller, 'local/new', 'embeddings');
    expect(upstream.requests).toHaveLength(1);
  });
});

test('an answer that arrives after the provider’s address changed is not its list', async () => {
  const { promise: late, resolve: letAnswer } = Promise.withResolvers<void>();
  upstream.play(async (answer, request) => {
    await late;
    await listOf('former')(answer, request);
  }, listOf('present'));
  const { documentsAt, holder, lists, names } = makeLists();
  const former = lists.refresh();
  while (upstream.requests.length === 0) await Bun.sleep(1);
  holder.swap(documentsAt('v2'));
  await lists.refresh();
  expect(names()).toEqual(['local/present']);
  letAnswer();
  await former;
  expect(names()).toEqual(['local/present']);
});

describe('a list belongs to its credential', () => {
  test('and is dropped with it, but not by another change of the catalog', async () => {
    upstream.play(listOf('former'), listOf('present'));
    const { documentsAt, holder, lists, names, find } = makeLists();
    await lists.refresh();
    holder.swap(documentsAt('v1'));
    expect([lists.refresh(), names()]).toEqual([null, ['local/former']]);
    holder.swap(documentsAt('v1', { api_key: 'sk-another' }));
    expect(names()).toEqual([]);
    await find('local/present');
    expect(names()).toEqual(['local/present']);
    expect(upstream.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer sk-list-credential',
      'Bearer sk-another',
    ]);
  });

  test('and is dropped when none is for all accounts any more', async () => {
    upstream.play(listOf('a'));
    const { documentsAt, holder, lists, names, find } = makeLists();
    await lists.refresh();
    holder.swap(documentsAt('v1', PRIVATE));
    expect(names()).toEqual([]);
    await expect(find('local/a')).rejects.toMatchObject({ code: 'upstream_failed' });
    expect([upstream.requests.length, names()]).toEqual([1, []]);
  });
});

describe('a list that cannot be read', () => {
  test('leaves the one before it, and is reported once until it can be read again', async () => {
    upstream.play(listOf('a'), scripts.error(500, 'api_error', 'out of order'), scripts.json('{}'), listOf('a', 'b'));
    const { clock, lists, holder, states, names, find } = makeLists();
    const settings = holder.current.providers.get('local');
    if (settings === undefined) throw new Error('no provider');
    for (let reading = 0; reading < 3; reading++) {
      await find('local/b');
      expect(names()).toEqual(['local/a']);
      clock.advance(bounds.modelListGapMs);
    }
    expect(states).toEqual([expect.stringContaining('out of order')]);
    expect(lists.stateOf(settings)).toMatchObject({
      models: 1,
      failure: expect.stringContaining('not a list of models'),
    });
    await find('local/b');
    expect(names()).toEqual(['local/a', 'local/b']);
    expect(states).toEqual([expect.stringContaining('out of order'), null]);
    expect(lists.stateOf(settings)).toMatchObject({ models: 2, failure: null });
  });

  test('and never was is a fault of the provider, not an unknown model', async () => {
    upstream.play(scripts.error(503, 'overloaded_error', 'starting'), listOf('a'));
    const { clock, names, find } = makeLists();
    await expect(find('local/a')).rejects.toMatchObject({ code: 'upstream_failed' });
    await expect(find('local/a')).rejects.toMatchObject({ code: 'upstream_failed' });
    await find('elsewhere/a');
    clock.advance(bounds.modelListGapMs);
    await find('local/a');
    expect(names()).toEqual(['local/a']);
  });

  test('is read less and less often, except for an unknown name', async () => {
    upstream.play(scripts.error(503, 'overloaded_error', 'starting'));
    const { clock, lists, find, begun } = makeLists();
    await lists.refresh();
    const gapsMs: number[] = [];
    for (let gapMs = 0; gapsMs.length < 7; ) {
      clock.advance(bounds.modelListGapMs);
      gapMs += bounds.modelListGapMs;
      const before = begun();
      expect(lists.refresh()).toBeNull(); // nobody waits for it
      if (begun() === before) continue;
      await expect(find('local/a')).rejects.toMatchObject({ code: 'upstream_failed' }); // waits for the reading
      gapsMs.push(gapMs);
      gapMs = 0;
    }
    expect(gapsMs).toEqual([4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    clock.advance(bounds.modelListGapMs);
    await expect(find('local/a')).rejects.toMatchObject({ code: 'upstream_failed' });
    expect([begun(), upstream.requests.length]).toEqual([9, 9]);
  });

  test('is one without a name, if it had some before: a server may have none while it starts', async () => {
    upstream.play(listOf(), listOf('a'), listOf(), listOf('b'));
    const { clock, lists, states, names, find } = makeLists();
    await lists.refresh();
    expect([names(), states]).toEqual([[], []]);
    for (const expected of [['local/a'], ['local/a'], ['local/b']]) {
      clock.advance(bounds.modelListGapMs);
      await find('local/unknown');
      expect(names()).toEqual(expected);
    }
    expect(states).toEqual([expect.stringContaining('empty'), null]);
  });

  test('and never was may have the name that the other providers do not have', async () => {
    upstream.play(async (answer, request) => {
      const isRead = request.path.startsWith('/v1/');
      await (isRead ? listOf('a') : scripts.error(503, 'overloaded_error', 'starting'))(answer, request);
    });
    const { names, find } = makeLists('openai', CREDENTIAL, ['local', 'other']);
    await find('local/a');
    expect(names()).toEqual(['local/a']);
    await expect(find('local/b')).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  test('is that of a provider whose credentials are all for single accounts or groups: its names may be private', async () => {
    const { lists, states, names } = makeLists('openai', PRIVATE);
    await lists.refresh();
    expect([upstream.requests.length, names(), states]).toEqual([
      0,
      [],
      ['it has no credential that is for all accounts'],
    ]);
  });

  test('does not show the credential', async () => {
    upstream.play(scripts.error(401, 'authentication_error', 'the key sk-list-credential is wrong'));
    const { lists, states } = makeLists();
    await lists.refresh();
    expect(states).toHaveLength(1);
    expect(states[0]).not.toContain('sk-list-credential');
  });
});

test('names that could change the path of a request are left out, and a list is cut at its bound', async () => {
  const tricks = ['..', '.', 'a/../b', '../x', 'x/..', 'a\\..\\b', './a', ''];
  upstream.play(listOf(...tricks, '.hidden', 'a..b', '/models/llama.gguf'));
  const odd = makeLists();
  await odd.lists.refresh();
  expect(odd.names()).toEqual(['local/.hidden', 'local//models/llama.gguf', 'local/a..b']);
  upstream.play(listOf(...Array.from({ length: bounds.modelListNamesMax + 5 }, (_, at) => `m${at}`)));
  const long = makeLists();
  await long.lists.refresh();
  expect(long.names()).toHaveLength(bounds.modelListNamesMax);
});

test('each kind reads the list of its own protocol', async () => {
  const bodies = {
    openai: { data: [{ id: 'm' }, {}, 'x'] },
    'openai-responses': { data: [{ id: 'm' }] },
    anthropic: { data: [{ type: 'model', id: 'm' }], has_more: false },
    gemini: { models: [{ name: 'models/m' }] },
  };
  const found: Record<string, string[]> = {};
  for (const [kind, body] of Object.entries(bodies)) {
    upstream.play(scripts.json(JSON.stringify(body)));
    const { lists, names } = makeLists(kind);
    await lists.refresh();
    found[kind] = names();
  }
  const one = ['local/m'];
  expect(found).toEqual({ openai: one, 'openai-responses': one, anthropic: one, gemini: one });
});
