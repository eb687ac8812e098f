// The size of a prompt: an expected count, and an upper bound for holds.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { inputTokensUpperBound, measurePrompt, type PromptMeasure } from '../../../src/usage/usage.ts';
import { type JsonValue, parseMessageRequest } from '../../../src/wire/wire.ts';
import { anyText } from '../../support/any-text.ts';
import { makeArchive } from '../../support/make-archive.ts';
import { makePdf } from '../../support/make-pdf.ts';

const CLAUDE = ['claude-sonnet-4-5'];
const IMAGE_MAX = 1_600;

function request(content: JsonValue, members: Record<string, JsonValue> = {}) {
  const body = { model: 'm', messages: [{ role: 'user', content }], ...members };
  return parseMessageRequest(new TextEncoder().encode(JSON.stringify(body)));
}

type Made = ReturnType<typeof request>;
/** Measures a prompt without documents. */
const measureNow = (made: Made, models = CLAUDE) => measurePrompt(made, models) as PromptMeasure;
const mostOf = (made: Made) => inputTokensUpperBound(measureNow(made));
const typicalOf = (made: Made) => measureNow(made).typicalTokens;

async function added(
  block: JsonValue,
  models = CLAUDE,
): Promise<{ most: number; typical: number; isBounded: boolean }> {
  const [without, withBlock] = [measureNow(request([]), models), await measurePrompt(request([block]), models)];
  return {
    most: inputTokensUpperBound(withBlock) - inputTokensUpperBound(without),
    typical: withBlock.typicalTokens - without.typicalTokens,
    isBounded: withBlock.isBounded,
  };
}

const image = (source: JsonValue) => ({ type: 'image', source });
const document = (file: Buffer, media_type = 'application/pdf') => ({
  type: 'document',
  source: { type: 'base64', media_type, data: file.toString('base64') },
});
const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

test('the bound is at least one token per byte of text, and the expected count is below it', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 400 }), (text) => {
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

test('an image counts by the kind of model, not by its bytes', async () => {
  const data = 'A'.repeat(400_000);
  for (const source of [
    { type: 'base64', media_type: 'image/png', data },
    { type: 'base64', media_type: 'image/png', data: 'AA' },
    { type: 'url', url: 'https://a.example' },
    { type: 'file', file_id: 'f' },
  ]) {
    const { most, typical, isBounded } = await added(image(source));
    expect(most).toBeWithin(IMAGE_MAX, IMAGE_MAX + 200);
    expect(typical).toBeWithin(1_000, IMAGE_MAX + 100);
    expect(isBounded).toBe(true);
  }
});

test('base64 declared as another type counts as text', async () => {
  const data = 'A'.repeat(40_000);
  expect((await added(image({ type: 'base64', media_type: 'text/plain', data }))).most).toBeGreaterThan(40_000);
  expect((await added(document(Buffer.alloc(30_000), 'text/csv'))).most).toBeGreaterThan(30_000);
  expect(
    (await added({ type: 'tool_use', id: 't', name: 'n', input: { source: { type: 'base64', data } } })).most,
  ).toBeGreaterThan(40_000);
});

test('images inside results and documents are found', async () => {
  const inside = image({ type: 'url', url: 'u' });
  const result = { type: 'tool_result', tool_use_id: 't', content: [inside, inside] };
  expect((await added(result)).most).toBeWithin(2 * IMAGE_MAX, 2 * IMAGE_MAX + 400);
  const held = { type: 'document', source: { type: 'content', content: [inside] } };
  expect((await added(held)).most).toBeWithin(IMAGE_MAX, IMAGE_MAX + 400);
});

test('a PDF file counts by its pages and their text, also under another name', async () => {
  const { file, textBytes } = makePdf(['a'.repeat(9_000), ''], { timesPage: 3 });
  for (const type of ['application/pdf', 'application/octet-stream']) {
    const { most, typical, isBounded } = await added(document(file, type));
    expect(most).toBeWithin(6 * IMAGE_MAX + textBytes, 6 * IMAGE_MAX + 2 * textBytes);
    expect(typical).toBeWithin(6 * 1_000, most);
    expect(isBounded).toBe(true);
  }
});

test('a document of an office program counts by the text of its parts', async () => {
  const archive = makeArchive([
    { name: 'word/document.xml', content: `<w:t>${'text '.repeat(20_000)}</w:t>` },
    { name: 'word/media/a.png', content: `\x89PNG${'\0'.repeat(500_000)}` },
  ]);
  const { most, isBounded } = await added(document(archive, DOCX));
  expect(most).toBeWithin(100_000 + IMAGE_MAX, 100_000 + IMAGE_MAX + 1_000);
  expect(isBounded).toBe(true);
});

test('a document that cannot be read, or is elsewhere, has no bound, but a likely size', async () => {
  for (const block of [
    document(Buffer.from('nothing')),
    document(Buffer.from(`PK\x03\x04${'z'.repeat(15_000)}`), DOCX),
    document(Buffer.alloc(500, 'a'), 'application/x.unknown'),
    { type: 'document', source: { type: 'url', url: 'u' } },
    { type: 'document', source: { type: 'file', file_id: 'f' } },
  ]) {
    const { isBounded, typical } = await added(block);
    expect(isBounded).toBe(false);
    expect(typical).toBeWithin(1_000, 30_000);
  }
});

test('documents are measured together: many of them take no more work than one', async () => {
  const file = makeArchive([{ name: 'a.xml', content: 'x'.repeat(12 * 1024 * 1024) }]);
  const many = Array(4).fill(document(file, DOCX));
  expect((await measurePrompt(request(many), CLAUDE)).isBounded).toBe(false);
  expect((await measurePrompt(request(many.slice(0, 1)), CLAUDE)).isBounded).toBe(true);
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
  const measure = measureNow(
    request([image({ type: 'url', url: 'u' }), { type: 'text', text: 'word '.repeat(200) }], {
      tools: [{ name: 'a' }],
    }),
  );
  expect([measure.fixedTokensMax, measure.mediaTokensMax]).toEqual([IMAGE_MAX + 1_000 + 16, IMAGE_MAX]);
  expect(inputTokensUpperBound(measure)).toBe(measure.textBytes + measure.fixedTokensMax);
});

test('the base64 of an image does not count as text', () => {
  const data = 'A'.repeat(40_000);
  const made = request([image({ type: 'base64', media_type: 'image/png', data })]);
  expect(measureNow(made).textBytes).toBe(made.bytes - data.length);
});
