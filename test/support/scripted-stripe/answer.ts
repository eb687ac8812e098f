// The API of the scripted Stripe: form bodies, keys, idempotency, expansion, lists. One request at a time changes the
// state, as Stripe's locks make it.

import { paymentsOf } from './invoices.ts';
import { routes } from './routes.ts';
import {
  ApiError,
  type Charge,
  type Invoice,
  invalid,
  type StripeObject,
  type StripeState,
  withoutHidden,
} from './state.ts';

/** A decoded form: texts, objects and arrays. */
export type Form = { [name: string]: FormValue };
export type FormValue = string | Form | FormValue[];

export interface ApiRequest {
  method: string;
  path: string;
  /** Query of a GET, body of a POST. */
  form: string;
  headers: Headers;
}

export interface ApiAnswer {
  status: number;
  body: string;
  headers: Record<string, string>;
}

/** A list before it is cut into pages: newest first. */
export class Listing {
  readonly rows: StripeObject[];
  constructor(rows: StripeObject[]) {
    this.rows = rows;
  }
}

interface StoredAnswer {
  fingerprint: string;
  storedAt: number;
  /** Null while the first request is in progress. */
  answer: ApiAnswer | null;
}

/** Stripe keeps keys for at least a day. */
const KEY_SECONDS = 24 * 3600;

export class StripeApi {
  readonly #state: StripeState;
  readonly #secretKey: string;
  readonly #stored = new Map<string, StoredAnswer>();
  readonly #direct = new Map<string, { fingerprint: string; storedAt: number; answer: object | ApiError }>();
  #requests = 0;
  /** All requests, as "POST /v1/customers". */
  readonly log: string[] = [];

  constructor(state: StripeState, secretKey: string) {
    this.#state = state;
    this.#secretKey = secretKey;
  }

  /** Answers a request. `hold` delays the answer while the idempotency key is taken, for tests of concurrency. */
  async answer(request: ApiRequest, hold: () => Promise<void> = async () => {}): Promise<ApiAnswer> {
    const { method, path, headers } = request;
    this.log.push(`${method} ${path}`);
    const id = `req_${String(++this.#requests).padStart(10, '0')}`;
    if (headers.get('authorization') !== `Bearer ${this.#secretKey}`)
      return errorAnswer(id, new ApiError(401, { type: 'invalid_request_error', message: 'Invalid API Key provided' }));
    const key = method === 'POST' || method === 'DELETE' ? headers.get('idempotency-key') : null;
    if (key === null) {
      await hold();
      return this.#run(request, id).answer;
    }
    if (key.length > 255) return errorAnswer(id, invalid('Idempotency keys are at most 255 characters.'));
    return this.#runOnce(request, id, key, hold);
  }

  async #runOnce(request: ApiRequest, id: string, key: string, hold: () => Promise<void>): Promise<ApiAnswer> {
    const fingerprint = `${request.method} ${request.path} ${request.form}`;
    const stored = this.#stored.get(key);
    if (stored !== undefined && this.#state.now() - stored.storedAt < KEY_SECONDS) {
      if (stored.fingerprint !== fingerprint) {
        const message = `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`;
        return errorAnswer(id, new ApiError(400, { type: 'idempotency_error', message }));
      }
      if (stored.answer === null) {
        const message = `There is currently another in-progress request using this Idempotent Key (${key}).`;
        return errorAnswer(
          id,
          new ApiError(409, { type: 'idempotency_error', code: 'idempotency_key_in_use', message }),
        );
      }
      return { ...stored.answer, headers: { ...stored.answer.headers, 'idempotent-replayed': 'true' } };
    }
    const slot: StoredAnswer = { fingerprint, storedAt: this.#state.now(), answer: null };
    this.#stored.set(key, slot);
    await hold();
    const { answer, isStored } = this.#run(request, id);
    if (isStored) slot.answer = answer;
    else this.#stored.delete(key);
    return answer;
  }

  /** Makes the API repeat an internal error under this request's key, although the request was carried out. */
  async breakAnswer(request: ApiRequest): Promise<ApiAnswer> {
    await this.answer(request);
    const broken = errorAnswer('req_broken', INTERNAL);
    const key = request.headers.get('idempotency-key');
    const slot = key === null ? undefined : this.#stored.get(key);
    if (slot !== undefined) slot.answer = broken;
    return broken;
  }

  /**
   * A request without its texts: for very many of them. Throws ApiError. `isBroken`: it is carried out, and then answered
   * with an internal error, as is every repetition.
   */
  runDirect(
    method: string,
    path: string,
    form: Form,
    expand: readonly string[],
    key: string | undefined,
    isBroken: boolean,
  ): object {
    const run = () => {
      const shown = execute(this.#state, method, path, form, splitPaths(expand));
      if (isBroken) throw INTERNAL;
      return shown;
    };
    if (key === undefined) return run();
    const fingerprint = `${method} ${path} ${JSON.stringify(form)}`;
    const stored = this.#direct.get(key);
    if (stored !== undefined && this.#state.now() - stored.storedAt < KEY_SECONDS) {
      if (stored.fingerprint !== fingerprint)
        throw new ApiError(400, { type: 'idempotency_error', message: 'The parameters are others.' });
      if (stored.answer instanceof ApiError) throw stored.answer;
      return structuredClone(stored.answer);
    }
    const slot = { fingerprint, storedAt: this.#state.now() };
    try {
      const answer = run();
      this.#direct.set(key, { ...slot, answer: structuredClone(answer) });
      return answer;
    } catch (error) {
      if (error instanceof ApiError && error.isStored) this.#direct.set(key, { ...slot, answer: error });
      throw error;
    }
  }

  #run({ method, path, form: text }: ApiRequest, id: string): { answer: ApiAnswer; isStored: boolean } {
    try {
      const { expand, ...form } = decodeForm(text);
      const paths = splitPaths(Array.isArray(expand) ? expand.map(String) : []);
      return { answer: jsonAnswer(200, id, execute(this.#state, method, path, form, paths)), isStored: true };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { answer: errorAnswer(id, error), isStored: error.isStored };
    }
  }
}

const INTERNAL = new ApiError(500, { type: 'api_error', message: 'An unknown error occurred' });

function execute(state: StripeState, method: string, path: string, form: Form, expand: string[][]): object {
  const found = match(method, path);
  if (found === null) throw invalid(`Unrecognized request URL (${method}: ${path}).`, undefined, 404);
  const result = found.run(state, form, found.id);
  return result instanceof Listing ? page(state, result, form, path, expand) : render(state, result, expand);
}

export function errorAnswer(id: string, { status, body }: ApiError): ApiAnswer {
  return jsonAnswer(status, id, { error: body });
}

function jsonAnswer(status: number, id: string, body: unknown): ApiAnswer {
  return {
    status,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'request-id': id, 'stripe-version': '2026-10-28.endive' },
  };
}

type Run = (state: StripeState, form: Form, id: string) => object | Listing;

/** "POST /v1/invoices/{id}/pay" → what runs, with the id. */
function match(method: string, path: string): { run: Run; id: string } | null {
  const plain = routes[`${method} ${path}`];
  if (plain !== undefined) return { run: plain, id: '' };
  const parts = path.split('/');
  const run = routes[`${method} ${[...parts.slice(0, 3), '{id}', ...parts.slice(4)].join('/')}`];
  if (run !== undefined && parts[3] !== undefined) return { run, id: decodeURIComponent(parts[3]) };
  const nested = routes[`${method} ${[...parts.slice(0, 4), '{id}', ...parts.slice(5)].join('/')}`];
  return nested !== undefined && parts[4] !== undefined ? { run: nested, id: decodeURIComponent(parts[4]) } : null;
}

/** "a[b][0][c]=x" → { a: { b: [{ c: 'x' }] } } */
export function decodeForm(text: string): Form {
  const root: Form = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = [...name.matchAll(/[^[\]]+/g)].map(([part]) => part);
    let place: Form = root;
    path.slice(0, -1).forEach((part) => {
      place[part] ??= {};
      place = place[part] as Form;
    });
    place[path.at(-1) ?? ''] = value;
  }
  return withArrays(root) as Form;
}

function withArrays(value: FormValue): FormValue {
  if (typeof value === 'string') return value;
  const members = Object.entries(value).map(([name, member]) => [name, withArrays(member)] as const);
  const isArray = members.length > 0 && members.every(([name], at) => name === String(at));
  return isArray ? members.map(([, member]) => member) : Object.fromEntries(members);
}

function splitPaths(paths: readonly string[]): string[][] {
  return paths.map((path) => {
    const parts = path.split('.');
    if (parts.length > 4) throw invalid(`You cannot expand more than 4 levels of a property: ${path}`);
    return parts;
  });
}

function page(state: StripeState, { rows }: Listing, form: Form, path: string, expand: string[][]): object {
  const limit = Number(form['limit'] ?? 10);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw invalid('Invalid integer: limit');
  const after = form['starting_after'];
  const created = form['created'];
  const range = typeof created === 'object' && !Array.isArray(created) ? created : {};
  const chosen = rows.filter((row) => {
    if (!('created' in row)) return true;
    return row.created >= Number(range['gte'] ?? 0) && row.created < Number(range['lt'] ?? Number.MAX_SAFE_INTEGER);
  });
  const from = after === undefined ? 0 : chosen.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) throw invalid(`No such object: '${String(after)}'`, 'resource_missing');
  const data = chosen.slice(from, from + limit);
  const ofRows = expand.map((parts) => {
    if (parts[0] !== 'data') throw invalid(`This property cannot be expanded (${parts.join('.')}).`);
    return parts.slice(1);
  });
  const hasMore = from + limit < chosen.length;
  return { object: 'list', url: path, has_more: hasMore, data: data.map((row) => render(state, row, ofRows)) };
}

/** The object as the API shows it, with the properties that were asked for. It shares members with the state. */
export function render(state: StripeState, object: object, expand: string[][] = []): object {
  const shown: Record<string, unknown> = withoutHidden(object as StripeObject);
  const heads = new Map<string, string[][]>();
  for (const [head = '', ...rest] of expand) {
    const tails = heads.get(head) ?? [];
    if (rest.length > 0) tails.push(rest);
    heads.set(head, tails);
  }
  for (const [head, tails] of heads) shown[head] = expandMember(state, object, shown, head, tails);
  return shown;
}

function expandMember(
  state: StripeState,
  object: object,
  shown: Record<string, unknown>,
  head: string,
  tails: string[][],
): unknown {
  const kind = 'object' in object ? object.object : '';
  if (kind === 'charge' && head === 'refunds') {
    const { id } = object as Charge;
    const refunds = [...state.refunds.values()].filter(({ charge }) => charge === id).reverse();
    return listOf(state, refunds.slice(0, 10), refunds.length > 10, tails);
  }
  if (kind === 'invoice' && head === 'payments')
    return listOf(state, paymentsOf(state, object as Invoice), false, tails);
  const value = shown[head];
  if (value === undefined) throw invalid(`This property cannot be expanded (${head}).`);
  if (value === null) return null;
  if (typeof value === 'object') return render(state, value, tails);
  const found = state.find(String(value));
  if (found === undefined) throw invalid(`This property cannot be expanded (${head}).`);
  return render(state, found, tails);
}

function listOf(state: StripeState, rows: object[], has_more: boolean, tails: string[][]): object {
  const ofRows = tails.map((parts) => parts.slice(1)).filter((parts) => parts.length > 0);
  return { object: 'list', url: '', has_more, data: rows.map((row) => render(state, row, ofRows)) };
}
