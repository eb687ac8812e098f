// The bound of documents in archives: all text in their parts, as often as cells of a workbook repeat it.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../../src/config/config.ts';
import { DocumentWork } from '../../../src/usage/document-work.ts';
import { measureOffice } from '../../../src/usage/measure-office.ts';
import { makeArchive } from '../../support/make-archive.ts';

const measure = (file: Buffer) => measureOffice(file, new DocumentWork());

function workbook(
  strings: readonly string[],
  cells: readonly number[],
  cell = (index: number) => `<c r="A1" t="s"><v>${index}</v></c>`,
) {
  return makeArchive([
    { name: 'xl/worksheets/sheet1.xml', content: `<sheetData>${cells.map(cell).join('')}</sheetData>` },
    {
      name: 'xl/sharedStrings.xml',
      content: `<sst>${strings.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
    },
  ]);
}

test('a workbook counts each cell with its shared string', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'abc 12.'), maxLength: 500 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 20 }),
      fc.array(fc.nat(19), { maxLength: 300 }),
      async (strings, picks) => {
        const cells = picks.map((pick) => pick % strings.length);
        const shown = cells.reduce((sum, cell) => sum + (strings[cell] as string).length, 0);
        const { textTokensMax } = await measure(workbook(strings, cells));
        expect(textTokensMax).toBeGreaterThanOrEqual(shown);
        expect(textTokensMax).toBeLessThan(shown + 100 * (cells.length + strings.length) + 20_000);
      },
    ),
    { numRuns: 100 },
  );
});

test.each([
  ['with other quotes and a prefix', (index: number) => `<x:c r='A1' t = 's' ><x:v>${index}</x:v></x:c>`],
  ['with the type as a reference', (index: number) => `<c t="&#115;"><v>${index}</v></c>`],
  ['after a comment', (index: number) => `<c t="s"><!-- --><v>${index}</v></c>`],
])('a cell %s counts, too', async (_how, cell) => {
  const { textTokensMax } = await measure(workbook(['x'.repeat(5_000)], Array<number>(100).fill(0), cell));
  expect(textTokensMax).toBeGreaterThan(500_000);
});

test.each([
  ['what is no archive', Buffer.from('PK\x03\x04 and more')],
  ['an archive in which readers may see two', Buffer.concat([makeArchive([]), makeArchive([])])],
  ['an encrypted archive', mark(makeArchive([{ name: 'a', content: 'a' }]), 8, 1)],
  ['an unusual compression', mark(makeArchive([{ name: 'a', content: 'a' }]), 10, 99)],
  ['a directory that points nowhere', mark(makeArchive([{ name: 'a', content: 'a' }]), 42, 60_000)],
])('%s cannot be read', async (_what, file) => {
  await expect(measure(file)).rejects.toThrow('');
});

/** Changes a member of the first entry of the directory. */
function mark(file: Buffer, at: number, value: number): Buffer {
  file.writeUInt16LE(value, file.indexOf('PK\x01\x02') + at);
  return file;
}

test('parts that inflate without end are given up at the bound', async () => {
  const content = 'word '.repeat(bounds.documentInflatedBytesMax / 4);
  await expect(measure(makeArchive([{ name: 'a', content }]))).rejects.toThrow('the content is too long');
});
