// Forms with files: what is read, what is refused, and that nothing stays on disk.

import { afterAll, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChunkBroken, newFileKey, openChunks } from '../../../src/base/sealed-chunks.ts';
import { bounds } from '../../../src/config/config.ts';
import { readForm } from '../../../src/http/http.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';

const temporary = temporaryDirectory();
const directory = join(temporary.path, 'spool');
const spool = new Spool(directory);
const limits = { fileBytesMax: 300_000, filesMax: 2 };
afterAll(() => temporary[Symbol.dispose]());

/** Reads a form whose body arrives in pieces of this length. */
async function read(form: FormData | string, pieceBytes = 1_000, contentType?: string) {
  const sent = new Response(form, contentType === undefined ? {} : { headers: { 'content-type': contentType } });
  const type = sent.headers.get('content-type');
  const body = await sent.bytes();
  return readForm(
    type,
    async (accept) => {
      for (let at = 0; at < body.byteLength; at += pieceBytes) await accept(body.subarray(at, at + pieceBytes));
    },
    { spool, owner: 1, limits },
  );
}

function formOf(bytes: Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData();
  form.append('purpose', 'user_data');
  form.append('expires_after[seconds]', '3600');
  form.append('file', new File([bytes], 'dir/mañana.pdf', { type: 'application/pdf' }));
  return form;
}

const failureOf = (reading: Promise<unknown>) =>
  reading.then(
    () => null,
    (failure) => `${failure.code} ${failure.message}`,
  );

test('files are read in the order of the body, even if a later one could be stored before an earlier one', async () => {
  const slow = { create: spool.create.bind(spool) };
  const form = new FormData();
  const contents = [100, 70_000, 3].map((length) => crypto.getRandomValues(new Uint8Array(length)));
  for (const bytes of contents) form.append('file', new File([bytes], `${bytes.length}`));
  const sent = new Response(form);
  const body = await sent.clone().bytes();
  let creating = 0;
  const create: Spool['create'] = async (owner) => {
    const isFirst = creating++ === 0;
    for (let turn = 0; isFirst && turn < 20; turn++) await new Promise(setImmediate); // the others would overtake it
    return slow.create(owner);
  };
  const receive = async (accept: (piece: Uint8Array) => Promise<void>) => {
    for (let at = 0; at < body.length; at += 50) await accept(Uint8Array.from(body.subarray(at, at + 50)));
  };
  const options = { spool: { create } as Spool, owner: 1, limits: { ...limits, filesMax: 3 } };
  await using read = await readForm(sent.headers.get('content-type'), receive, options);
  expect(read.files.map(({ name }) => name)).toEqual(['100', '70000', '3']);
  for (const [at, { content }] of read.files.entries())
    expect(Buffer.concat(await Array.fromAsync(content.read()))).toEqual(Buffer.from(contents[at] ?? []));
});

test('fields and files are read, whatever the pieces of the body, and files are encrypted until they are removed', async () => {
  for (const length of [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 3 * 64 * 1024, 300_000])
    for (const pieceBytes of [length < 10_000 ? 7 : 777, 65_536, 1_000_000]) {
      const bytes = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536)));
      const content = Buffer.concat(Array.from({ length: 5 }, () => bytes)).subarray(0, length);
      const form = await read(formOf(Uint8Array.from(content)), pieceBytes);
      expect(form.field('purpose')).toBe('user_data');
      expect(form.field('expires_after[seconds]')).toBe('3600');
      expect(form.field('other')).toBeNull();
      const file = form.file('file');
      expect(file).toMatchObject({ name: 'mañana.pdf', mediaType: 'application/pdf', content: { bytes: length } });
      if (file === null) throw new Error('no file');
      expect(spool.bytes).toBe(length);
      expect(statSync(file.content.path).mode & 0o777).toBe(0o600);
      if (length > 100) expect(readFileSync(file.content.path).includes(content.subarray(0, 50))).toBe(false);
      expect(Buffer.concat(await Array.fromAsync(file.content.read())).equals(content)).toBe(true);
      await form[Symbol.asyncDispose]();
      expect([readdirSync(directory), spool.bytes]).toEqual([[], 0]);
    }
});

test('what exceeds a limit is refused, and nothing of it stays on disk', async () => {
  const many = (count: number, name: string, value: string | File) => {
    const form = new FormData();
    for (let at = 0; at < count; at++) form.append(name, value);
    return form;
  };
  const file = new File(['text'], 'a.txt');
  const cases: [FormData | string, string][] = [
    [formOf(new Uint8Array(300_001)), 'body_too_large file: must not be larger than 300000 bytes'],
    [many(3, 'file', file), 'invalid_request body: must not have more than 2 files'],
    [
      many(bounds.formFieldsMax + 1, 'a', 'b'),
      `invalid_request body: must not have more than ${bounds.formFieldsMax} fields`,
    ],
    [
      many(1, 'prompt', 'x'.repeat(bounds.formFieldBytesMax + 1)),
      `invalid_request prompt: must not be longer than ${bounds.formFieldBytesMax} bytes`,
    ],
  ];
  for (const [form, refusal] of cases) expect(await failureOf(read(form))).toBe(refusal);
  const repeated = await read(many(2, 'file', file));
  expect(() => repeated.file('file')).toThrow('file: must be sent once');
  await repeated[Symbol.asyncDispose]();
  expect([readdirSync(directory), spool.bytes]).toEqual([[], 0]);
});

test('a body that is no complete form is refused, also one that ends within a file', async () => {
  const type = 'multipart/form-data; boundary=x';
  const part = '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc';
  const incomplete = 'invalid_request body: is not a complete form';
  for (const body of [part, `${part}\r\n--x`, 'no form', ''])
    expect([body, await failureOf(read(body, 5, type))]).toEqual([body, incomplete]);
  expect(await failureOf(read(`${part}\r\n--x--`, 5, 'multipart/form-data'))).toStartWith('content_type_unsupported');
  expect(await failureOf(read(part, 5, 'multipart/form-data; charset=utf-8'))).toBe(
    'invalid_request content-type: must have a boundary',
  );
  expect(await failureOf(read('{}', 5, 'application/json'))).toStartWith('content_type_unsupported');
  expect([readdirSync(directory), spool.bytes]).toEqual([[], 0]);
});

test('a failing disk refuses the form', async () => {
  const gone = join(temporary.path, 'gone');
  const lost = new Spool(gone);
  writeFileSync(gone, 'in place of the directory');
  const sent = new Response(formOf(new Uint8Array(10)));
  const receive = async (accept: (piece: Uint8Array) => Promise<void>) => accept(await sent.bytes());
  const reading = readForm(sent.headers.get('content-type'), receive, { spool: lost, owner: 1, limits });
  expect(await failureOf(reading)).toStartWith('store_unavailable');
});

test('an altered, shortened or foreign file is not read', async () => {
  await using form = await read(formOf(new Uint8Array(200_000).fill(7)));
  const { content } = form.files[0] ?? {};
  if (content === undefined) throw new Error('no file');
  const sealed = readFileSync(content.path);
  const altered = Buffer.from(sealed);
  altered[100_000] = (altered[100_000] ?? 0) ^ 1;
  const chunk = 64 * 1024 + 16;
  const swapped = Buffer.concat([
    sealed.subarray(chunk, 2 * chunk),
    sealed.subarray(0, chunk),
    sealed.subarray(2 * chunk),
  ]);
  const pieces = async function* (bytes: Uint8Array) {
    yield Uint8Array.from(bytes);
  };
  const opened = (key: Buffer, bytes: Uint8Array) => Array.fromAsync(openChunks(key, pieces(bytes)));
  expect(Buffer.concat(await opened(content.key, sealed))).toHaveLength(200_000);
  for (const bytes of [altered, swapped, sealed.subarray(0, -1), sealed.subarray(0, 2 * chunk), sealed.subarray(0, 5)])
    expect(opened(content.key, bytes)).rejects.toThrow(ChunkBroken);
  expect(opened(newFileKey(), sealed)).rejects.toThrow(ChunkBroken);
});

test('a start removes the files of an earlier process', async () => {
  const own = join(temporary.path, 'own');
  await using _ = await new Spool(own).create(1);
  expect(readdirSync(own)).toHaveLength(1);
  new Spool(own);
  expect(existsSync(own)).toBe(false);
});
