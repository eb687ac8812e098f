// Settings of batches at clouds: what they need, and where their addresses may lead.

import { expect, test } from 'bun:test';
import {
  buildCatalog,
  type CatalogDocument,
  findPrivateProviders,
  formatFault,
  planApply,
} from '../../../src/catalog/catalog.ts';
import { apply, planOptions, unseal } from './support.ts';

const kinds = ['anthropic', 'bedrock', 'vertex'];
const batch_bucket = 's3://bucket/prefix';
const batch_role = 'arn:aws:iam::123456789012:role/batches';
const bedrock = { kind: 'bedrock', region: 'eu-central-1', auth: { type: 'aws' }, batches: true };
const vertex = { kind: 'vertex', region: 'global', project: 'our-project', auth: { type: 'google' }, batches: true };
const atAws = { ...bedrock, batch_bucket, batch_role };
const atGoogle = { ...vertex, batch_bucket: 'gs://bucket' };

const fileOf = (provider: object) => ({ providers: { p: provider } });
const faultsOf = (provider: object, stored: readonly CatalogDocument[] = []) =>
  planApply(stored, fileOf(provider), planOptions({ kinds })).faults.map((fault) => formatFault(fault));

test('batches at a cloud need a bucket, a credential that opens it, and at Bedrock a role', () => {
  expect([...faultsOf(atAws), ...faultsOf(atGoogle)]).toEqual([]);
  const { auth: _, ...withoutAuth } = atAws;
  expect(faultsOf(withoutAuth)).toEqual([]); // a proxy may sign
  for (const [provider, fault] of [
    [bedrock, 'batch_bucket: is missing: batches of the kind bedrock need it'],
    [{ ...bedrock, batch_bucket }, 'batch_role: is missing: batches of the kind bedrock need it'],
    [vertex, 'batch_bucket: is missing: batches of the kind vertex need it'],
    [{ ...vertex, batch_bucket }, 'batch_bucket: must begin with gs://'],
    [{ ...atGoogle, batch_role }, 'batch_role: is only for the kind bedrock'],
    [{ ...atAws, batch_bucket: 's3://bucket/../other' }, 'batch_bucket: must be a bucket, with or without a prefix'],
    [{ ...atAws, batch_bucket: 's3://bucket/' }, 'batch_bucket: must be a bucket, with or without a prefix'],
    [{ ...atAws, batch_role: 'batches' }, 'batch_role: must be the ARN of a role'],
    [{ ...atAws, auth: { type: 'env', name: 'KEY' } }, 'batches: needs auth of a type for the kind bedrock'],
    [{ ...withoutAuth, api_key: 'a-key-of-bedrock' }, 'batches: needs auth of a type for the kind bedrock'],
    [{ kind: 'anthropic', batch_bucket }, 'batch_bucket: is only for the kinds bedrock, vertex'],
  ] as const)
    expect(faultsOf(provider)).toEqual([expect.stringContaining(`providers.p.${fault}`)]);
});

test('the address of the store is checked like that of the provider', async () => {
  for (const [provider, fault] of [
    [{ ...atAws, batch_storage_url: 'ftp://store.example' }, 'must be an http or https URL'],
    [{ ...atAws, batch_storage_url: 'http://10.0.0.1' }, 'resolves to 10.0.0.1 in a private network'],
    [{ ...atGoogle, batch_storage_url: 'https://store.example' }, 'must be at googleapis.com with https'],
  ] as const)
    expect(faultsOf(provider)).toEqual([expect.stringContaining(`providers.p.batch_storage_url: ${fault}`)]);
  const file = fileOf({ ...atAws, batch_storage_url: 'https://store.example' });
  const { questions } = planApply([], file, planOptions({ kinds }));
  const faults = await findPrivateProviders(questions.providers, async (name) =>
    name === 'store.example' ? ['10.0.0.1'] : ['8.8.8.8'],
  );
  expect(faults.map(({ path }) => path)).toEqual([['providers', 'p', 'batch_storage_url']]);
});

test('a stored credential is never sent to a new store', () => {
  const auth = { type: 'aws_keys', access_key_id: 'AKIDEXAMPLE12345678' };
  const stored = apply([], fileOf({ ...atAws, auth, api_key: 'secret' }), { kinds });
  const moved = { ...atAws, auth, batch_storage_url: 'https://elsewhere.example' };
  expect(faultsOf({ ...atAws, auth }, stored)).toEqual([]);
  expect(faultsOf(moved, stored)).toEqual([
    'providers.p.api_key: must be given again, because batch_storage_url has another host: a stored credential is never sent to a new host',
  ]);
  expect(faultsOf({ ...moved, api_key: 'secret' }, stored)).toEqual([]);
});

test('the store is that of the cloud and the region, unless its address is given', () => {
  const bucketOf = (provider: object) =>
    buildCatalog(apply([], fileOf(provider), { kinds }), unseal).providers.get('p')?.batchBucket;
  const { auth: _, ...aws } = atAws;
  const { auth: __, ...google } = atGoogle;
  expect(bucketOf(aws)).toEqual({ uri: batch_bucket, url: 'https://s3.eu-central-1.amazonaws.com', role: batch_role });
  expect(bucketOf({ ...aws, region: 'cn-north-1' })?.url).toBe('https://s3.cn-north-1.amazonaws.com.cn');
  expect(bucketOf(google)).toEqual({ uri: 'gs://bucket', url: 'https://storage.googleapis.com', role: null });
  expect(bucketOf({ ...google, batch_storage_url: 'https://own.googleapis.com/' })?.url).toBe(
    'https://own.googleapis.com',
  );
});
