// Files, batches and goods as the people of a company use them: over the public API, with any ids that they know or guess. What each asked
// for is noted, so that the judge can compare it with what was billed and shown.

import { assert } from '../../../../src/base/assert.ts';
import { parseFileId } from '../../../../src/files/files.ts';
import { handlePublic } from '../../../../src/public-api/public-api.ts';
import { hashSecret } from '../../../../src/secrets/secrets.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import type { Wanted } from '../answers.ts';
import { bodyOf } from '../bodies.ts';
import { type BulkWish, bodyOfBulk } from './bulk.ts';
import { bodyOfGoods, formOfSound, type Wish as GoodsWish, pathOfGoods } from './goods.ts';
import type { AskObject, MakeBatch, Upload } from './moves.ts';
import type { CompanyWorld } from './world.ts';

const connection = { address: '127.0.0.1', isTls: false, setIdleSeconds() {} };
const WISH = /wish-(\d{5})/;
const OPENAI_PATHS = { chat: '/v1/chat/completions', images: pathOfGoods.images, moderations: pathOfGoods.moderation };

/** A request of a batch. */
export interface Wish {
  batch: SentBatch;
  /** null: it is none that can be answered. */
  wanted: Wanted | null;
  goods: GoodsWish | null;
  bulk: BulkWish | null;
  customId: string;
}

export interface SentBatch {
  key: number;
  isBeside: boolean;
  /** The public id; null: it was not made, or not yet. */
  id: string | null;
  wishes: Wish[];
}

/** Something of the kind of goods, asked for without a batch. */
export interface SentGoods {
  wish: GoodsWish;
  requestId: string | null;
  status: number | null;
}

export interface Answered {
  /** The id of the key; 0: there is none with this secret. */
  key: number;
  path: string;
  status: number;
  text: string;
}

export class Objects {
  readonly wishes: Wish[] = [];
  readonly batches: SentBatch[] = [];
  readonly goods: SentGoods[] = [];
  /** Files that clients have asked to delete. */
  readonly filesToDelete = new Set<number>();
  /** The wish of each message of a batch, and its claim: a file may have several batches. */
  readonly asked = new Map<string, { wish: Wish; claim: string }>();
  readonly #world: CompanyWorld;
  readonly #onAnswer: (secret: string, answered: Answered) => void;
  /** Keys by the marks in what they make. */
  readonly #marks: number[] = [];

  /** `onAnswer`: called for each answer, which others than messages get. */
  constructor(world: CompanyWorld, onAnswer: (secret: string, answered: Answered) => void) {
    this.#world = world;
    this.#onAnswer = onAnswer;
  }

  keyOfMark(mark: string): number {
    return this.#marks[Number(mark)] ?? 0;
  }

  wantedOf(requestId: string, body: JsonObject): Wanted {
    const wish = this.wishes[Number(WISH.exec(JSON.stringify(body))?.[1])];
    assert(wish !== undefined && wish.wanted !== null, 'a message that nobody sent is of a batch');
    const claim = this.#world.tables.holds.get(requestId)?.claim ?? null;
    if (claim !== null) this.asked.set(requestId, { wish, claim });
    return wish.wanted;
  }

  makeBatch(secret: string, { form, items, odd }: MakeBatch, isBeside = false): void {
    const mark = this.#markOf(secret);
    const batch: SentBatch = { key: this.#keyOf(secret), isBeside, id: null, wishes: [] };
    this.batches.push(batch);
    const lines = items.map((item, at) => {
      const place = this.wishes.length;
      const customId = odd === 'twice' && at > 0 ? (batch.wishes[0]?.customId ?? '') : `item-${mark}-${place}`;
      const wish: Wish = {
        batch,
        customId,
        wanted: 'model' in item ? item : null,
        goods: 'use' in item ? item : null,
        bulk: 'bulk' in item ? item : null,
      };
      this.wishes.push(wish);
      batch.wishes.push(wish);
      return { custom_id: customId, body: this.#bodyOf(wish, place, odd) };
    });
    const made = ({ status, text }: Answered) => {
      if (status === 200) batch.id = (JSON.parse(text) as { id: string }).id;
    };
    if (form === 'messages') {
      const requests = lines.map(({ custom_id, body }) => ({ custom_id, params: body }));
      this.#ask(secret, 'POST', '/v1/messages/batches', { requests }, made);
      return;
    }
    const url = OPENAI_PATHS[form];
    const text = lines.map((line) => JSON.stringify({ ...line, method: 'POST', url })).join('\n');
    this.#upload(secret, text, 'batch', ({ status, text: answer }) => {
      if (status !== 200) return;
      const { id } = JSON.parse(answer) as { id: string };
      const asked = { input_file_id: id, endpoint: url, completion_window: '24h', metadata: { of: `own-${mark}` } };
      this.#ask(secret, 'POST', '/v1/batches', asked, made);
    });
  }

  #bodyOf({ wanted, goods, bulk }: Wish, place: number, odd: MakeBatch['odd']): object {
    if (goods !== null) return bodyOfGoods(goods) ?? {};
    const words = `wish-${String(place).padStart(5, '0')}`;
    if (bulk !== null) return bodyOfBulk(bulk, words);
    assert(wanted !== null, 'a wish is for a message or for goods');
    const body = bodyOf({ wanted: { ...wanted, prompt: [...wanted.prompt] }, isStream: odd === 'streamed' });
    const [message] = body.messages;
    const content = `${message?.content} ${words}`;
    const asked = { ...body, messages: [{ role: 'user', content }] };
    return odd === 'unknown' ? { ...asked, model: 'no-such-model' } : asked;
  }

  /** Makes a batch of a file that exists already, of any key. */
  reuse(secret: string, fileId: string): void {
    const asked = { input_file_id: fileId, endpoint: OPENAI_PATHS.chat, completion_window: '24h' };
    this.#ask(secret, 'POST', '/v1/batches', asked);
  }

  upload(secret: string, { bytes, purpose, seconds }: Upload): void {
    const text = `own-${this.#markOf(secret)} ${'x'.repeat(bytes)}`;
    this.#upload(secret, text, purpose, () => {}, seconds);
  }

  #upload(
    secret: string,
    text: string,
    purpose: string,
    onAnswer: (answered: Answered) => void,
    seconds: number | null = null,
  ): void {
    const form = new FormData();
    form.set('purpose', purpose);
    form.set('file', new File([text], `own-${this.#markOf(secret)}.jsonl`));
    if (seconds !== null) {
      form.set('expires_after[anchor]', 'created_at');
      form.set('expires_after[seconds]', String(seconds));
    }
    this.#ask(secret, 'POST', '/v1/files', form, onAnswer);
  }

  buy(secret: string, wish: GoodsWish): void {
    const sent: SentGoods = { wish, requestId: null, status: null };
    this.goods.push(sent);
    const body = bodyOfGoods(wish) ?? formOfSound(wish);
    this.#ask(secret, 'POST', pathOfGoods[wish.use], body, ({ status }, requestId) => {
      Object.assign(sent, { status, requestId });
    });
  }

  ask(secret: string, { what }: AskObject, id: string): void {
    const [method, path] = REQUESTS[what];
    if (what === 'delete file') this.filesToDelete.add(parseFileId(id) ?? 0);
    const url = path.replace('{id}', encodeURIComponent(id)).replace('{batch}', id.replace('msgbatch_', 'batch_'));
    this.#ask(secret, method, url, null);
  }

  #ask(
    secret: string,
    method: string,
    path: string,
    body: object | null,
    onAnswer: (answered: Answered, requestId: string | null) => void = () => {},
  ): void {
    const isForm = body instanceof FormData;
    const isOpenAi = !path.includes('/messages/') && !path.includes('beta');
    const given = body === null ? {} : { body: isForm ? body : JSON.stringify(body) };
    const request = new Request(`http://economy${path}`, { method, ...given });
    if (isOpenAi) request.headers.set('authorization', `Bearer ${secret}`);
    else request.headers.set('x-api-key', secret);
    if (body !== null && !isForm) request.headers.set('content-type', 'application/json');
    const key = this.#keyOf(secret);
    Promise.resolve(handlePublic(request, connection, this.#world.dependencies)).then(async (response) => {
      const answered = { key, path, status: response.status, text: await response.text().catch(String) };
      onAnswer(answered, response.headers.get('request-id') ?? response.headers.get('x-request-id'));
      this.#onAnswer(secret, answered);
    });
  }

  #keyOf(secret: string): number {
    return this.#world.tables.keySecrets.get(hashSecret(secret))?.keyId ?? 0;
  }

  #markOf(secret: string): string {
    const key = this.#keyOf(secret);
    const known = this.#marks.indexOf(key);
    const place = known >= 0 ? known : this.#marks.push(key) - 1;
    return String(place).padStart(4, '0');
  }
}

export const REQUESTS = {
  'list batches': ['GET', '/v1/messages/batches?limit=100'],
  'list batches of files': ['GET', '/v1/batches'],
  'get batch': ['GET', '/v1/messages/batches/{id}'],
  'get batch of file': ['GET', '/v1/batches/{batch}'],
  results: ['GET', '/v1/messages/batches/{id}/results'],
  cancel: ['POST', '/v1/messages/batches/{id}/cancel'],
  'cancel batch of file': ['POST', '/v1/batches/{batch}/cancel'],
  'delete batch': ['DELETE', '/v1/messages/batches/{id}'],
  'list files': ['GET', '/v1/files'],
  'get file': ['GET', '/v1/files/{id}'],
  content: ['GET', '/v1/files/{id}/content'],
  'delete file': ['DELETE', '/v1/files/{id}'],
} as const satisfies Record<string, readonly [method: string, path: string]>;
