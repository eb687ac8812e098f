// Sends a message from the browser to the public API, as an application with the key would, and streams the response.

import { type Answer, applyEvent, emptyAnswer } from './answer.ts';

interface Sending {
  baseUrl: string;
  key: string;
  body: object;
  signal: AbortSignal;
  /** Called at most once per animation frame. */
  onAnswer: (answer: Answer) => void;
}

export interface Sent {
  answer: Answer;
  /** Null if no response started. */
  requestId: string | null;
  /** The time to the first content; null if there was none. */
  firstContentMs: number | null;
  totalMs: number;
}

/** The service rejected the message before a stream started. */
export class MessageRejected extends Error {
  readonly status: number;
  /** "unreachable" if there was no response. */
  readonly code: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, code: string, message: string, headers: Headers) {
    super(message);
    this.name = 'MessageRejected';
    this.status = status;
    this.code = code;
    this.requestId = headers.get('request-id');
    const after = Number(headers.get('retry-after') ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(after) ? after : null;
  }
}

/** Returns the complete response, or a partial one if it was stopped or interrupted. Rejects with MessageRefused. */
export async function sendMessage({ baseUrl, key, body, signal, onAnswer }: Sending): Promise<Sent> {
  const sentAtMs = performance.now();
  const response = await post(`${baseUrl}/v1/messages`, key, body, signal);
  if (!response.ok || response.body === null) throw await readRejection(response);
  let answer = emptyAnswer;
  let firstContentMs: number | null = null;
  let isOver = false;
  const show = oncePerFrame(() => {
    if (!isOver) onAnswer(answer); // a scheduled frame can come after the end
  });
  try {
    for await (const { text } of readEvents(response.body)) {
      const event = parsedObject(text);
      if (event === null) continue;
      if (event['type'] === 'content_block_delta') firstContentMs ??= performance.now() - sentAtMs;
      answer = applyEvent(answer, event);
      show();
    }
  } catch (cause) {
    if (!signal.aborted) answer = { ...answer, failure: { code: 'connection_broken', message: String(cause) } };
  }
  isOver = true;
  const requestId = response.headers.get('request-id');
  return { answer, requestId, firstContentMs, totalMs: performance.now() - sentAtMs };
}

/** Calls the public API with the key. Null unless the status is 200. */
export async function callWithKey<Shape>(
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

export async function post(url: string, key: string, body: object, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { ...headersOf(key), 'content-type': 'application/json' },
      body: JSON.stringify(body),
      credentials: 'omit', // the key alone authenticates the request
      signal,
    });
  } catch (cause) {
    if (signal.aborted) throw new MessageRejected(0, 'stopped', '', new Headers());
    throw new MessageRejected(0, 'unreachable', String(cause), new Headers());
  }
}

function headersOf(key: string): Record<string, string> {
  return {
    'x-api-key': key,
    'anthropic-version': '2023-06-01',
    'anthropic-dangerous-direct-browser-access': 'true',
  };
}

export async function readRejection(response: Response): Promise<MessageRejected> {
  const error = parsedObject(await response.text().catch(() => ''))?.['error'];
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  return new MessageRejected(
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

/** Limits updates to one per animation frame. */
function oncePerFrame(show: () => void): () => void {
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

export interface StreamEvent {
  /** "message" if the stream does not set it. */
  name: string;
  text: string;
}

/** The maximum length of an event in characters, which bounds memory. */
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024;

/** All complete events of the stream. Leaving the iteration cancels the stream. */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder(); // removes a byte order mark
  const takeText = makeEventReader();
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
      yield* takeText(decoder.decode(chunk.value, { stream: true }));
    yield* takeText(decoder.decode());
  } finally {
    // Not awaited: the result does not matter.
    reader.cancel().catch(() => {});
  }
}

/** Returns a function that takes the next chunk of text and returns the events that it completes. */
export function makeEventReader(): (text: string) => StreamEvent[] {
  let rest = '';
  let endedInReturn = false;
  let name = '';
  let lines: string[] = [];
  let characters = 0;

  const takeLine = (line: string): StreamEvent | null => {
    if (line === '') {
      const event = lines.length === 0 ? null : { name: name === '' ? 'message' : name, text: lines.join('\n') };
      [name, lines, characters] = ['', [], 0];
      return event;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon); // a comment starts with a colon and has no field name
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') name = value;
    if (field === 'data') lines.push(value);
    characters += line.length;
    return null;
  };

  return (text) => {
    // The second half of a CRLF whose first half ended the previous chunk.
    const piece = endedInReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') endedInReturn = piece.endsWith('\r');
    const ended = (rest + piece).split(/\r\n|\r|\n/);
    rest = ended.pop() ?? '';
    const events = ended.map(takeLine).filter((event) => event !== null);
    if (characters + rest.length > EVENT_CHARACTERS_MAX) throw new Error('an event of the stream is too long');
    return events;
  };
}
