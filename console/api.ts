// Calls the admin API and the sign-in endpoints with the session cookie. Both fail with an ApiFailure.

import type { ErrorShape, PageShape } from '../src/admin-api/shapes.ts';
import type { Endpoints, ListPath, RowOf, SignInEndpoints } from './endpoints.ts';

interface Fault {
  path: (string | number)[];
  message: string;
}

export class ApiFailure extends Error {
  readonly status: number;
  /** The error code; "unreachable" if there was no response. */
  readonly code: string;
  readonly faults: readonly Fault[];
  readonly requestId: string | null;
  /** The underlying cause of a sign-in failure; otherwise null. */
  readonly reason: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    code: string,
    message: string,
    faults: readonly Fault[],
    requestId: string | null,
    { reason = null, retryAfterSeconds = null }: { reason?: string | null; retryAfterSeconds?: number | null } = {},
  ) {
    super(message);
    this.name = 'ApiFailure';
    this.status = status;
    this.code = code;
    this.faults = faults;
    this.requestId = requestId;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Whether a retry may succeed. */
  get isTemporary(): boolean {
    return this.code === 'unreachable' || this.status >= 500;
  }
}

/** Shown in place of the words of the browser. */
export const UNREACHABLE = 'The service is unreachable. Check that it is running and that you are connected.';

export type Query = Record<string, string | number | boolean | null | undefined>;

interface CallOptions {
  /** Replaces the placeholder of the path. */
  id?: string | undefined;
  query?: Query;
  body?: object;
  /** A retry with the same key returns the first response and creates nothing again. */
  idempotencyKey?: string;
  signal?: AbortSignal | undefined;
}

/** Calls the admin API. Rejects with an ApiFailure. */
export function call<Name extends keyof Endpoints>(name: Name, options: CallOptions = {}): Promise<Endpoints[Name]> {
  const [method = 'GET', path = ''] = name.split(' ');
  const filled = path.replace(/\{\w+\}/, encodeURIComponent(options.id ?? ''));
  return send<Endpoints[Name]>(method, `/api/v1${filled}${queryText(options.query)}`, options);
}

/** Calls a sign-in endpoint. Rejects with an ApiFailure. */
export function callSignIn<Name extends keyof SignInEndpoints>(
  name: Name,
  options: Pick<CallOptions, 'body' | 'signal'> = {},
): Promise<SignInEndpoints[Name]> {
  const [method = 'GET', path = ''] = name.split(' ');
  return send<SignInEndpoints[Name]>(method, `/console/auth${path}`, options);
}

export async function isServiceReachable(): Promise<boolean> {
  try {
    return (await fetch('/console/', { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}

/** Fetches the rows of a list page by page, at most `rowsMax`. */
export async function* fetchPages<Path extends ListPath>(
  path: Path,
  { id, query, signal }: CallOptions,
  rowsMax: number,
): AsyncGenerator<RowOf<Path>[]> {
  let cursor: string | null = null;
  let rowCount = 0;
  do {
    const limit = Math.min(1000, rowsMax - rowCount);
    const page: PageShape<unknown> = await call(`GET ${path}`, { id, query: { ...query, limit, cursor }, signal });
    rowCount += page.data.length;
    cursor = page.next_cursor;
    yield page.data as RowOf<Path>[];
  } while (cursor !== null && rowCount < rowsMax);
}

/** Omits members that are null, undefined or empty. */
function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

async function send<Shape>(method: string, url: string, { body, idempotencyKey, signal }: CallOptions): Promise<Shape> {
  let answer: Response;
  try {
    const early = method === 'GET' ? takeEarly(url) : undefined;
    answer = await (early ??
      fetch(url, {
        method,
        credentials: 'same-origin',
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal !== undefined && { signal }),
      }));
  } catch (failure) {
    if (signal?.aborted) throw failure;
    throw new ApiFailure(0, 'unreachable', String(failure), [], null);
  }
  const json = await readJson(answer);
  if (answer.ok) return json as Shape;
  throw failureOf(answer, json);
}

/** The answer of a request that was sent before the scripts had loaded. */
function takeEarly(url: string): Promise<Response> | undefined {
  const answer = globalThis.turnpikeAnswers.get(url);
  globalThis.turnpikeAnswers.delete(url);
  return answer;
}

async function readJson(answer: Response): Promise<unknown> {
  const text = await answer.text();
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null; // an error page of a proxy; the status is enough
  }
}

/** Reads the error shape of the admin API. Sign-in errors have the same shape and a reason. */
function failureOf(answer: Response, json: unknown): ApiFailure {
  const requestId = answer.headers.get('request-id');
  const { error } = (json ?? {}) as { error?: Partial<ErrorShape['error']> & { reason?: string } };
  const message = error?.message ?? `${answer.status} ${answer.statusText}`;
  const seconds = Number.parseInt(answer.headers.get('retry-after') ?? '', 10);
  return new ApiFailure(answer.status, error?.code ?? 'unknown', message, error?.faults ?? [], requestId, {
    reason: error?.reason ?? null,
    retryAfterSeconds: Number.isNaN(seconds) ? null : seconds,
  });
}

/**
 * Loads the script of a page. If the service is unreachable, rejects with an ApiFailure that the page can retry. If the
 * service responds, its scripts have new names; the router then reloads the console once.
 */
export async function loadPage<Page>(load: () => Promise<Page>): Promise<Page> {
  try {
    return await load();
  } catch (failure) {
    if (await isServiceReachable()) throw failure;
    throw new ApiFailure(0, 'unreachable', String(failure), [], null);
  }
}

/** Reloads the page if the service responds: some browsers do not request a failed script again. */
export async function reloadPage(): Promise<void> {
  if (await isServiceReachable()) window.location.reload();
}
