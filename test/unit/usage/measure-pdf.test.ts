// The bound of a PDF file: its real pages, and all text that they draw, however the file is written.

import { expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { bounds } from '../../../src/config/config.ts';
import { DocumentWork } from '../../../src/usage/document-work.ts';
import { measurePdf } from '../../../src/usage/measure-pdf.ts';
import { makePdf, type PLAIN_STYLE } from '../../support/make-pdf.ts';

const measure = (file: Buffer) => measurePdf(file, new DocumentWork());
const file = (...objects: string[]) => Buffer.from(`%PDF-1.4\n${objects.join('\n')}`, 'latin1');
const tree = '1 0 obj <</Pages 2 0 R>> endobj 2 0 obj <</Kids [3 0 R]>> endobj';

const filter = fc.constantFrom(
  'FlateDecode',
  'ASCIIHexDecode',
  'ASCII85Decode',
  'LZWDecode',
  'RunLengthDecode',
) as fc.Arbitrary<(typeof PLAIN_STYLE.filters)[number]>;
const style = fc.record({
  filters: fc.array(filter, { maxLength: 3 }),
  isHex: fc.boolean(),
  packsObjects: fc.boolean(),
  isIndirect: fc.boolean(),
  escapesNames: fc.boolean(),
  timesPage: fc.integer({ min: 1, max: 30 }),
  timesForm: fc.integer({ min: 0, max: 30 }),
  nestsForms: fc.boolean(),
  isUpdated: fc.boolean(),
  meaning: fc.constantFrom('', 'ffi', '…', 'a long text for one code'),
});
const printable = fc.string({
  unit: fc.constantFrom(...'abc (1)\\ <2> /Do % ID EI endstream'),
  maxLength: 2_000,
});

test('the bound is at least the text and the pages, for every way to write them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(printable, { minLength: 1, maxLength: 5 }), style, async (texts, given) => {
      const made = makePdf(texts, given);
      const { pages, textTokensMax } = await measure(made.file);
      expect(pages).toBe(made.pages);
      expect(textTokensMax).toBeGreaterThanOrEqual(made.textBytes);
    }),
    { numRuns: 300 },
  );
});

test('the bound of an ordinary text is not much above its bytes', async () => {
  const made = makePdf(Array<string>(20).fill('word '.repeat(600)));
  const { textTokensMax } = await measure(made.file);
  expect(textTokensMax).toBeWithin(made.textBytes, 2 * made.textBytes);
});

test('lines, curves and pictures have no text', async () => {
  const picture = '<</Subtype /Image /Width 9>> stream\n(((not a text)))\nendstream';
  const content = deflateSync(Buffer.from('10.5 20 m 30 40 l S\n'.repeat(50_000))).toString('latin1');
  const { textTokensMax } = await measure(
    file(
      tree,
      '3 0 obj <</Contents 4 0 R /Resources <</XObject <</I 5 0 R>>>>>> endobj',
      `4 0 obj <</Filter/FlateDecode>> stream\n${content}\nendstream endobj`,
      `5 0 obj ${picture} endobj`,
    ),
  );
  expect(textTokensMax).toBe(0);
});

test('a page counts as often as it is in the tree, whatever its count says', async () => {
  const repeated = `1 0 obj <</Pages 2 0 R>> endobj 2 0 obj <</Kids [${'3 0 R '.repeat(40)}] /Count 4 0 R>> endobj`;
  const twice = `${repeated} 3 0 obj <</Kids 5 0 R>> endobj 5 0 obj [6 0 R 6 0 R] endobj 6 0 obj <</Type /Page>> endobj`;
  expect((await measure(file(twice, '4 0 obj 7 endobj'))).pages).toBe(80);
  expect((await measure(file(twice, '4 0 obj 900 endobj'))).pages).toBe(900);
  expect((await measure(file(tree, '3 0 obj<</Type/Page>>endobj'))).pages).toBe(1);
});

test('text of annotations, properties and inline pictures counts', async () => {
  const long = 'x'.repeat(1_000);
  const stream = (content: string) => `stream\n${content}\nendstream`;
  const pageOf = (members: string, ...objects: string[]) =>
    measure(file(tree, `3 0 obj <</Type /Page ${members}>> endobj`, ...objects)).then((made) => made.textTokensMax);
  expect(await pageOf(`/Annots [<</Contents (${long})>>]`)).toBeGreaterThan(1_000);
  expect(
    await pageOf('/Annots [<</AP <</N 4 0 R>>>>]', `4 0 obj <<>> ${stream(`(${long}) Tj`)} endobj`),
  ).toBeGreaterThan(1_000);
  const marked = '/Span /P BDC EMC '.repeat(10);
  expect(
    await pageOf(
      `/Contents 4 0 R /Resources <</Properties <</P <</ActualText (${long})>>>>>>`,
      `4 0 obj <<>> ${stream(marked)} endobj`,
    ),
  ).toBeGreaterThan(10_000);
  expect(await pageOf('/Contents 4 0 R', `4 0 obj <<>> ${stream(`BI ID ((( EI ) (${long}`)} endobj`)).toBeGreaterThan(
    1_000,
  );
});

test('the longest definition of an object counts, and the longest end of a stream', async () => {
  const text = `(${'y'.repeat(500)}) Tj`;
  const contents = (first: string, second: string) =>
    measure(
      file(
        tree,
        '3 0 obj <</Contents 4 0 R>> endobj',
        `4 0 obj <<>> stream\n${first}\nendstream endobj`,
        `4 0 obj <<>> stream\n${second}\nendstream endobj`,
      ),
    ).then((made) => made.textTokensMax);
  expect(await contents(text, '')).toBeGreaterThan(500);
  expect(await contents('', text)).toBeGreaterThan(500);
  const beyond = `4 0 obj <</Length 600>> stream\n% endstream\n${text}\nendstream endobj`;
  expect((await measure(file(tree, '3 0 obj <</Contents 4 0 R>> endobj', beyond))).textTokensMax).toBeGreaterThan(500);
});

test.each([
  ['no pages', '1 0 obj <<>> endobj'],
  ['an encrypted file', `${tree} trailer <</Encr#79pt 9 0 R>>`],
  ['encryption in a stream of references', `${tree} 8 0 obj <</Type /XRef /Encrypt 9 0 R>> stream\n\nendstream endobj`],
  ['pages in a circle', '1 0 obj <</Pages 2 0 R>> endobj 2 0 obj <</Kids [2 0 R]>> endobj'],
  [
    'a filter that is not known',
    `${tree} 3 0 obj <</Contents 4 0 R>> endobj 4 0 obj <</Filter /Crypt>> stream\n\nendstream endobj`,
  ],
  [
    'a stream in another file',
    `${tree} 3 0 obj <</Contents 4 0 R>> endobj 4 0 obj <</F (other)>> stream\n\nendstream endobj`,
  ],
  ['a name that is there twice', `${tree} 3 0 obj <</Contents 4 0 R /Contents 5 0 R>> endobj`],
  ['a list that would take long to read at once', `${tree} 9 0 obj [${'1 '.repeat(300_000)}] endobj`],
  ['an object without a number', `${tree} 3% \n 0 obj <<>> endobj`],
  [
    'forms in a circle',
    `${tree} 3 0 obj <</Contents 4 0 R /Resources 5 0 R>> endobj 4 0 obj <<>> stream\n/F Do\nendstream endobj 5 0 obj <</XObject <</F 4 0 R>>>> endobj`,
  ],
])('%s: the file cannot be read', async (_what, text) => {
  await expect(measure(file(text))).rejects.toThrow('');
});

test('forms that draw each other many times do not take longer, and their text counts each time', async () => {
  const level = (number: number, content: string) =>
    `${number} 0 obj <</Subtype /Form /Resources <</XObject <</F ${number + 1} 0 R>>>>>> stream\n${content}\nendstream endobj`;
  const levels = Array.from({ length: 12 }, (_, index) => level(10 + index, '/F Do '.repeat(10)));
  const { textTokensMax } = await measure(
    file(
      tree,
      '3 0 obj <</Contents 10 0 R /Resources <</XObject <</F 11 0 R>>>>>> endobj',
      ...levels,
      level(22, '(z) Tj'),
    ),
  );
  expect(textTokensMax).toBeGreaterThanOrEqual(10 ** 12);
});

test('content that inflates without end is given up at the bound, and never read in one step', async () => {
  const bomb = deflateSync(Buffer.alloc(8 * bounds.documentInflatedBytesMax, '(a) Tj ')).toString('latin1');
  const made = file(
    tree,
    '3 0 obj <</Contents 4 0 R>> endobj',
    `4 0 obj <</Filter/FlateDecode>> stream\n${bomb}\nendstream endobj`,
  );
  await expect(measure(made)).rejects.toThrow('the content is too long');
});
