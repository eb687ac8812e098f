// What a prompt may have: a likely figure, and a bound that a hold can rely on.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { inputTokensLikely, inputTokensUpperBound, measurePrompt } from '../../src/usage/usage.ts';
import { type JsonValue, parseMessageRequest } from '../../src/wire/wire.ts';

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

test('the bound is at least one token a byte of text, and the likely figure is below it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      const made = request(text);
      expect(mostOf(made)).toBeGreaterThanOrEqual(Buffer.byteLength(text) + 16);
      expect(typicalOf(made)).toBeLessThan(mostOf(made));
      expect(typicalOf(made)).toBeGreaterThanOrEqual(1);
    }),
  );
});

test('the likely figure of text is near a quarter of its bytes', () => {
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

test('base64 that says to be something else counts as the text it may be read as', () => {
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

test('a PDF file counts by its pages where they can be seen', () => {
  const page = '<</Type /Page>>';
  expect(added(pdf(`%PDF <</Type /Pages>> ${page}${page}<</Type/Page>>`)).most).toBeWithin(9_000, 9_200);
  expect(added(pdf(`%PDF <</Type /Pages /Count 50>> ${page}`)).most).toBeWithin(150_000, 150_200);
  expect(added(pdf(`%PDF ${page} /Pa#67e `)).most).toBeWithin(6_000, 6_200);
});

test('a PDF file whose pages cannot be seen is bounded by the longest document', () => {
  for (const text of ['%PDF /ObjStm /Page ', '%PDF /Obj#53tm /Page ', 'nothing', '', `${'/Page '.repeat(10_000)}`])
    expect(added(pdf(text)).most).toBeWithin(1_800_000, 1_800_200);
  expect(added(pdf('nothing')).typical).toBeWithin(2_000, 2_100);
});

test('a document at an address counts as long', () => {
  expect(added({ type: 'document', source: { type: 'url', url: 'u' } }).most).toBeWithin(300_000, 300_200);
});

test('tools bring a prompt of their own, those that a provider defines one each', () => {
  const bound = (tools: JsonValue) => {
    const made = request('a', { tools });
    return mostOf(made) - made.bytes;
  };
  expect(bound([])).toBe(16);
  expect(bound([{ name: 'a' }, { name: 'b', type: 'custom' }])).toBe(1_016);
  expect(bound([{ name: 'a' }, { type: 'bash_20250124', name: 'bash' }])).toBe(2_016);
});

test('what was learned bounds the text, and leaves images and tools at their most', () => {
  const { textBytes, fixedTokensMax } = measurePrompt(
    request([image({ type: 'url', url: 'u' }), { type: 'text', text: 'word '.repeat(200) }], {
      tools: [{ name: 'a' }],
    }),
  );
  const measure = { textBytes, fixedTokensMax, typicalTokens: 1 };
  expect(fixedTokensMax).toBe(5_000 + 1_000 + 16);
  expect(inputTokensLikely(measure, 0.3)).toBe(Math.ceil(textBytes * 0.3) + fixedTokensMax);
  for (const wild of [1, 7, Number.POSITIVE_INFINITY])
    expect(inputTokensLikely(measure, wild)).toBe(inputTokensUpperBound(measure));
});

test('the base64 of an image is no text', () => {
  const data = 'A'.repeat(40_000);
  const made = request([image({ type: 'base64', media_type: 'image/png', data })]);
  expect(measurePrompt(made).textBytes).toBe(made.bytes - data.length);
});
