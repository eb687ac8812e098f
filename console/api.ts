// Asks the admin API, and the sign-in beside it, with the session's cookie. One shape of failure for both.

import type { ErrorShape, PageShape } from '../src/admin-api/shapes.ts';

export interface Fault {
  path: (string | number)[];
  message: string;
}

export class ApiFailure extends Error {
  readonly status: number;
  /** What to branch on; "unreachable" where nothing answered. */
  readonly code: string;
  readonly faults: readonly Fault[];
  readonly requestId: string | null;
  /** Of the sign-in's failures, what lies behind their code; null elsewhere. */
  readonly reason: string | null;
  /** In how many seconds the same may be asked again; null where that is not said. */
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

  /** Whether the same may do better in a moment. */
  get mayPass(): boolean {
    return this.code === 'unreachable' || this.status >= 500;
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface Asked {
  method?: 'GET' | 'POST' | 'PATCH';
  query?: Query;
  body?: object;
  /** For what makes something: the same key makes it once, however often it is sent. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** The answer of the admin API; `path` begins below /api/v1, "/keys". Rejects with an ApiFailure. */
export function ask<Shape>(path: string, asked: Asked = {}): Promise<Shape> {
  return send<Shape>(`/api/v1${path}${queryText(asked.query)}`, asked);
}

/** The answer of the sign-in; `path` begins below /console/auth, "/sign-in/email". Rejects with an ApiFailure. */
export function askSignIn<Shape>(path: string, asked: Asked = {}): Promise<Shape> {
  return send<Shape>(`/console/auth${path}${queryText(asked.query)}`, asked);
}

/** Whether the console could be loaded anew now. */
export async function isServiceThere(): Promise<boolean> {
  try {
    return (await fetch('/console/', { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}

/** Every row of a list, page by page, at most `rowsMax`. */
export async function* askPages<Row>(
  path: string,
  query: Query,
  rowsMax: number,
  signal?: AbortSignal,
): AsyncGenerator<Row[]> {
  let cursor: string | null = null;
  let rowCount = 0;
  do {
    const page: PageShape<Row> = await ask<PageShape<Row>>(path, {
      query: { ...query, limit: Math.min(1000, rowsMax - rowCount), cursor },
      ...(signal !== undefined && { signal }),
    });
    rowCount += page.data.length;
    cursor = page.next_cursor;
    yield page.data;
  } while (cursor !== null && rowCount < rowsMax);
}

/** Without members that are null, undefined or empty. */
export function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

async function send<Shape>(url: string, { method, body, idempotencyKey, signal }: Asked): Promise<Shape> {
  let answer: Response;
  try {
    answer = await fetch(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      credentials: 'same-origin',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  } catch (failure) {
    if (signal?.aborted) throw failure;
    throw new ApiFailure(0, 'unreachable', String(failure), [], null);
  }
  const json = await readJson(answer);
  if (answer.ok) return json as Shape;
  throw failureOf(answer, json);
}

async function readJson(answer: Response): Promise<unknown> {
  const text = await answer.text();
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null; // a page of something that stands between; the status says enough
  }
}

/** The admin API's shape of an error, which the sign-in's errors have, too, with a reason. */
function failureOf(answer: Response, json: unknown): ApiFailure {
  const requestId = answer.headers.get('request-id');
  const { error } = (json ?? {}) as { error?: Partial<ErrorShape['error']> & { reason?: string } };
  const words = error?.message ?? `${answer.status} ${answer.statusText}`;
  const seconds = Number.parseInt(answer.headers.get('retry-after') ?? '', 10);
  return new ApiFailure(answer.status, error?.code ?? 'unknown', words, error?.faults ?? [], requestId, {
    reason: error?.reason ?? null,
    retryAfterSeconds: Number.isNaN(seconds) ? null : seconds,
  });
}
