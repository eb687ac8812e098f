// The size of a prompt: an expected count, and an upper bound for holds.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { inputTokensUpperBound, measurePrompt } from '../../../src/usage/usage.ts';
import { type JsonValue, parseMessageRequest } from '../../../src/wire/wire.ts';

function request(content: JsonValue, members: Record<string, JsonValue> = {}) {
  const body = { model: 'm', messages: [{ role: 'user', content }], ...members };
  return parseMessageRequest(new TextEncoder().encode(JSON.stringify(body)));
}

const mostOf = (made: ReturnType<typeof request>) => inputTokensUpperBound(measurePrompt(made));
const typicalOf = (made: ReturnType<typeof request>) => measurePrompt(made).typicalTokens;

function added(block: JsonValue): { most: number; typical: number } {
  const [without, withBlock] = [request([]), request([block])];
  return {
    most: mostOf(withBlock) - mostOf(without),
    typical: typicalOf(withBlock) - typicalOf(without),
  };
}

const image = (source: JsonValue) => ({ type: 'image', source });
const pdf = (text: string) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: Buffer.from(text).toString('base64') },
});

test('the bound is at least one token per byte of text, and the expected count is below it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      const made = request(text);
      expect(mostOf(made)).toBeGreaterThanOrEqual(Buffer.byteLength(text) + 16);
      expect(typicalOf(made)).toBeLessThan(mostOf(made));
      expect(typicalOf(made)).toBeGreaterThanOrEqual(1);
    }),
  );
});

test('the expected count of text is about a quarter of its bytes', () => {
  expect(Math.abs(typicalOf(request('word '.repeat(800))) - 1000)).toBeLessThan(10);
  expect(Math.abs(typicalOf(request('', { system: 'é'.repeat(2000) })) - 1000)).toBeLessThan(10);
});

test('an image counts by its kind, not by its bytes', () => {
  const data = 'A'.repeat(400_000);
  const big = added(image({ type: 'base64', media_type: 'image/png', data }));
  expect(big.most).toBeWithin(5_000, 5_200);
  expect(big.typical).toBeWithin(1_600, 1_700);
  for (const source of [
    { type: 'url', url: 'https://a.example' },
    { type: 'file', file_id: 'f' },
  ])
    expect(added(image(source)).most).toBeWithin(5_000, 5_200);
  expect(added(image({ type: 'base64', media_type: 'image/png', data: 'AA' })).most).toBeWithin(5_000, 5_200);
});

test('base64 declared as another type counts as text', () => {
  const data = 'A'.repeat(40_000);
  expect(added(image({ type: 'base64', media_type: 'text/plain', data })).most).toBeGreaterThan(40_000);
  expect(
    added({ type: 'tool_use', id: 't', name: 'n', input: { source: { type: 'base64', data } } }).most,
  ).toBeGreaterThan(40_000);
});

test('images inside results and documents are found', () => {
  const inside = image({ type: 'url', url: 'u' });
  expect(added({ type: 'tool_result', tool_use_id: 't', content: [inside, inside] }).most).toBeWithin(10_000, 10_400);
  expect(added({ type: 'document', source: { type: 'content', content: [inside] } }).most).toBeWithin(5_000, 5_400);
});

test('a PDF file counts by its pages if they can be read', () => {
  const page = '<</Type /Page>>';
  expect(added(pdf(`%PDF <</Type /Pages>> ${page}${page}<</Type/Page>>`)).most).toBeWithin(9_000, 9_200);
  expect(added(pdf(`%PDF <</Type /Pages /Count 50>> ${page}`)).most).toBeWithin(150_000, 150_200);
  expect(added(pdf(`%PDF ${page} /Pa#67e `)).most).toBeWithin(6_000, 6_200);
});

test('a PDF file with unreadable pages counts as the longest document', () => {
  for (const text of ['%PDF /ObjStm /Page ', '%PDF /Obj#53tm /Page ', 'nothing', '', `${'/Page '.repeat(10_000)}`])
    expect(added(pdf(text)).most).toBeWithin(1_800_000, 1_800_200);
  expect(added(pdf('nothing')).typical).toBeWithin(2_000, 2_100);
});

test('a document at an address counts as a long document', () => {
  expect(added({ type: 'document', source: { type: 'url', url: 'u' } }).most).toBeWithin(300_000, 300_200);
});

test('tools add a fixed prompt, and so does each tool that the provider defines', () => {
  const bound = (tools: JsonValue) => {
    const made = request('a', { tools });
    return mostOf(made) - made.bytes;
  };
  expect(bound([])).toBe(16);
  expect(bound([{ name: 'a' }, { name: 'b', type: 'custom' }])).toBe(1_016);
  expect(bound([{ name: 'a' }, { type: 'bash_20250124', name: 'bash' }])).toBe(2_016);
});

test('the bound of text is its bytes, and the bound of images and tools is their maximum', () => {
  const { textBytes, fixedTokensMax } = measurePrompt(
    request([image({ type: 'url', url: 'u' }), { type: 'text', text: 'word '.repeat(200) }], {
      tools: [{ name: 'a' }],
    }),
  );
  expect(fixedTokensMax).toBe(5_000 + 1_000 + 16);
  expect(inputTokensUpperBound({ textBytes, fixedTokensMax, typicalTokens: 1 })).toBe(textBytes + fixedTokensMax);
});

test('the base64 of an image does not count as text', () => {
  const data = 'A'.repeat(40_000);
  const made = request([image({ type: 'base64', media_type: 'image/png', data })]);
  expect(measurePrompt(made).textBytes).toBe(made.bytes - data.length);
});
