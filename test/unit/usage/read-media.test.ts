// The texts of a prompt's documents equal what was written, however the file is made. Content that cannot be known is null,
// so that the bound stands.

import { expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { countPromptLocally } from '../../../src/tokenizer/tokenizer.ts';
import { pageImageTokens } from '../../../src/usage/image-tokens.ts';
import { readMedia } from '../../../src/usage/usage.ts';
import type { JsonObject } from '../../../src/wire/wire.ts';
import { inPlaceTokenizer } from '../../support/in-place-tokenizer.ts';
import { makeArchive } from '../../support/make-archive.ts';
import { makePdf, type PLAIN_STYLE } from '../../support/make-pdf.ts';

const MODEL = 'gpt-4.1';
const PAGE_TOKENS = pageImageTokens([MODEL]).typical;
const PDF = 'application/pdf';
const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

const bodyOf = (...content: JsonObject[]) => ({ body: { messages: [{ role: 'user', content }] } });
const block = (file: Buffer, media_type: string, type = 'document'): JsonObject => ({
  type,
  source: { type: 'base64', media_type, data: file.toString('base64') },
});
const read = (file: Buffer, mediaType: string) => readMedia(bodyOf(block(file, mediaType)), MODEL);
const words = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

async function readWords(file: Buffer, mediaType = PDF): Promise<string | null> {
  const media = await read(file, mediaType);
  return media === null ? null : words(media.texts.join(' '));
}

/** A page with this content, and these members and objects. */
function page(content: string, members = '', ...objects: string[]): Buffer {
  const data = deflateSync(Buffer.from(content, 'latin1')).toString('latin1');
  const all = [
    '1 0 obj <</Pages 2 0 R>> endobj 2 0 obj <</Kids [3 0 R]>> endobj',
    `3 0 obj <</Type /Page /Contents 4 0 R ${members}>> endobj`,
    `4 0 obj <</Filter /FlateDecode>> stream\n${data}\nendstream endobj`,
    ...objects,
  ];
  return Buffer.from(`%PDF-1.4\n${all.join('\n')}`, 'latin1');
}

const FONT = '/Resources <</Font <</F 5 0 R>>>>';
const stream = (number: number, content: string) => `${number} 0 obj <<>> stream\n${content}\nendstream endobj`;

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
  timesPage: fc.integer({ min: 1, max: 4 }),
  timesForm: fc.integer({ min: 0, max: 4 }),
  nestsForms: fc.boolean(),
  meaning: fc.constantFrom('', 'ffi', '…', 'a long text for one code'),
});
const printable = fc.string({ unit: fc.constantFrom(...'abcA (1)\\ <2> /Do % ID EI endstream'), maxLength: 1_000 });

test('the text of a PDF file is what was written, for every way to write it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(printable, { minLength: 1, maxLength: 5 }), style, async (texts, given) => {
      const made = makePdf(texts, given);
      const forms = Array<string>(given.timesForm * (given.nestsForms ? 2 : 1)).fill('text of the form');
      const meant = (text: string) => (given.meaning === '' ? text : text.replaceAll('A', given.meaning));
      const pages = texts.flatMap((text) => Array<string>(given.timesPage).fill([meant(text), ...forms].join(' ')));
      expect(await readWords(made.file)).toBe(words(pages.join(' ')));
      expect((await read(made.file, PDF))?.tokens).toBe(made.pages * PAGE_TOKENS);
    }),
    { numRuns: 200 },
  );
});

test.each([
  ['strings of an array, near and apart', 'BT /F 10 Tf [(W) 80 (or) -20 (ld) -333 (peace)] TJ ET', 'World peace'],
  ['strings one after another', 'BT /F 10 Tf (Wor) Tj (ld) Tj ET', 'World'],
  [
    'lines',
    'BT /F 10 Tf 12 TL (one) Tj T* (two) Tj (three) \' 1 2 (four) " 0 -12 Td (five) Tj ET',
    'one two three four five',
  ],
  ['letters placed one by one', 'BT /F 10 Tf 1 0 0 1 50 50 Tm (a) Tj 5 0 Td (b) Tj 8 0 Td (c) Tj ET', 'ab c'],
  [
    'pieces in text objects of their own',
    'BT /F 10 Tf 1 0 0 1 0 9 Tm (a) Tj ET q 1 0 0 1 5 9 cm BT /F 10 Tf (b) Tj ET Q',
    'ab',
  ],
  ['escapes', 'BT (a\\(b\\)\\\\ \\101\\060612\\\nx\\t(in) \\z) Tj ET', 'a(b)\\ A0612x (in) z'],
  ['hexadecimal digits of odd number', 'BT <41 42 4> Tj ET', 'AB@'],
  ['another encoding', 'BT (caf\xe9 \x93quoted\x94 \x80) Tj ET', 'café “quoted” €'],
  ['a picture in the content', 'BT (a) Tj ET BI /W 1 /H 1 ID ((\xff( EI BT 9 9 Td (b) Tj ET', 'a b'],
  ['text that stands for what is drawn', '/Span <</ActualText (\xfe\xff\0f\0f\0i\0x)>> BDC BT (z) Tj ET EMC', 'ffix'],
  ['text that is drawn where less is to be read', '/Span <</ActualText ()>> BDC BT (drawn) Tj ET EMC', 'drawn'],
])('%s are read as a reader sees them', async (_what, content, text) => {
  const widths = `/FirstChar 0 /Widths [${'500 '.repeat(256)}]`;
  expect(await readWords(page(content, FONT, `5 0 obj <</Type /Font ${widths}>> endobj`))).toBe(text);
});

test('codes are read by the tables and the names of their fonts', async () => {
  const wide = '5 0 obj <</Subtype /Type0 /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 7 0 R>> endobj';
  const widths = '6 0 obj <</W [1 [500 500] 3 20 500]>> endobj';
  const table = `1 begincodespacerange <0000> <ffff> endcodespacerange 2 beginbfchar <0001> <00660069> <0002> <d83dde00> endbfchar
    2 beginbfrange <0003> <0005> <0041> <0006> <0007> [<0078> <4f60>] endbfrange`;
  const shown = 'BT /F 10 Tf <0001000200030004000500060007> Tj ET';
  expect(await readWords(page(shown, FONT, wide, widths, stream(7, table)))).toBe('fi😀ABCx你');
  const named =
    '5 0 obj <</Encoding <</Differences [1 /fi /quoteright 65 /eacute /uni4F60 /f_f_i /g12 /constructor /aconstructor]>>>> endobj';
  expect(await readWords(page('BT /F 10 Tf (\x01\x02ABCDEF) Tj ET', FONT, named))).toBe('fi’é你ffiDEF');
});

test('a code that the file gives no meaning counts as a token', async () => {
  const wide = '5 0 obj <</Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<<>>]>> endobj';
  const media = await read(page('BT /F 10 Tf <0001000200030004> Tj ET', FONT, wide), PDF);
  expect(media).toEqual({ texts: [], tokens: PAGE_TOKENS + 4 });
});

test('a text that is defined twice counts as the longer one', async () => {
  for (const [first, second] of [
    ['short', 'a longer text'],
    ['a longer text', 'short'],
  ]) {
    const twice = page('', FONT, stream(4, `BT (${first}) Tj ET`), stream(4, `BT (${second}) Tj ET`));
    expect(await readWords(twice)).toBe('a longer text');
  }
});

test('text in the appearance of an annotation is part of its page', async () => {
  const annotation = '/Annots [<</AP <</N 5 0 R>>>>]';
  expect(await readWords(page('BT (page) Tj ET', annotation, stream(5, 'BT (note) Tj ET')))).toBe('page note');
});

test('a dense page counts within 1 % of its text and its image', async () => {
  const lines = Array.from({ length: 4_000 }, (_, line) =>
    Array.from({ length: 16 }, (_, place) => `word${(line * 16 + place) % 997}`).join(' '),
  );
  const file = page(`BT /F 1 Tf 1 TL 10 780 Td ${lines.map((line) => `(${line}) Tj T*\n`).join('')} ET`);
  const request = bodyOf(block(file, PDF));
  const media = await readMedia(request, MODEL);
  if (media === null) throw new Error('the file was not read');
  const { texts: mediaTexts, tokens: mediaTokens } = media;
  const counting = { account: 1, model: MODEL, request, mediaTexts, mediaTokens };
  const counted = await countPromptLocally(inPlaceTokenizer(), counting);
  expect((counted ?? 0) / (PAGE_TOKENS + 4_000 * 16 * 2)).toBeWithin(0.99, 1.01);
});

test('a document of an office program has the text of its parts, without markup', async () => {
  const document = `<?xml version="1.0"?><w:document><w:body><w:p><w:r><w:t>Hel</w:t></w:r><w:r><w:t>lo</w:t></w:r></w:p><w:p
    w:a="b"><w:t>A &lt; B &#38; C<!-- <w:t>no</w:t> --></w:t><w:tab/><w:t><![CDATA[<raw>]]></w:t></w:p></w:body></w:document>`;
  const about = '<Properties><Application>Writer</Application></Properties>';
  const file = makeArchive([
    { name: 'word/document.xml', content: document },
    { name: 'docProps/app.xml', content: about },
  ]);
  expect(await readWords(file, DOCX)).toBe('Hello A < B & C <raw>');
});

test('a workbook has its shared strings where its cells show them', async () => {
  const sheet = `<worksheet><sheetData><row><c t="s"><v>1</v></c><c><f>A1+1</f><v>42.5</v></c></row>
    <row><x:c r='A2' t = '&#115;'><x:v> 0 </x:v></x:c><c t="s"><v>1</v></c><c t="inlineStr"><is><t>in</t></is></c></row></sheetData></worksheet>`;
  const strings =
    '<sst><si><t>first</t></si><si><r><t>sec</t></r><r><t>ond</t></r></si><si><t>not shown</t></si></sst>';
  const file = makeArchive([
    { name: 'xl/worksheets/sheet1.xml', content: sheet },
    { name: 'xl/sharedStrings.xml', content: strings },
  ]);
  expect(await readWords(file, DOCX)).toBe('second 42.5 first second in');
});

test('other documents are their text, and images count by their size', async () => {
  expect(await read(Buffer.from('a;b\n1;2\n'), 'text/csv')).toEqual({ texts: ['a;b\n1;2\n'], tokens: 0 });
  const old = Buffer.concat([
    Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    Buffer.from('\x01Old text\x01'),
    Buffer.from('Wide text', 'utf16le'),
  ]);
  expect(await readWords(old, 'application/msword')).toBe('Old text Wide text');
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const size = Buffer.alloc(8);
  size.writeUInt32BE(512, 0);
  size.writeUInt32BE(512, 4);
  const image = await readMedia(bodyOf(block(Buffer.concat([png, size]), 'image/png', 'image')), MODEL);
  expect(image).toEqual({ texts: [], tokens: 85 + 170 });
});

test.each<[string, JsonObject]>([
  ['a document elsewhere', { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }],
  ['a file at the provider', { type: 'document', source: { type: 'file', file_id: 'file-1' } }],
  ['an encrypted PDF file', block(Buffer.concat([page(''), Buffer.from('trailer <</Encrypt 9 0 R>>')]), PDF)],
  ['a format that is not known', block(Buffer.from('{\\rtf1 text}'), 'application/rtf')],
  ['a damaged archive', block(Buffer.from('PK\x03\x04 and more'), DOCX)],
  ['text in what may be a picture', block(page('BI /W 1 /H 1 ID x (text) Tj EI '), PDF)],
  ['a picture without an end', block(page('BI /W 1 /H 1 ID BT (text)'), PDF)],
  [
    'forms that draw each other a million million times',
    block(
      page(
        '/F Do',
        '/Resources <</XObject <</F 10 0 R>>>>',
        ...Array.from(
          { length: 12 },
          (_, index) =>
            `${10 + index} 0 obj <</Resources <</XObject <</F ${11 + index} 0 R>>>>>> stream\n${'/F Do '.repeat(10)}\nendstream endobj`,
        ),
        stream(22, '(z) Tj'),
      ),
      PDF,
    ),
  ],
  [
    'a code that stands for a long text, many times',
    block(
      page(
        `BT /F 1 Tf (${'A'.repeat(100_000)}) Tj ET`,
        FONT,
        '5 0 obj <</ToUnicode 6 0 R>> endobj',
        stream(6, `1 beginbfchar <41> <${'0041'.repeat(1_000)}> endbfchar`),
      ),
      PDF,
    ),
  ],
])('%s: the content is not known', async (_what, content) => {
  expect(await readMedia(bodyOf(content), MODEL)).toBeNull();
});

test('a table of codes in which nothing ends is read once', async () => {
  for (const word of ['begincodespacerange ', 'beginbfchar ', '<', '<0 ', '<0> '])
    expect(
      await readWords(
        page(
          'BT /F 1 Tf (a) Tj ET',
          FONT,
          '5 0 obj <</ToUnicode 6 0 R>> endobj',
          stream(6, word.repeat(1_000_000 / word.length)),
        ),
      ),
    ).toBe('a');
});

test('a damaged file is read or not, and nothing else happens', async () => {
  const { file } = makePdf(['some (text) of a page', 'more'], { timesForm: 2, meaning: 'ffi', filters: [] });
  const office = makeArchive([
    { name: 'a.xml', content: '<w:p><w:t>text &amp; more</w:t></w:p><si><c t="s"><v>0</v></c>' },
  ]);
  const damages = fc.array(fc.tuple(fc.nat(5_000), fc.nat(255)), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(file, office), damages, async (whole, given) => {
      const damaged = Buffer.from(whole);
      for (const [at, value] of given) damaged[4 + (at % (damaged.length - 4))] = value;
      const media = await read(damaged, whole === file ? PDF : DOCX);
      expect(media === null || media.tokens >= 0).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
