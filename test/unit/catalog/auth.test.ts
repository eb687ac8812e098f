// Identities at clouds in applied files: what they need, and where their tokens may go.

import { describe, expect, test } from 'bun:test';
import { describeAuthTypes, tokenHostFault } from '../../../src/catalog/auth.ts';
import { type CatalogDocument, formatFault, planApply } from '../../../src/catalog/catalog.ts';

const UUID = '00000000-0000-4000-8000-000000000001';
const keys = { type: 'aws_keys', access_key_id: 'AKIAIOSFODNN7EXAMPLE' };
const client = { type: 'azure_client', tenant_id: UUID, client_id: UUID };
const googleKey = JSON.stringify({ type: 'service_account', client_email: 'a@b', private_key: 'k' });
const bedrock = { kind: 'bedrock', region: 'us-east-1' };
const vertex = { kind: 'vertex', region: 'global', project: 'my-project' };
const foundry = { kind: 'foundry', base_url: 'https://mine.services.ai.azure.com' };

const plan = (provider: object, stored: readonly CatalogDocument[] = []) =>
  planApply(
    stored,
    { providers: { p: provider } },
    {
      prune: false,
      origin: 'file',
      kinds: ['anthropic', 'bedrock', 'vertex', 'foundry'],
      nowMs: 0,
      seal: (text) => `sealed ${text}`,
      unseal: (sealed) => sealed.replace('sealed ', ''),
    },
  );
const faults = (provider: object, stored?: readonly CatalogDocument[]) =>
  plan(provider, stored).faults.map((fault) => formatFault(fault));

describe('the types of auth', () => {
  const references = ['env', 'file', 'aws_secret', 'google_secret', 'azure_secret', 'vault'];
  const typesOf = (kind: string) => describeAuthTypes(kind).map(({ type }) => type);

  test('that a kind accepts are all references, and the identities of its cloud', () => {
    expect(typesOf('anthropic')).toEqual(references as never);
    expect(typesOf('bedrock')).toEqual([...references, 'aws', 'aws_keys'] as never);
    expect(typesOf('vertex')).toEqual([...references, 'google', 'google_key'] as never);
    expect(typesOf('foundry')).toEqual([...references, 'azure', 'azure_client'] as never);
  });

  test('are described with their required and optional members', () => {
    expect(describeAuthTypes('bedrock').filter(({ type }) => ['vault', 'aws_keys'].includes(type))).toEqual([
      {
        type: 'vault',
        needsSecret: false,
        members: [
          { name: 'secret', isRequired: true },
          { name: 'field', isRequired: true },
        ],
      },
      {
        type: 'aws_keys',
        needsSecret: true,
        members: [
          { name: 'access_key_id', isRequired: true },
          { name: 'role_arn', isRequired: false },
          { name: 'external_id', isRequired: false },
        ],
      },
    ]);
  });
});

describe('an identity', () => {
  test('is stored in clear beside its sealed secret, and applied again without a change', () => {
    const provider = { ...bedrock, auth: keys, api_key: 'secret-access-key' };
    const { put, questions } = plan(provider);
    expect(put[0]?.document).toMatchObject({ auth: keys, api_key_sealed: 'sealed secret-access-key' });
    expect(questions.auths).toEqual([{ auth: keys as never, path: ['providers', 'p', 'auth'] }]);
    const { api_key: _, ...without } = provider;
    expect(plan(without, put).changes).toEqual([]);
    expect(plan(provider, put).changes).toEqual([]);
  });

  test('that needs a secret is refused without one, and so is another type that would inherit it', () => {
    expect(faults({ ...bedrock, auth: keys })).toEqual([
      'providers.p.api_key: is missing: auth of the type aws_keys needs it',
    ]);
    const stored = plan({ kind: 'foundry', base_url: foundry.base_url, api_key: 'plain-key' }).put;
    expect(faults({ ...foundry, auth: client }, stored)).toEqual([
      'providers.p.api_key: is missing: auth of the type azure_client needs it',
    ]);
    const withClient = plan({ ...foundry, auth: client, api_key: 'client-secret' }).put;
    const changed = plan(foundry, withClient);
    expect(changed.faults).toEqual([]);
    expect(changed.put[0]?.document['api_key_sealed']).toBeNull();
  });

  test('is refused with members that do not fit', () => {
    expect(faults({ ...bedrock, auth: { type: 'aws', external_id: 'x' } })).toEqual([
      'providers.p.auth: of the type aws needs role_arn with external_id',
    ]);
    expect(faults({ ...bedrock, auth: { type: 'aws', role_arn: 'turnpike' } })).toEqual([
      'providers.p.auth.role_arn: must be the ARN of a role',
    ]);
    expect(faults({ ...vertex, auth: { type: 'google_key' }, api_key: googleKey })).toEqual([]);
    for (const type of ['external_account', 'authorized_user', 'impersonated_service_account']) {
      const key = JSON.stringify({ type, credential_source: { file: '/etc/shadow' } });
      expect(faults({ ...vertex, auth: { type: 'google_key' }, api_key: key })).toEqual([
        'providers.p.api_key: must be the JSON of a key of a service account',
      ]);
    }
  });

  test('is not sent as a token to a host of anyone else', () => {
    const elsewhere = 'https://collector.example.com';
    for (const [provider, auth, api_key] of [
      [vertex, { type: 'google' }, undefined],
      [vertex, { type: 'google_key' }, googleKey],
      [foundry, { type: 'azure' }, undefined],
      [foundry, client, 'client-secret'],
    ] as const) {
      const given = { ...provider, auth, ...(api_key !== undefined && { api_key }) };
      expect(faults(given)).toEqual([]);
      expect(faults({ ...given, base_url: elsewhere, private_network: true })).toEqual([
        expect.stringMatching(/^providers\.p\.base_url: must be at .* other hosts are not sent tokens/),
      ]);
      expect(faults({ ...given, base_url: 'http://10.0.0.8:8080', private_network: true })).toEqual([]);
      expect(faults({ ...given, base_url: 'http://10.0.0.8:8080' })).toHaveLength(1);
    }
    const further = { ...vertex, base_url: elsewhere, credentials: { one: { auth: { type: 'google' } } } };
    expect(faults(further)).toEqual([expect.stringContaining('providers.p.base_url: must be at googleapis.com')]);
  });

  test('is sent as a token to hosts of models only, also within its cloud', () => {
    const allowed = [
      ['google', 'https://aiplatform.googleapis.com'],
      ['google', 'https://europe-west1-aiplatform.googleapis.com'],
      ['google', 'https://aiplatform.eu.rep.googleapis.com'],
      ['azure', 'https://mine.openai.azure.com/openai/v1'],
      ['azure', 'https://mine.cognitiveservices.azure.us'],
    ] as const;
    for (const [cloud, url] of allowed) expect(tokenHostFault(cloud, url)).toBeNull();
    const refused = [
      ['google', 'http://aiplatform.googleapis.com'],
      ['google', 'https://googleapis.com.example.com'],
      ['google', 'https://evilgoogleapis.com'],
      ['azure', 'https://theirs.eastus.cloudapp.azure.com'],
      ['azure', 'https://theirs.eastus.inference.ml.azure.com'],
      ['azure', 'https://aiplatform.googleapis.com'],
    ] as const;
    for (const [cloud, url] of refused) expect(tokenHostFault(cloud, url)).toStartWith('must be at');
  });
});
