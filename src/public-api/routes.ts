// The table of public routes. A route is found by its path alone; which methods it takes is said
// in the `allow` header of a refusal.

import type { Handle } from './call.ts';
import { getHealthz } from './get-healthz.ts';
import { getKey } from './get-key.ts';
import { getModels } from './get-models.ts';
import { getModelsId } from './get-models-id.ts';
import { getReadyz } from './get-readyz.ts';
import { getUsageId } from './get-usage-id.ts';
import { headRoot } from './head-root.ts';
import { MODELS_PATH, normalPath, USAGE_PATH } from './path.ts';
import { postChatCompletions } from './post-chat-completions.ts';
import { postMessages } from './post-messages.ts';
import { postMessagesCountTokens } from './post-messages-count-tokens.ts';

/** What a path takes. GET also answers HEAD. */
export interface Route {
  method: 'GET' | 'POST';
  handle: Handle;
}

const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/messages', { method: 'POST', handle: postMessages }],
  ['/v1/messages/count_tokens', { method: 'POST', handle: postMessagesCountTokens }],
  ['/v1/chat/completions', { method: 'POST', handle: postChatCompletions }],
  ['/v1/models', { method: 'GET', handle: getModels }],
  ['/v1/key', { method: 'GET', handle: getKey }],
  ['/healthz', { method: 'GET', handle: getHealthz }],
  ['/readyz', { method: 'GET', handle: getReadyz }],
  ['/', { method: 'GET', handle: headRoot }],
  ['/api/hello', { method: 'GET', handle: headRoot }],
]);
/** Paths whose rest is an id. */
const routesOfOne: readonly [beginning: string, route: Route][] = [
  [MODELS_PATH, { method: 'GET', handle: getModelsId }],
  [USAGE_PATH, { method: 'GET', handle: getUsageId }],
];

/** The route of a path without query, or null when there is none. */
export function findRoute(path: string): Route | null {
  const exact = routes.get(path);
  if (exact !== undefined) return exact;
  const normal = normalPath(path);
  return routes.get(normal) ?? routesOfOne.find(([beginning]) => normal.startsWith(beginning))?.[1] ?? null;
}

export function takesMethod(route: Route, method: string): boolean {
  return method === route.method || (method === 'HEAD' && route.method === 'GET');
}

/** For the `allow` header. */
export function allowedMethods(route: Route): string {
  return route.method === 'GET' ? 'GET, HEAD, OPTIONS' : 'POST, OPTIONS';
}
