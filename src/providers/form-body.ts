// A form as the body of a request: its files are read while they are sent, and again for another attempt.

import type { FormField, SentFile } from '../wire/wire.ts';

/** The bytes of a body, anew for each request that sends it. */
export interface StreamedBody {
  contentType: string;
  bytes: number;
  read(): AsyncIterable<Uint8Array>;
}

/** https://www.rfc-editor.org/rfc/rfc7578 */
export function formBody(fields: readonly FormField[], files: readonly SentFile[]): StreamedBody {
  const boundary = `turnpike-${crypto.randomUUID()}`;
  const head = (field: string, more: string) =>
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${quoted(field)}"${more}\r\n\r\n`);
  const texts = fields.map(({ name, value }) => Buffer.concat([head(name, ''), Buffer.from(`${value}\r\n`)]));
  const parts = files.map((file) => ({
    file,
    head: head(file.field, `; filename="${quoted(file.name)}"\r\ncontent-type: ${typeOf(file)}`),
  }));
  const end = Buffer.from(`--${boundary}--\r\n`);
  const bytesOfFiles = parts.reduce((sum, part) => sum + part.head.length + part.file.bytes + LINE_END.length, 0);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: texts.reduce((sum, text) => sum + text.length, 0) + bytesOfFiles + end.length,
    async *read() {
      yield* texts;
      for (const part of parts) {
        yield part.head;
        yield* part.file.read();
        yield LINE_END;
      }
      yield end;
    },
  };
}

const LINE_END = Buffer.from('\r\n');

/** As browsers write names (https://html.spec.whatwg.org/#multipart-form-data). */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function typeOf({ mediaType }: SentFile): string {
  return /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? mediaType : 'application/octet-stream';
}
