// Sends a message from the browser straight to the service, as any application of the key would, and tells its answer
// as it comes.

import { type Answer, noAnswer, withEvent } from './message-blocks.ts';
import { readEvents } from './read-events.ts';

export interface Sending {
  baseUrl: string;
  key: string;
  body: object;
  signal: AbortSignal;
  /** At every event, at most once between two pictures of the screen. */
  onAnswer: (answer: Answer) => void;
}

export interface Sent {
  answer: Answer;
  /** Null where no answer began. */
  requestId: string | null;
  /** Until the first content came; null where none did. */
  firstContentMs: number | null;
  wholeMs: number;
}

/** What the service refused, before a stream began. */
export class MessageRefused extends Error {
  readonly status: number;
  /** "unreachable" where nothing answered. */
  readonly code: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, code: string, message: string, headers: Headers) {
    super(message);
    this.name = 'MessageRefused';
    this.status = status;
    this.code = code;
    this.requestId = headers.get('request-id');
    const after = Number(headers.get('retry-after') ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(after) ? after : null;
  }
}

/**
 * The answer at its end, or as far as it came when `signal` ended it or the connection broke. Rejects with
 * MessageRefused where there is none.
 */
export async function sendMessage({ baseUrl, key, body, signal, onAnswer }: Sending): Promise<Sent> {
  const sentAtMs = performance.now();
  const response = await post(`${baseUrl}/v1/messages`, key, body, signal);
  if (!response.ok || response.body === null) throw await refusalOf(response);
  let answer = noAnswer;
  let firstContentMs: number | null = null;
  let isOver = false;
  const show = onceAPicture(() => {
    if (!isOver) onAnswer(answer); // a picture that was due comes after the end
  });
  try {
    for await (const { text } of readEvents(response.body)) {
      const event = parsedObject(text);
      if (event === null) continue;
      if (event['type'] === 'content_block_delta') firstContentMs ??= performance.now() - sentAtMs;
      answer = withEvent(answer, event);
      show();
    }
  } catch (cause) {
    if (!signal.aborted) answer = { ...answer, failure: { code: 'connection_broken', message: String(cause) } };
  }
  isOver = true;
  const requestId = response.headers.get('request-id');
  return { answer, requestId, firstContentMs, wholeMs: performance.now() - sentAtMs };
}

/** Asked with the key itself, for what its holder may know of it. Null where the service does not tell. */
export async function askWithKey<Shape>(
  baseUrl: string,
  path: string,
  key: string,
  signal?: AbortSignal,
): Promise<Shape | null> {
  const response = await fetch(baseUrl + path, {
    headers: headersOf(key),
    credentials: 'omit',
    ...(signal !== undefined && { signal }),
  });
  return response.status === 200 ? ((await response.json()) as Shape) : null;
}

async function post(url: string, key: string, body: object, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { ...headersOf(key), 'content-type': 'application/json' },
      body: JSON.stringify(body),
      credentials: 'omit', // the key alone says who asks
      signal,
    });
  } catch (cause) {
    if (signal.aborted) throw new MessageRefused(0, 'stopped', '', new Headers());
    throw new MessageRefused(0, 'unreachable', String(cause), new Headers());
  }
}

function headersOf(key: string): Record<string, string> {
  return {
    'x-api-key': key,
    'anthropic-version': '2023-06-01',
    'anthropic-dangerous-direct-browser-access': 'true',
  };
}

async function refusalOf(response: Response): Promise<MessageRefused> {
  const error = parsedObject(await response.text().catch(() => ''))?.['error'];
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  return new MessageRefused(
    response.status,
    typeof code === 'string' ? code : 'unknown',
    typeof message === 'string' ? message : `${response.status} ${response.statusText}`,
    response.headers,
  );
}

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** A fast stream has more events than a screen has pictures; a page that is hidden has no pictures, and shows the end. */
function onceAPicture(show: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      show();
    });
  };
}
