// The table of public routes. The path alone selects the route; the `allow` header of a refusal lists its methods.

import { TurnpikeError } from '../errors.ts';
import { type Front, findFront, type Operation, openAiBatches, type RequestHead } from '../fronts/fronts.ts';
import type { ClientRequest, Reply } from '../gateway/gateway.ts';
import {
  getAuthorizationServer,
  getDevice,
  getOAuthUsage,
  getSettings,
  postDeviceAuthorization,
  postRevoke,
  postTelemetry,
  postToken,
} from './agent-routes.ts';
import { answerFront } from './answer-front.ts';
import {
  cancelMessageBatch,
  deleteMessageBatch,
  getBatch,
  getMessageBatch,
  getMessageBatchResults,
  listBatches,
  listMessageBatches,
  postBatch,
  postCancelBatch,
  postMessageBatch,
} from './batch-routes.ts';
import type { MessageGateway } from './dependencies.ts';
import { type EncodedReply, encodeReply } from './encode-reply.ts';
import type { Exchange } from './exchange.ts';
import { deleteFile, getFile, getFileContent, listFiles, postFile } from './file-routes.ts';
import { requireJson } from './require-type.ts';

const MODELS_PATH = '/v1/models/';
const USAGE_PATH = '/v1/usage/';
const FILES_PATH = '/v1/files/';
const CONTENT_END = /\/content$/;
const MESSAGE_BATCHES = '/v1/messages/batches';
const BATCHES = '/v1/batches';

const WITHOUT_VERSION =
  /^\/(?:messages|chat|completions|responses|embeddings|images|audio|models|files|batches)(?:\/|$)/;

/** The canonical path: "//v1/v1/messages/" and "/messages" become "/v1/messages". */
export function normalPath(path: string): string {
  if (routes.has(path)) return path;
  const single = path
    .replace(/\/{2,}/g, '/')
    .replace(/^(?:\/v1(?:beta)?)*(?=\/v1beta(?:\/|$))/, '')
    .replace(/^(?:\/v1)+(?=\/|$)/, '/v1');
  const trimmed = single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
  return WITHOUT_VERSION.test(trimmed) ? `/v1${trimmed}` : trimmed;
}

/** Whether OpenAI's clients use the path, too, although it is of no front. */
export function isForModels(path: string): boolean {
  return `${normalPath(path)}/`.startsWith(MODELS_PATH);
}

/** The decoded rest of a path after its prefix. Invalid percent-encoding is literal: no object has such a name. */
function restOf(path: string, beginning: string): string {
  return decodePath(normalPath(path).slice(beginning.length));
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function constant(value: object): () => EncodedReply {
  const body = JSON.stringify(value);
  return () => ({ status: 200, headers: {}, body });
}

const READY = constant({ status: 'ready' });

async function getReadyz(exchange: Exchange): Promise<EncodedReply> {
  const { dependencies } = exchange;
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

/** May also throw an error; `handlePublic` closes the exchange. */
export type Handle = (exchange: Exchange) => Handled | Promise<Handled>;

type Handled = EncodedReply | TurnpikeError;

function ask(method: 'listModels' | 'getKey'): Handle {
  return (exchange) => {
    const clientRequest = exchange.open();
    return encodeLater(exchange.dependencies.messages[method](clientRequest));
  };
}

/** Passes the rest of the path after `prefix`, too. */
function askAbout(
  prefix: string,
  send: (messages: MessageGateway, request: ClientRequest, rest: string) => Promise<Reply>,
): Handle {
  return (exchange) => {
    const clientRequest = exchange.open();
    return encodeLater(send(exchange.dependencies.messages, clientRequest, restOf(exchange.path, prefix)));
  };
}

function askJson(method: 'submitMessage' | 'countTokens'): Handle {
  return (exchange) => {
    requireJson(exchange.request.headers);
    const clientRequest = exchange.open();
    const answering = exchange.dependencies.messages[method](clientRequest);
    return answering instanceof Promise ? encodeLater(answering) : encode(answering);
  };
}

async function encodeLater(answering: Promise<Reply | TurnpikeError>): Promise<Handled> {
  return encode(await answering);
}

function encode(answered: Reply | TurnpikeError): Handled {
  return answered instanceof TurnpikeError ? answered : encodeReply(answered, null);
}

interface Route {
  /** By method. GET also answers HEAD. */
  handlers: ReadonlyMap<string, Handle>;
  /** null: the Messages protocol. `sender`: the client decides, because protocols share the path. */
  front: Front | null | 'sender';
}

const get = (handle: Handle): Route => ({ handlers: new Map([['GET', handle]]), front: null });
const post = (handle: Handle): Route => ({ handlers: new Map([['POST', handle]]), front: null });
const shared = (handlers: Readonly<Record<string, Handle>>): Route => ({
  handlers: new Map(Object.entries(handlers)),
  front: 'sender',
});

const showRoot = constant({ name: 'turnpike', messages: '/v1/messages' });

/** Fronts have lists of their own on the same path. */
const listOfModels = get(ask('listModels'));

const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/messages', post(askJson('submitMessage'))],
  ['/v1/messages/count_tokens', post(askJson('countTokens'))],
  ['/v1/models', listOfModels],
  ['/v1/files', shared({ GET: listFiles, POST: postFile })],
  [
    MESSAGE_BATCHES,
    { handlers: new Map([['GET', listMessageBatches] as const, ['POST', postMessageBatch] as const]), front: null },
  ],
  [BATCHES, { handlers: new Map([['GET', listBatches] as const, ['POST', postBatch] as const]), front: openAiBatches }],
  ['/v1/key', get(ask('getKey'))],
  ['/healthz', get(constant({ status: 'ok' }))],
  ['/readyz', get(getReadyz)],
  ['/', get(showRoot)],
  ['/api/hello', get(showRoot)],
  ['/.well-known/oauth-authorization-server', get(getAuthorizationServer)],
  ['/device', get(getDevice)],
  ['/oauth/device_authorization', post(postDeviceAuthorization)],
  ['/oauth/token', post(postToken)],
  ['/oauth/revoke', post(postRevoke)],
  ['/managed/settings', get(getSettings)],
  ['/api/oauth/usage', get(getOAuthUsage)],
  ['/v1/metrics', post(postTelemetry('metrics'))],
  ['/v1/logs', post(postTelemetry('logs'))],
  ['/v1/traces', post(postTelemetry('traces'))],
]);
const fileContent = shared({ GET: (exchange) => getFileContent(exchange, fileIdOf(exchange.path)) });
const oneFile = shared({
  GET: (exchange) => getFile(exchange, fileIdOf(exchange.path)),
  DELETE: (exchange) => deleteFile(exchange, fileIdOf(exchange.path)),
});

function fileIdOf(path: string): string {
  return restOf(path, FILES_PATH).replace(CONTENT_END, '');
}

const routesOfOne: readonly [beginning: string, route: Route][] = [
  [MODELS_PATH, get(askAbout(MODELS_PATH, (messages, request, id) => messages.getModel(request, id)))],
  [USAGE_PATH, get(askAbout(USAGE_PATH, (messages, request, requestId) => messages.getUsage(request, requestId)))],
];

const batchRoutes: Readonly<Record<string, (idOf: (path: string) => string) => Route>> = {
  [MESSAGE_BATCHES]: (idOf) => ({
    handlers: new Map<string, Handle>([
      ['GET', (exchange) => getMessageBatch(exchange, idOf(exchange.path))],
      ['DELETE', (exchange) => deleteMessageBatch(exchange, idOf(exchange.path))],
    ]),
    front: null,
  }),
  [`${MESSAGE_BATCHES}/results`]: (idOf) => get((exchange) => getMessageBatchResults(exchange, idOf(exchange.path))),
  [`${MESSAGE_BATCHES}/cancel`]: (idOf) => post((exchange) => cancelMessageBatch(exchange, idOf(exchange.path))),
  [BATCHES]: (idOf) => ({ ...get((exchange) => getBatch(exchange, idOf(exchange.path))), front: openAiBatches }),
  [`${BATCHES}/cancel`]: (idOf) => ({
    ...post((exchange) => postCancelBatch(exchange, idOf(exchange.path))),
    front: openAiBatches,
  }),
};

/** The route of one batch; null for any other path. */
function findBatchRoute(path: string): Route | null {
  for (const base of [MESSAGE_BATCHES, BATCHES]) {
    if (!path.startsWith(`${base}/`)) continue;
    const [, id = '', end = null] = /^([^/]+)(?:\/([^/]+))?$/.exec(path.slice(base.length + 1)) ?? [];
    const make = batchRoutes[end === null ? base : `${base}/${end}`];
    return id === '' || make === undefined ? null : make(() => decodePath(id));
  }
  return null;
}

/** The route of a path without query, or null. */
export function findRoute(path: string, head: RequestHead): Route | null {
  const exact = routes.get(path);
  if (exact !== undefined && exact !== listOfModels) return exact;
  const normal = normalPath(path);
  const front = findFront(normal, head);
  if (front !== null) return routeOfFront(normal, front);
  const ofBatch = findBatchRoute(normal);
  if (ofBatch !== null) return ofBatch;
  if (normal.startsWith(FILES_PATH)) return CONTENT_END.test(normal) ? fileContent : oneFile;
  return routes.get(normal) ?? routesOfOne.find(([begin]) => normal.startsWith(begin))?.[1] ?? null;
}

function routeOfFront(path: string, front: Front): Route | null {
  const operation = front.findOperation(decodePath(path));
  if (operation === null) return null;
  const handle: Handle = (exchange) => answerFront(exchange, front, operation);
  return { handlers: new Map([[METHODS[operation.asks], handle]]), front };
}

const METHODS: Readonly<Record<Operation['asks'], 'GET' | 'POST'>> = {
  message: 'POST',
  count: 'POST',
  models: 'GET',
  model: 'GET',
};

/** null: the path does not take the method. */
export function handlerOf({ handlers }: Route, method: string): Handle | null {
  return handlers.get(method === 'HEAD' ? 'GET' : method) ?? null;
}

export function allowedMethods({ handlers }: Route): string {
  return [...handlers.keys()]
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .concat('OPTIONS')
    .join(', ');
}
