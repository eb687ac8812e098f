// The table of public routes. The path alone selects the route; the `allow` header of a refusal lists its methods.

import { TurnpikeError } from '../errors.ts';
import type { Call, ClientRequest, MessageGateway, Reply } from './call.ts';
import { postChatCompletions } from './post-chat-completions.ts';

const CHAT_PATH = '/v1/chat/';
const MODELS_PATH = '/v1/models/';
const USAGE_PATH = '/v1/usage/';

const WITHOUT_VERSION = /^\/(?:messages|chat|models)(?:\/|$)/;

/** The canonical path: "//v1/v1/messages/" and "/messages" become "/v1/messages". */
export function normalPath(path: string): string {
  if (routes.has(path)) return path;
  const single = path.replace(/\/{2,}/g, '/').replace(/^(?:\/v1)+(?=\/|$)/, '/v1');
  const trimmed = single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
  return WITHOUT_VERSION.test(trimmed) ? `/v1${trimmed}` : trimmed;
}

/** Whether only OpenAI clients use the path. */
export function isForOpenAi(path: string): boolean {
  const normal = normalPath(path);
  return normal.startsWith(CHAT_PATH) || `${normal}/`.startsWith(MODELS_PATH);
}

/** Whether responses, including errors, have the Chat Completions format. */
export function isChatPath(path: string): boolean {
  return normalPath(path).startsWith(CHAT_PATH);
}

/** The decoded rest of a path after its prefix. Invalid percent-encoding is literal: no object has such a name. */
function restOf(path: string, beginning: string): string {
  const rest = normalPath(path).slice(beginning.length);
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}

function constant(value: object): () => Reply {
  const body = JSON.stringify(value);
  return () => ({ status: 200, headers: {}, body });
}

const READY = constant({ status: 'ready' });

async function getReadyz(call: Call): Promise<Reply> {
  const { dependencies } = call;
  if (dependencies.isLeaving())
    throw new TurnpikeError('draining', 'This server is shutting down.', { headers: { connection: 'close' } });
  let cause: unknown;
  try {
    if (await dependencies.isStoreAvailable()) return READY();
  } catch (thrown) {
    cause = thrown;
  }
  throw new TurnpikeError('store_unavailable', 'The store is not responding.', cause === undefined ? {} : { cause });
}

/** Throws content_type_unsupported unless the request declares JSON. */
export function requireJson(headers: Headers): void {
  const declared = headers.get('content-type');
  if (declared === 'application/json') return;
  const mediaType = (declared ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType === 'application/json' || /^[^/\s]+\/[^/\s]+\+json$/.test(mediaType)) return;
  throw new TurnpikeError('content_type_unsupported', 'content-type: must be application/json.');
}

/** May throw; `handlePublic` closes the call. */
type Handle = (call: Call) => Reply | Promise<Reply>;

function ask(method: 'listModels' | 'getKey'): Handle {
  return (call) => {
    call.open();
    return call.dependencies.messages[method](call);
  };
}

/** Passes the rest of the path after `prefix`, too. */
function askAbout(
  prefix: string,
  send: (messages: MessageGateway, request: ClientRequest, rest: string) => Promise<Reply>,
): Handle {
  return (call) => {
    call.open();
    return send(call.dependencies.messages, call, restOf(call.path, prefix));
  };
}

function askJson(method: 'submitMessage' | 'countTokens'): Handle {
  return (call) => {
    requireJson(call.request.headers);
    call.open();
    return call.dependencies.messages[method](call);
  };
}

/** Methods of a path. GET also answers HEAD. */
interface Route {
  method: 'GET' | 'POST';
  handle: Handle;
}

const get = (handle: Handle): Route => ({ method: 'GET', handle });
const post = (handle: Handle): Route => ({ method: 'POST', handle });

const showRoot = constant({ name: 'turnpike', messages: '/v1/messages' });

const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/messages', post(askJson('submitMessage'))],
  ['/v1/messages/count_tokens', post(askJson('countTokens'))],
  ['/v1/chat/completions', post(postChatCompletions)],
  ['/v1/models', get(ask('listModels'))],
  ['/v1/key', get(ask('getKey'))],
  ['/healthz', get(constant({ status: 'ok' }))],
  ['/readyz', get(getReadyz)],
  ['/', get(showRoot)],
  ['/api/hello', get(showRoot)],
]);
const routesOfOne: readonly [beginning: string, route: Route][] = [
  [MODELS_PATH, get(askAbout(MODELS_PATH, (messages, request, id) => messages.getModel(request, id)))],
  [USAGE_PATH, get(askAbout(USAGE_PATH, (messages, request, requestId) => messages.getUsage(request, requestId)))],
];

/** The route of a path without query, or null. */
export function findRoute(path: string): Route | null {
  const exact = routes.get(path);
  if (exact !== undefined) return exact;
  const normal = normalPath(path);
  return routes.get(normal) ?? routesOfOne.find(([beginning]) => normal.startsWith(beginning))?.[1] ?? null;
}

export function takesMethod(route: Route, method: string): boolean {
  return method === route.method || (method === 'HEAD' && route.method === 'GET');
}

export function allowedMethods(route: Route): string {
  return route.method === 'GET' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS';
}
