// The door of the admin API under /api/v1, for console and commands. Not on the path of a message.

import { newRequestId } from '../base/ids.ts';
import { errorResponse } from '../http/http.ts';
import { requireInstallation } from './authenticate.ts';
import type { AdminDependencies } from './dependencies.ts';
import type { AcceptVerified } from './invitations.ts';

export type {
  AdminAnswered,
  AdminDependencies,
  AdminMove,
  PaymentService,
  Principal,
  ProviderHealth,
  SessionFinder,
  SignIn,
} from './dependencies.ts';
export { makeFirstOperator } from './make-invitation.ts';

/** Routes that may take minutes before they answer. */
export function isSlowPath(path: string): boolean {
  return /^\/api\/v1\/provider-bill-sources\/[^/]+\/(?:import|fetch)$/.test(path);
}

export interface AdminApi {
  /** Answers every request under /api/v1 from `address`, including unknown paths. Never throws or rejects. */
  fetch(request: Request, address: string, isOverTls?: boolean): Response | Promise<Response>;
  /** For endpoints outside of this API: throws as `fetch` would unless the principal is an operator or viewer. */
  requireInstallation(request: Request, address: string): Promise<void>;
  /** Accepts an invitation for a person whom the OpenID Connect issuer verified. */
  acceptVerified: AcceptVerified;
}

/** The admin API of a process. Its routes are loaded with the first request that needs them: their libraries need 8 MB. */
export function makeAdminApi(dependencies: AdminDependencies): AdminApi {
  let loading: Promise<Pick<AdminApi, 'fetch' | 'acceptVerified'>> | null = null;
  const load = () => {
    loading ??= import('./answer-requests.ts')
      .then(({ makeRoutedApi }) => makeRoutedApi(dependencies))
      .catch((failure) => {
        loading = null; // the next request tries again
        throw failure;
      });
    return loading;
  };
  return {
    async fetch(request, address, isOverTls) {
      try {
        return await (await load()).fetch(request, address, isOverTls);
      } catch (failure) {
        // Only if the routes cannot be loaded: they answer their own errors.
        const requestId = newRequestId(dependencies.clock.nowMs());
        dependencies.report(requestId, failure);
        return errorResponse(failure, requestId);
      }
    },
    requireInstallation: (request, address) => requireInstallation(dependencies, request, address),
    acceptVerified: async (email, address) => (await load()).acceptVerified(email, address),
  };
}
