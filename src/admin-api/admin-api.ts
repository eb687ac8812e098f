// The door of the admin API under /api/v1, for console and commands. Not on the path of a message.

import { newRequestId } from '../base/ids.ts';
import { errorResponse } from '../http/http.ts';
import type { AdmitIdentity } from './admit-identity.ts';
import { requireInstallation } from './authenticate.ts';
import type { AdminDependencies } from './dependencies.ts';
import type { AddPaidGroup } from './paid-groups.ts';

export type {
  AdminAnswered,
  AdminDependencies,
  AdminMove,
  Integrations,
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
export const SCIM_PATH = '/scim/v2';

export interface AdminApi {
  /** Answers every request under /api/v1 and /scim/v2 from `address`, including unknown paths. Never throws or rejects. */
  fetch(request: Request, address: string, isOverTls?: boolean): Response | Promise<Response>;
  /** For endpoints outside of this API: throws as `fetch` would unless the principal is an operator or viewer. */
  requireInstallation(request: Request, address: string): Promise<void>;
  /** Decides whether a person may sign in whom an issuer of OpenID Connect verified, and as whom. */
  admitIdentity: AdmitIdentity;
  /** Adds the group of a paid recharge to its account. */
  addPaidGroup: AddPaidGroup;
}

/** The admin API of a process. Its routes are loaded with the first request that needs them: their libraries need 8 MB. */
export function makeAdminApi(dependencies: AdminDependencies): AdminApi {
  let loading: Promise<Pick<AdminApi, 'fetch' | 'admitIdentity' | 'addPaidGroup'>> | null = null;
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
    admitIdentity: async (identity, address) => (await load()).admitIdentity(identity, address),
    addPaidGroup: async (payment) => (await load()).addPaidGroup(payment),
  };
}
