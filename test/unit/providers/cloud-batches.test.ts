// Requests as lines of jobs at clouds, and errors of their buckets. test/contract/public-api/provider-batches.test.ts runs whole batches.

import { expect, test } from 'bun:test';
import { mapStoreFault } from '../../../src/providers/bucket-batches.ts';
import { type ProviderBatch, providerKinds } from '../../../src/providers/providers.ts';
import { startBatchProvider } from '../../support/batch-provider.ts';
import { faultOf } from './make-attempt.ts';

const lineOf = (kind: string, url: string, body: object | string, betas: string | null = null) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const line = providerKinds.get(kind)?.batches?.line('turnpike-1-0', { url, body: text, betas }) ?? null;
  return line === null ? null : (JSON.parse(line) as unknown);
};
const GOOGLE = 'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers';
const AWS = 'https://bedrock-runtime.eu-central-1.amazonaws.com/model';

test('a request for Gemini at Vertex AI keeps its labels and its digits, and gets one label that names it', () => {
  const url = `${GOOGLE}/google/models/gemini:generateContent`;
  const body = '{"contents": [],\n "labels": {"team": "a"}, "generationConfig": {"temperature": 0.10}}';
  const labels = { team: 'a', turnpike_request: 'turnpike-1-0' };
  expect(lineOf('vertex', url, body)).toEqual({
    request: { contents: [], labels, generationConfig: { temperature: 0.1 } },
  });
  const line = providerKinds.get('vertex')?.batches?.line('turnpike-1-0', { url, body, betas: null });
  expect(line).toContain('0.10');
  expect(line).not.toContain('\n');
  expect(lineOf('vertex', url, { contents: [] })).toMatchObject({
    request: { labels: { turnpike_request: 'turnpike-1-0' } },
  });
});

test('what jobs do not take has no line', () => {
  const claude = `${GOOGLE}/anthropic/models/claude@1:rawPredict`;
  expect(lineOf('vertex', claude, { messages: [] })).toEqual({ custom_id: 'turnpike-1-0', request: { messages: [] } });
  expect(lineOf('vertex', claude, { messages: [] }, 'some-beta')).toBeNull();
  const images = { generationConfig: { responseModalities: ['IMAGE'] } };
  expect(lineOf('vertex', `${GOOGLE}/google/models/gemini:generateContent`, images)).toBeNull();
  expect(lineOf('vertex', `${GOOGLE}/google/models/text-embedding:predict`, {})).toBeNull();
  const record = { recordId: 'turnpikex1x0', modelInput: { messages: [] } };
  expect(lineOf('bedrock', `${AWS}/anthropic.claude/invoke`, { messages: [] })).toEqual(record);
  expect(lineOf('bedrock', `${AWS}/amazon.nova/converse`, { messages: [] })).toEqual(record);
  for (const member of ['toolConfig', 'outputConfig', 'guardrailConfig'])
    expect(lineOf('bedrock', `${AWS}/amazon.nova/converse`, { messages: [], [member]: {} })).toBeNull();
  expect(lineOf('bedrock', `${AWS}/amazon.nova/count-tokens`, {})).toBeNull();
});

test('the fault of a bucket has the words of its store, without names of the account', () => {
  const xml =
    '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>arn:aws:iam::123456789012:role/x may not write</Message></Error>';
  const fault = mapStoreFault(403, new Headers({ 'retry-after': '7' }), xml, 0);
  expect(fault).toMatchObject({ kind: 'credentials', status: 403, retryAfterMs: 7_000 });
  expect(fault.message).toStartWith('the bucket of its batches answered with status 403 AccessDenied: ');
  expect(fault.message).not.toContain('123456789012');
  expect(mapStoreFault(503, new Headers(), 'not XML', 0).message).toBe(
    'the bucket of its batches answered with status 503',
  );
});

test('results that do not name their requests are a failure that the operator sees', async () => {
  await using provider = startBatchProvider();
  const store = { uri: 'gs://bucket/prefix', url: `${provider.url}/store`, role: null };
  const endpoint = { name: 'google', kind: 'vertex', baseUrl: provider.url, credential: null, batchBucket: store };
  const batch: ProviderBatch = {
    endpoint: { ...endpoint, project: 'p', region: 'global' },
    url: `${GOOGLE}/google/models/gemini:generateContent`,
    betas: null,
    name: 'turnpike-1',
    requests: 1,
    createdAtMs: 0,
  };
  const results = (labels: object) => {
    const line = { request: { labels }, status: '', response: { candidates: [] } };
    provider.files.set('bucket/prefix/turnpike-1/results/p/predictions.jsonl', JSON.stringify(line));
    const { batches } = providerKinds.get('vertex') ?? expect.unreachable();
    return Array.fromAsync(batches?.results(batch, '1', new AbortController().signal) ?? []);
  };
  expect(await results({ turnpike_request: 'turnpike-1-0' })).toMatchObject([{ id: 'turnpike-1-0' }]);
  expect(await faultOf(results({}))).toMatchObject({
    kind: 'not_found',
    message: 'the results of the batch do not name their requests',
  });
});
