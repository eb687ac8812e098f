// The paths of files, in the forms of Anthropic's and of OpenAI's clients. Both see the same files of their account.
// https://platform.claude.com/docs/en/api/beta/files and https://developers.openai.com/api/reference/resources/files (2026-11-30)

import type { Caller } from '../accounts/accounts.ts';
import { topOf } from '../accounts/accounts.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { TurnpikeError } from '../errors.ts';
import { type FileReader, formatFileId, formatOpenAiFileId, type StoredFile } from '../files/files.ts';
import type { Form, FormFile } from '../http/http.ts';
import type { FileEndpoints } from './dependencies.ts';
import type { EncodedReply } from './encode-reply.ts';
import type { Exchange } from './exchange.ts';

const SECOND_MS = 1_000;
const NAME_CHARACTERS_MAX = 255;
const MEDIA_TYPE_CHARACTERS_MAX = 255;
const UNKNOWN_TYPE = 'application/octet-stream';
const IDS_MAX = 100;
/** Purposes of uploads by OpenAI's clients. */
const PURPOSES: readonly string[] = ['assistants', 'batch', 'evals', 'fine-tune', 'user_data', 'vision'];
/** The purpose of files whose client does not say. */
const PURPOSE = 'user_data';
const EXPIRES_AFTER_SECONDS = { least: 3_600, most: 30 * 24 * 60 * 60 };
const BATCH_FILE_LIFE_MS = 30 * DAY_MS;

/** How the clients of a protocol write and ask. */
interface FileForm {
  limits: { most: number; usual: number };
  /** The parameter with the file before a page. */
  after: string;
  show(file: StoredFile): object;
  showPage(files: readonly StoredFile[], hasMore: boolean): object;
  showDeleted(id: number): object;
  /** Reads the fields of an upload besides its file. Throws invalid_request. */
  readUpload(form: Form, nowMs: number): { purpose: string; expiresAtMs: number | null };
  /** Throws invalid_request. */
  readPage(query: URLSearchParams): PageQuestion;
}

interface PageQuestion {
  order: 'asc' | 'desc';
  /** The ids of the file before the page and of the file after it; at most one of them. */
  after: string | null;
  before: string | null;
  /** The only ids to list. */
  ids: readonly string[] | null;
  purpose: string | null;
}

const anthropic: FileForm = {
  limits: { most: 1_000, usual: 20 },
  after: 'after_id',
  show: ({ id, createdAtMs, dueAtMs, bytes, name, mediaType }) => ({
    type: 'file',
    id: formatFileId(id),
    filename: name,
    mime_type: mediaType,
    size_bytes: bytes,
    created_at: new Date(createdAtMs).toISOString(),
    expires_at: dueAtMs === null ? null : new Date(dueAtMs).toISOString(),
    downloadable: true,
  }),
  showPage(files, hasMore) {
    const ids = files.map(({ id }) => formatFileId(id));
    const [first = null, last = null] = [ids[0], ids.at(-1)];
    const next_page = hasMore ? last : null;
    return { data: files.map(this.show), first_id: first, last_id: last, has_more: hasMore, next_page };
  },
  showDeleted: (id) => ({ id: formatFileId(id), type: 'file_deleted' }),
  readUpload: (form, nowMs) => ({
    purpose: PURPOSE,
    expiresAtMs: readExpiry(form.field('expires_in_seconds'), 'expires_in_seconds', nowMs),
  }),
  readPage(query) {
    const ids = [...query.getAll('ids'), ...query.getAll('ids[]')];
    if (ids.length > IDS_MAX) throw wrong('ids', `List should have at most ${IDS_MAX} items`);
    const [after, before] = [query.get('page') ?? query.get('after_id'), query.get('before_id')];
    if (after !== null && before !== null) throw wrong('before_id', 'cannot be combined with after_id');
    return { order: 'desc', after, before, ids: ids.length === 0 ? null : ids, purpose: null };
  },
};

const openai: FileForm = {
  limits: { most: 10_000, usual: 10_000 },
  after: 'after',
  show: ({ id, createdAtMs, dueAtMs, bytes, name, purpose }) => ({
    object: 'file',
    id: formatOpenAiFileId(id),
    bytes,
    created_at: Math.floor(createdAtMs / SECOND_MS),
    expires_at: dueAtMs === null ? null : Math.floor(dueAtMs / SECOND_MS),
    filename: name,
    purpose,
    status: 'processed',
    status_details: null,
  }),
  showPage(files, hasMore) {
    const ids = files.map(({ id }) => formatOpenAiFileId(id));
    const [first = null, last = null] = [ids[0], ids.at(-1)];
    return { object: 'list', data: files.map(this.show), first_id: first, last_id: last, has_more: hasMore };
  },
  showDeleted: (id) => ({ id: formatOpenAiFileId(id), object: 'file', deleted: true }),
  readUpload(form, nowMs) {
    const purpose = form.field('purpose');
    if (purpose === null) throw wrong('purpose', 'Field required');
    if (!PURPOSES.includes(purpose)) throw wrong('purpose', `Input should be one of ${PURPOSES.join(', ')}`);
    const anchor = form.field('expires_after[anchor]');
    const seconds = form.field('expires_after[seconds]');
    if (anchor !== null && anchor !== 'created_at') throw wrong('expires_after.anchor', "Input should be 'created_at'");
    const usual = purpose === 'batch' ? nowMs + BATCH_FILE_LIFE_MS : null;
    return { purpose, expiresAtMs: readExpiry(seconds, 'expires_after.seconds', nowMs) ?? usual };
  },
  readPage(query) {
    const order = query.get('order') ?? 'desc';
    if (order !== 'asc' && order !== 'desc') throw wrong('order', "Input should be 'asc' or 'desc'");
    return { order, after: query.get('after'), before: null, ids: null, purpose: query.get('purpose') };
  },
};

export function postFile(exchange: Exchange): Promise<EncodedReply> {
  return answer(exchange, async ({ files }, caller, form, context) => {
    using _slot = context.takeSlot();
    const { fileBytesMax } = context.settings;
    const company = topOf(caller);
    await files.requireRoom(company, 0);
    await using received = await exchange.readForm({ fileBytesMax, filesMax: 1 }, company);
    exchange.expect('slow-json'); // an object store may take minutes
    const { account, key } = await context.identifyAgain();
    const nowMs = exchange.dependencies.clock.nowMs();
    const file = received.file('file');
    if (file === null) throw wrong('file', 'Field required');
    const { purpose, expiresAtMs } = form.readUpload(received, nowMs);
    const owner = { accountId: account.id, companyId: company, keyId: key.id, onlyKeyId: null };
    const stored = { ...owner, name: nameOf(file), mediaType: mediaTypeOf(file), purpose, nowMs, expiresAtMs };
    return JSON.stringify(form.show(await files.create(stored, file.content)));
  });
}

export function listFiles(exchange: Exchange): Promise<EncodedReply> {
  return answer(exchange, async ({ files }, caller, form) => {
    const reader = readerOf(exchange, caller);
    const query = exchange.parameters();
    const { order, after, before, ids, purpose } = form.readPage(query);
    const find = (id: string) => files.find(id, reader).catch(orNull);
    if (ids !== null) {
      const found = await Promise.all([...new Set(ids)].map(find));
      return JSON.stringify(
        form.showPage(
          found.filter((file) => file !== null),
          false,
        ),
      );
    }
    const limit = readLimit(query.get('limit'), form.limits);
    const cursor = before ?? after;
    const place = cursor === null ? null : await find(cursor);
    if (cursor !== null && place === null) throw wrong(before === null ? form.after : 'before_id', 'No such file');
    // A page that ends before a file is read from there.
    const direction = before === null ? order : 'asc';
    const page = await files.list({ ...reader, purpose, order: direction, after: place, limit: limit + 1 });
    const shown = page.slice(0, limit);
    return JSON.stringify(form.showPage(before === null ? shown : shown.reverse(), page.length > limit));
  });
}

export function getFile(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async ({ files }, caller, form) =>
    JSON.stringify(form.show(await files.find(id, readerOf(exchange, caller)))),
  );
}

export function getFileContent(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async ({ files }, caller) => {
    const file = await files.find(id, readerOf(exchange, caller));
    const headers = {
      'content-type': file.mediaType,
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    };
    if (exchange.request.method === 'HEAD') return { status: 200, headers, body: '' };
    return { status: 200, headers, body: sendPieces(exchange, await files.read(file)) };
  });
}

export function deleteFile(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async ({ files }, caller, form) => {
    const file = await files.find(id, readerOf(exchange, caller));
    await files.delete(file);
    return JSON.stringify(form.showDeleted(file.id));
  });
}

type Context = Parameters<Parameters<FileEndpoints['answerCaller']>[1]>[2];

/** Answers the caller in the form of the client. Throws route_not_found if there are no files here. */
async function answer(
  exchange: Exchange,
  work: (
    endpoints: FileEndpoints,
    caller: Caller,
    form: FileForm,
    context: Context & { settings: { fileBytesMax: number } },
  ) => Promise<string | EncodedReply>,
): Promise<EncodedReply> {
  const endpoints = exchange.dependencies.files;
  if (endpoints === undefined) throw new TurnpikeError('route_not_found', 'Files are not offered here.');
  const form = exchange.front === null ? anthropic : openai;
  return endpoints.answerCaller<EncodedReply['body']>(exchange.open(), (caller, { settings }, context) =>
    work(endpoints, caller, form, { ...context, settings }),
  );
}

function readerOf(exchange: Exchange, { account, key }: Caller): FileReader {
  return { accountId: account.id, keyId: key.id, nowMs: exchange.dependencies.clock.nowMs() };
}

/** The socket may be idle only while the client does not read. */
async function* sendPieces(exchange: Exchange, pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  exchange.expect('stream');
  try {
    yield* pieces;
  } finally {
    exchange.expect('end');
  }
}

function wrong(path: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${path}: ${sentence}`);
}

function orNull(failure: unknown): null {
  if (failure instanceof TurnpikeError && failure.code === 'object_not_found') return null;
  throw failure;
}

function readExpiry(text: string | null, path: string, nowMs: number): number | null {
  if (text === null) return null;
  const seconds = parseWholeNumber(text);
  const { least, most } = EXPIRES_AFTER_SECONDS;
  if (seconds === null || seconds < least || seconds > most)
    throw wrong(path, `Input should be a whole number from ${least} to ${most}`);
  return nowMs + seconds * SECOND_MS;
}

function readLimit(text: string | null, { most, usual }: FileForm['limits']): number {
  if (text === null) return usual;
  const limit = parseWholeNumber(text);
  if (limit === null || limit < 1 || limit > most)
    throw wrong('limit', `Input should be a whole number from 1 to ${most}`);
  return limit;
}

/** Without what could end a header or hide the rest of the name. */
function nameOf({ name }: FormFile): string {
  const plain = [...name.replaceAll(/[\p{C}/\\]/gu, '').trim()].slice(0, NAME_CHARACTERS_MAX).join('');
  return plain === '' ? 'file' : plain;
}

/** Many clients send none for a file that they know by its name only. */
function mediaTypeOf({ name, mediaType }: FormFile): string {
  const given = /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) && mediaType.length <= MEDIA_TYPE_CHARACTERS_MAX;
  if (given && mediaType !== UNKNOWN_TYPE) return mediaType;
  return Bun.file(name).type.split(';')[0] || UNKNOWN_TYPE;
}
