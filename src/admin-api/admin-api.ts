// The door of the admin API under /api/v1, for console and commands. Not on the path of a message.

import { accountRoutes } from './accounts.ts';
import { makeAdminApp, requireInstallation } from './admin-app.ts';
import { applyRoutes } from './apply.ts';
import { attentionRoutes } from './attention.ts';
import { auditRoutes } from './audit.ts';
import { catalogRoutes, modelRoutes } from './catalog.ts';
import { makeChangeLock } from './changes.ts';
import { creditRoutes, refundRoutes } from './credits.ts';
import type { AdminDependencies } from './dependencies.ts';
import { entryRoutes, statementRoutes } from './entries.ts';
import { type AcceptVerified, invitationRoutes, makeAcceptVerified } from './invitations.ts';
import { keyRoutes } from './keys.ts';
import { addOpenapi } from './openapi.ts';
import { personRoutes } from './people.ts';
import { providerRoutes } from './providers.ts';
import { addRoute } from './route.ts';
import { meRoutes, tokenRoutes } from './tokens.ts';
import { usageRoutes } from './usage.ts';
import { totalRoutes } from './usage-totals.ts';

export type {
  AdminAnswered,
  AdminDependencies,
  AdminMove,
  Principal,
  ProviderHealth,
  SessionFinder,
  SignIn,
} from './dependencies.ts';
export { makeFirstOperator } from './people.ts';

export interface AdminApi {
  /** Answers every request under /api/v1 from `address`, including unknown paths. Never throws or rejects. */
  fetch(request: Request, address: string, isOverTls?: boolean): Response | Promise<Response>;
  /** For endpoints outside of this API: throws as `fetch` would unless the principal is an operator or viewer. */
  requireInstallation(request: Request, address: string): Promise<void>;
  /** Accepts an invitation for a person whom the OpenID Connect issuer verified. */
  acceptVerified: AcceptVerified;
}

/** The admin API of a process: it contains the change lock. */
export function makeAdminApi(dependencies: AdminDependencies): AdminApi {
  const app = makeAdminApp(dependencies);
  const withChangeLock = makeChangeLock(dependencies);
  const routes = [
    ...accountRoutes,
    ...creditRoutes,
    ...entryRoutes,
    ...statementRoutes,
    ...keyRoutes,
    ...modelRoutes,
    ...providerRoutes,
    ...totalRoutes, // before records of messages, whose path would match
    ...usageRoutes,
    ...refundRoutes,
    ...applyRoutes,
    ...catalogRoutes,
    ...tokenRoutes,
    ...personRoutes,
    ...invitationRoutes(dependencies),
    ...attentionRoutes,
    ...auditRoutes,
    ...meRoutes,
  ];
  for (const route of routes) addRoute(app, route, dependencies, withChangeLock);
  addOpenapi(app, dependencies);
  return {
    fetch: (request, address, isOverTls = false) => app.fetch(request, { address, isOverTls }),
    requireInstallation: (request, address) => requireInstallation(dependencies, request, address),
    acceptVerified: makeAcceptVerified(dependencies, withChangeLock),
  };
}
