// Reads a body of multipart/form-data: short fields into memory, files onto disk, no faster than the disk takes them.

import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy';
import { assert } from '../base/assert.ts';
import { freeBytes } from '../base/sealed-chunks.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Spool, SpooledFile } from '../spool/spool.ts';

export interface FormLimits {
  fileBytesMax: number;
  filesMax: number;
}

export interface FormFile {
  /** The name of the field. */
  field: string;
  /** Without directories; empty if there is none. */
  name: string;
  mediaType: string;
  content: SpooledFile;
}

/** Its scope disposes of it, which removes the files that were not kept. */
export class Form implements AsyncDisposable {
  /** In the order of the body; a name may be repeated. */
  readonly fields: { name: string; value: string }[] = [];
  readonly files: FormFile[] = [];

  /** The field of a name. Throws invalid_request if it is repeated. */
  field(name: string): string | null {
    return this.#only(name, this.fields)?.value ?? null;
  }

  /** The file of a field. Throws invalid_request if it is repeated. */
  file(name: string): FormFile | null {
    return (
      this.#only(
        name,
        this.files.map((file) => ({ ...file, name: file.field, file })),
      )?.file ?? null
    );
  }

  #only<One extends { name: string }>(name: string, all: readonly One[]): One | null {
    const [first = null, second] = all.filter((one) => one.name === name);
    if (second !== undefined) throw new TurnpikeError('invalid_request', `${name}: must be sent once`);
    return first;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { content } of this.files) await content[Symbol.asyncDispose]();
  }
}

/** Receives a body piece by piece; the next piece comes when `accept` has resolved. */
export type ReceiveBody = (accept: (piece: Uint8Array) => Promise<void>) => Promise<void>;

/**
 * Rejects with content_type_unsupported, invalid_request, body_too_large, overloaded, store_unavailable, and what `receive` rejects with.
 * Then nothing is left on disk.
 */
export async function readForm(
  contentType: string | null,
  receive: ReceiveBody,
  { spool, owner, limits }: { spool: Spool; owner: number; limits: FormLimits },
): Promise<Form> {
  const form = new Form();
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {}); // awaited only while a piece or a file is
  const parser = await openParser(contentType, limits);
  const chunks: Uint8Array[] = []; // of the body, in the order in which the parser passes their parts on
  const streams: BusboyFileStream[] = [];
  const writing: Promise<void>[] = [];
  let isOver = false;
  /** Writes one file after another: a piece of a later one says that the earlier ones were written. */
  const write = async (stream: BusboyFileStream, file: Omit<FormFile, 'content'>, before?: Promise<void>) => {
    await before;
    const content = await spool.create(owner);
    form.files.push({ ...file, content });
    if (isOver) return;
    for await (const piece of stream) {
      await content.write(piece);
      const place = chunks.findIndex(({ buffer }) => buffer === piece.buffer);
      for (const chunk of chunks.splice(0, Math.max(place, 0))) freeBytes(chunk); // all of them were written
    }
    assert(content.bytes === stream.bytesRead, 'a file has every byte that arrived');
    if (stream.truncated)
      throw new TurnpikeError('body_too_large', `${file.field}: must not be larger than ${limits.fileBytesMax} bytes`);
    await content.finish();
  };
  parser
    .on('field', (name, value, _, isCut) => {
      if (isCut) fail(wrongForm(`${name}: must not be longer than ${bounds.formFieldBytesMax} bytes`));
      else form.fields.push({ name, value });
    })
    .on('file', (field, stream, name = '', _, mediaType) => {
      stream.on('error', (cause) => fail(wrongForm('body: is not a complete form', cause)));
      const written = write(stream, { field, name, mediaType }, writing.at(-1));
      written.catch(fail);
      streams.push(stream);
      writing.push(written);
    })
    .on('filesLimit', () => fail(wrongForm(`body: must not have more than ${limits.filesMax} files`)))
    .on('fieldsLimit', () => fail(wrongForm(`body: must not have more than ${bounds.formFieldsMax} fields`)))
    .on('partsLimit', () => fail(wrongForm('body: has too many parts')))
    .on('error', (cause) => fail(wrongForm('body: is not a complete form', cause)));
  const inTime = <Value>(working: Promise<Value>) => Promise.race([working, failed]);
  try {
    await receive((chunk) => {
      chunks.push(chunk);
      return inTime(new Promise((resolve) => parser.write(chunk, () => resolve())));
    });
    await inTime(new Promise<void>((resolve) => parser.on('finish', resolve).end()));
    await inTime(Promise.all(writing));
    return form;
  } catch (failure) {
    isOver = true;
    parser.destroy();
    for (const stream of streams) stream.destroy();
    await Promise.allSettled(writing);
    await form[Symbol.asyncDispose]();
    throw failure;
  }
}

async function openParser(contentType: string | null, { fileBytesMax, filesMax }: FormLimits): Promise<BusboyInstance> {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? ''))
    throw new TurnpikeError('content_type_unsupported', 'content-type: must be multipart/form-data.');
  const limits = {
    fileSize: fileBytesMax,
    files: filesMax,
    fields: bounds.formFieldsMax,
    fieldSize: bounds.formFieldBytesMax,
    parts: bounds.formFieldsMax + filesMax,
    headerPairs: bounds.formHeadersMax,
    headerSize: bounds.formHeaderBytesMax,
  };
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({ headers: { 'content-type': contentType ?? '' }, limits });
  } catch (cause) {
    throw wrongForm('content-type: must have a boundary', cause);
  }
}

function wrongForm(message: string, cause?: unknown): TurnpikeError {
  return new TurnpikeError('invalid_request', message, cause === undefined ? {} : { cause });
}
