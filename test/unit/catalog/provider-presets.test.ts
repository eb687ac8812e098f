// Presets of providers: each is a provider that the catalog accepts once its fields are filled in, and is documented.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { planApply, providerPresets } from '../../../src/catalog/catalog.ts';
import { providerKinds } from '../../../src/providers/providers.ts';
import { rootDirectory } from '../../check.ts';
import { planOptions } from './support.ts';

const WANTED = [
  'openrouter',
  'deepseek',
  'groq',
  'mistral',
  'xai',
  'ollama',
  'vllm',
  'lm-studio',
  'azure',
  'bedrock',
  'vertex',
];
const kinds = [...providerKinds.keys()];

/** The members of a preset, filled in with its examples. */
function memberOf({ kind, baseUrl, fields, needs, isLocal }: (typeof providerPresets)[number]) {
  const examples = new Map(fields.map(({ name, example, default: usual }) => [name, usual ?? example]));
  const base_url = baseUrl?.replace(/\{(\w+)\}/g, (_, name) => examples.get(name) ?? '');
  return {
    kind,
    ...(base_url !== undefined && { base_url }),
    ...(needs.includes('region') && { region: 'us-east-1' }),
    ...(needs.includes('project') && { project: 'my-project' }),
    ...(isLocal && { private_network: true }),
  };
}

describe('a preset', () => {
  test.each(providerPresets)('$id is accepted with its examples', (preset) => {
    const { faults, put } = planApply([], { providers: { [preset.id]: memberOf(preset) } }, planOptions({ kinds }));
    expect(faults).toEqual([]);
    expect(put.map(({ name }) => name)).toEqual([preset.id]);
  });

  test.each(providerPresets)('$id authenticates in ways that its kind accepts', (preset) => {
    const accepted = preset.auth.filter((type) => !['api_key', 'none'].includes(type));
    for (const type of accepted) {
      const auth = { type, ...MEMBERS[type] };
      const provider = { ...memberOf(preset), auth, ...(SECRETS[type] !== undefined && { api_key: SECRETS[type] }) };
      const { faults } = planApply([], { providers: { [preset.id]: provider } }, planOptions({ kinds }));
      expect([type, faults]).toEqual([type, []]);
    }
  });

  test('is there for each known provider, once, with documentation and a day', () => {
    const ids = providerPresets.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(WANTED));
    expect(new Set(providerPresets.map(({ kind }) => kind))).toEqual(new Set(kinds));
    for (const { docs, asOf, setUp } of providerPresets) {
      expect(docs).toMatch(/^https:\/\//);
      expect(asOf).toMatch(/^2026-\d\d-\d\d$/);
      expect(setUp).toEndWith('.');
    }
  });

  test('stands in the documentation with its kind and address', () => {
    const page = readFileSync(join(rootDirectory, 'docs/providers.md'), 'utf8');
    const rows = providerPresets.map(({ id, title, kind, baseUrl }) => {
      const address = baseUrl === null ? 'by region' : `\`${baseUrl}\``;
      return `| \`${id}\` | ${title} | \`${kind}\` | ${kind === 'sandbox' ? 'inside the service' : address} |`;
    });
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });
});

const MEMBERS: Readonly<Record<string, object>> = {
  env: { name: 'KEY' },
  file: { path: '/run/key' },
  aws_secret: { secret: 'key' },
  google_secret: { secret: 'projects/p/secrets/s' },
  azure_secret: { secret: 'https://name.vault.azure.net/secrets/key' },
  vault: { secret: 'secret/data/key', field: 'key' },
  aws_keys: { access_key_id: 'AKIAIOSFODNN7EXAMPLE' },
  azure_client: {
    tenant_id: '11111111-1111-1111-1111-111111111111',
    client_id: '22222222-2222-2222-2222-222222222222',
  },
};
const SECRETS: Readonly<Record<string, string>> = {
  aws_keys: 'secret',
  azure_client: 'secret',
  google_key: JSON.stringify({ type: 'service_account' }),
};
