// `passthrough` of a provider: what a file may state, and how it is kept.

import { describe, expect, test } from 'bun:test';
import { buildCatalog, describeDocuments, planApply } from '../../../src/catalog/catalog.ts';
import { cleanPassed, PASS_PRESETS, passes, passthroughFrom } from '../../../src/catalog/passthrough.ts';
import { bounds } from '../../../src/config/config.ts';
import type { JsonValue } from '../../../src/wire/wire.ts';
import { apply, planOptions, unseal } from './support.ts';

const base_url = 'https://models.example/v1';
const fileOf = (passthrough: unknown, kind = 'openai') => ({ providers: { p: { kind, base_url, passthrough } } });
const faultsOf = (passthrough: unknown, kind?: string) =>
  planApply([], fileOf(passthrough, kind), planOptions()).faults.map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );

test.each([...Object.keys(PASS_PRESETS), 'all', 'min_p'])('%s alone is a list of one', (name) => {
  const documents = apply([], fileOf(name));
  expect(documents.find(({ kind }) => kind === 'provider')?.document['passthrough']).toEqual([name]);
});

test('it is absent unless set, is described as it was given, and a file that repeats it changes nothing', () => {
  const given = ['vllm', 'top_a', 'provider'];
  const documents = apply([], fileOf(given));
  const { document } = describeDocuments(documents);
  expect(document.providers).toMatchObject({ p: { passthrough: given } });
  expect(planApply(documents, document, planOptions()).changes).toEqual([]);
  expect(buildCatalog(documents, unseal).providers.get('p')?.passthrough?.names.has('guided_json')).toBe(true);
  const plain = apply([], { providers: { p: { kind: 'openai', base_url } } });
  expect(plain[0]?.document).not.toHaveProperty('passthrough');
  expect(buildCatalog(plain, unseal).providers.get('p')?.passthrough).toBeNull();
});

describe('is a fault', () => {
  test.each([[[]], [['a', 'a']], [['']], ['0'], ['ſeed'], ['__proto__'], [null], [7], [{}], ['x'.repeat(65)]])(
    '%j',
    (given) => {
      expect(faultsOf(given).join()).toStartWith('providers.p.passthrough');
    },
  );

  test.each([
    ...['n', 'N', 'best_of', 'max_tokens', 'maxTokens', 'max_completion_tokens', 'max_new_tokens', 'num_predict'],
    ...['model', 'models', 'route', 'plugins', 'stream', 'stream_options', 'service_tier', 'tools', 'prediction'],
    ...['web_search_options', 'search_parameters', 'enable_search', 'chat_template', 'user', 'store', 'priority'],
    ...['stream_interval', 'max_dynamic_patch', 'images_config', 'chat_parser', 'routed_dp_rank', 'ec_transfer_params'],
  ])('%s, because it is never passed on', (name) => {
    expect(faultsOf(['min_p', name])).toEqual([
      expect.stringMatching(/^providers\.p\.passthrough\.1: is never passed on/),
    ]);
  });

  test.each(['anthropic', 'foundry'])('for the kind %s', (kind) => {
    expect(faultsOf('all', kind).join()).toContain(
      'providers.p.passthrough: is only for the kinds openai, openai-responses',
    );
  });
});

test('every field of a preset is passed on, alone or by all', () => {
  const all = passthroughFrom(['all']);
  for (const [preset, names] of Object.entries(PASS_PRESETS)) {
    expect(new Set(names).size).toBe(names.length);
    for (const name of names)
      expect([passes(name, passthroughFrom([preset])), passes(name, all)]).toEqual([true, true]);
  }
  expect([passes('provider', all), passes('PROVIDER', all), passes('provider', passthroughFrom(['provider']))]).toEqual(
    [false, false, true],
  );
});

test('docs/configuration.md has the fields of each preset', async () => {
  const page = await Bun.file(`${import.meta.dir}/../../../docs/configuration.md`).text();
  for (const [preset, names] of Object.entries(PASS_PRESETS))
    expect(page).toContain(`| \`${preset}\` | ${names.map((name) => `\`${name}\``).join(', ')} |\n`);
});

test('fields that are left out are named up to a number and a length, however many and deep they are', () => {
  let value: JsonValue = Array.from({ length: 50_000 }, () => ({ n: 1 }));
  for (let level = 0; level < 50; level++) value = { ['a'.repeat(64)]: value };
  const leftOut: string[] = [];
  cleanPassed('min_p', value, leftOut);
  expect(leftOut).toHaveLength(bounds.leftOutFieldsMax);
  expect(leftOut.every(({ length }) => length <= bounds.leftOutCharactersMax)).toBe(true);
});

test('limits of output and numbers of answers are never passed on, under no name', () => {
  for (const name of ['auto_max_new_tokens', 'n_cmpl', 'openai_max_tokens', 'maxOutputTokens', 'seq_max_length'])
    expect([name, passes(name, passthroughFrom(['all']))]).toEqual([name, false]);
});
