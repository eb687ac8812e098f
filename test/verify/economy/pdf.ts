// PDF files of one page, whose text is compressed: few bytes, and as many tokens as the text has.

import { deflateSync } from 'node:zlib';
import { type Text, writeText } from './texts.ts';

const LINE_CHARACTERS = 90;

/** The file in base64. Its text must be ASCII, without parentheses and backslashes. */
export function makePdf(text: Text): string {
  const lines = writeText(text).match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'gs')) ?? [];
  const content = `BT /F1 8 Tf 12 TL 20 800 Td ${lines.map((line) => `(${line}) Tj T*`).join('\n')} ET`;
  const packed = deflateSync(content);
  const objects = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from('<< /Type /Pages /Kids [3 0 R] /Count 1 >>'),
    Buffer.from(
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    ),
    Buffer.concat([
      Buffer.from(`<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`),
      packed,
      Buffer.from('\nendstream'),
    ]),
    Buffer.from('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'),
  ];
  const parts = [Buffer.from('%PDF-1.4\n')];
  const places: number[] = [];
  for (const [at, object] of objects.entries()) {
    places.push(parts.reduce((sum, { length }) => sum + length, 0));
    parts.push(Buffer.from(`${at + 1} 0 obj\n`), object, Buffer.from('\nendobj\n'));
  }
  const start = parts.reduce((sum, { length }) => sum + length, 0);
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  const table = `xref\n0 6\n0000000000 65535 f \n${rows}`;
  parts.push(Buffer.from(`${table}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`));
  return Buffer.concat(parts).toString('base64');
}
