// A request before it is bytes: what mutations change, one after the other. A draft that nothing changed is valid.

import { Chance } from '../simulation/chance.ts';

export interface HeaderLine {
  name: string;
  colon: string;
  /** In Latin-1; null is the length of the body. */
  value: string | null;
  end: string;
}

export interface Draft {
  method: string;
  target: string;
  version: string;
  requestLineEnd: string;
  headers: HeaderLine[];
  headEnd: string;
  body: Buffer<ArrayBufferLike>;
  /** Encodes the body as it goes out; null sends it as it is. */
  encode: ((body: Buffer) => Buffer) | null;
  /** Applied to all bytes, in order. */
  rewrites: ((bytes: Buffer) => Buffer)[];
}

/** Who the requests come from. */
export interface Secrets {
  key: string;
  ownerToken: string;
}

/** Stands in every body of a draft, and in no other request's. */
export function markOf(visit: number, request: number): string {
  return `mark-${visit}-${request}-`;
}

export const MARK = /mark-(\d+)-(\d+)-/g;

const MODELS: readonly string[] = [
  ...Array(8).fill('sandbox-echo'),
  ...Array(3).fill('sandbox-lorem'),
  'sandbox-tool',
  'sandbox-thinking',
  'sandbox-cut',
  'sandbox-slow',
  'sandbox-error-400',
  'sandbox-error-401',
  'sandbox-error-429',
  'sandbox-error-500',
  'sandbox-error-503',
  'sandbox-error-529',
  'sandbox-none',
];

type Kind = (chance: Chance, secrets: Secrets, mark: string) => Draft;

const kinds: Record<string, Kind> = {
  messages: (chance, { key }, mark) =>
    post(chance.is(0.9) ? '/v1/messages' : '/messages', { 'x-api-key': key }, messageBody(chance, mark)),
  'count-tokens': (chance, { key }, mark) =>
    post('/v1/messages/count_tokens', { 'x-api-key': key }, messageBody(chance, mark)),
  chat: (chance, { key }, mark) =>
    post('/v1/chat/completions', { authorization: `Bearer ${key}` }, chatBody(chance, mark)),
  read: (chance, { key }) =>
    draft(
      chance.pick(['GET', 'GET', 'HEAD']),
      chance.pick(['/v1/models', '/v1/models/sandbox-echo', '/v1/key', '/v1/usage/req_0', '/v1/usage/', '/']),
      { 'x-api-key': key },
    ),
  preflight: (chance) =>
    draft('OPTIONS', chance.pick(['/v1/messages', '/v1/models', '/api/v1/keys', '*']), {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-api-key,content-type',
    }),
  probe: (chance) => draft(chance.pick(['GET', 'HEAD']), chance.pick(['/healthz', '/readyz', '/metrics']), {}),
  admin: (chance, { ownerToken }) => {
    const headers = { authorization: `Bearer ${ownerToken}` };
    const path = chance.pick(['me', 'accounts', 'keys', 'usage', 'usage/totals', 'models', 'openapi.json', 'none']);
    if (chance.is(0.6)) return draft('GET', `/api/v1/${path}`, headers);
    return post(
      chance.pick(['/api/v1/keys', '/api/v1/apply', '/api/v1/accounts', '/api/v1/auth/sign-in/email']),
      headers,
      { name: 'fuzz' },
    );
  },
  console: (chance) => draft('GET', chance.pick(['/console/', '/console', '/console/x.js', '/console/../api']), {}),
};

const KINDS: readonly string[] = [
  ...Array(10).fill('messages'),
  ...Array(2).fill('count-tokens'),
  ...Array(4).fill('chat'),
  ...Array(2).fill('read'),
  'preflight',
  'probe',
  ...Array(2).fill('admin'),
  'console',
];

export function pickKind(chance: Chance): string {
  return chance.pick(KINDS);
}

/** The valid request of a kind; the same for the same seed. */
export function makeDraft(kind: string, seed: number, secrets: Secrets, mark: string): Draft {
  return (kinds[kind] as Kind)(new Chance(seed), secrets, mark);
}

export function renderDraft(draft: Draft): Buffer {
  const length = String(draft.body.byteLength);
  const lines = draft.headers.map(({ name, colon, value, end }) => `${name}${colon}${value ?? length}${end}`);
  const head = `${draft.method} ${draft.target}${draft.version}${draft.requestLineEnd}${lines.join('')}${draft.headEnd}`;
  let bytes: Buffer = Buffer.concat([Buffer.from(head, 'latin1'), draft.encode?.(draft.body) ?? draft.body]);
  for (const rewrite of draft.rewrites) bytes = rewrite(bytes);
  return bytes;
}

export function line(name: string, value: string | null): HeaderLine {
  return { name, colon: ': ', value, end: '\r\n' };
}

function draft(method: string, target: string, headers: Record<string, string>): Draft {
  return {
    method,
    target,
    version: ' HTTP/1.1',
    requestLineEnd: '\r\n',
    headers: [line('host', '127.0.0.1'), ...Object.entries(headers).map(([name, value]) => line(name, value))],
    headEnd: '\r\n',
    body: Buffer.alloc(0),
    encode: null,
    rewrites: [],
  };
}

function post(target: string, headers: Record<string, string>, body: object): Draft {
  const made = draft('POST', target, { ...headers, 'content-type': 'application/json' });
  made.headers.push(line('content-length', null));
  made.body = Buffer.from(JSON.stringify(body));
  return made;
}

function messageBody(chance: Chance, mark: string): object {
  const model = chance.pick(MODELS);
  const body: Record<string, unknown> = {
    model,
    max_tokens: model === 'sandbox-lorem' ? chance.between(1, 400) : chance.between(1, 2_000),
    messages: [{ role: 'user', content: mark + words(chance) }],
  };
  if (chance.is(0.5)) body['stream'] = true;
  if (chance.is(0.1)) body['system'] = 'Answer in one sentence.';
  if (model === 'sandbox-tool' || chance.is(0.05))
    body['tools'] = [{ name: 'look', input_schema: { type: 'object', properties: { at: { type: 'string' } } } }];
  return body;
}

function chatBody(chance: Chance, mark: string): object {
  const body: Record<string, unknown> = {
    model: chance.pick(MODELS),
    max_tokens: chance.between(1, 400),
    messages: [{ role: 'user', content: mark + words(chance) }],
  };
  if (chance.is(0.5)) body['stream'] = true;
  if (chance.is(0.2)) body['stream_options'] = { include_usage: true };
  return body;
}

/** Now and then more than one read of a socket brings, and more than is read in one go. */
function words(chance: Chance): string {
  const length = chance.is(0.03) ? chance.between(130_000, 400_000) : chance.is(0.1) ? 20_000 : chance.between(0, 300);
  return 'Good morning! '.repeat(Math.ceil(length / 14)).slice(0, length);
}
