// The admin API with all of its routes.

import { pathOf } from '../http/http.ts';
import { accountRoutes } from './accounts.ts';
import { type AdminApi, SCIM_PATH } from './admin-api.ts';
import { makeAdminApp } from './admin-app.ts';
import { makeAdmitIdentity } from './admit-identity.ts';
import { agentRoutes } from './agent-sign-ins.ts';
import { applyRoutes } from './apply.ts';
import { attentionRoutes } from './attention.ts';
import { auditRoutes } from './audit.ts';
import { autoRechargeRoutes } from './auto-recharge.ts';
import { backupRoutes } from './backups.ts';
import { batchRoutes } from './batches.ts';
import { budgetRoutes } from './budgets.ts';
import { catalogRoutes, modelRoutes } from './catalog.ts';
import { makeChangeLock } from './changes.ts';
import { codeBatchRoutes, redemptionRoutes } from './codes.ts';
import { consentRoutes } from './consent.ts';
import { creditRoutes, refundRoutes } from './credits.ts';
import { deliveryRoutes } from './deliveries.ts';
import type { AdminDependencies } from './dependencies.ts';
import { destinationRoutes } from './destinations.ts';
import { directoryGroupRoutes } from './directory-groups.ts';
import { entryRoutes, statementRoutes } from './entries.ts';
import { exportScheduleRoutes } from './export-schedules.ts';
import { exportRoutes } from './exports.ts';
import { forecastRoutes } from './forecast.ts';
import { incidentRoutes } from './incidents.ts';
import { integrationRoutes } from './integrations.ts';
import { invitationRoutes } from './invitations.ts';
import { inviteManyRoutes } from './invite-many.ts';
import { keyRoutes } from './keys.ts';
import { marginRoutes } from './margin.ts';
import { addOpenapi } from './openapi.ts';
import { makeAddPaidGroup } from './paid-groups.ts';
import { passwordResetRoutes } from './password-resets.ts';
import { paymentRoutes } from './payments.ts';
import { personRoutes } from './people.ts';
import { planRoutes } from './plans.ts';
import { priceChangeRoutes } from './price-changes.ts';
import { priceUpdateRoutes } from './price-update.ts';
import { providerBillRoutes } from './provider-bills.ts';
import { providerModelRoutes } from './provider-models.ts';
import { providerRoutes } from './providers.ts';
import { publicPageRoutes } from './public-pages.ts';
import { refusalRoutes } from './refusals.ts';
import { type AdminRoute, addRoute } from './route.ts';
import { routeHealthRoutes } from './route-health.ts';
import { savedViewRoutes } from './saved-views.ts';
import { makeScimApp } from './scim-app.ts';
import { searchRoutes } from './search.ts';
import { signUpRoutes } from './sign-ups.ts';
import { subscriptionRoutes } from './subscriptions.ts';
import { meRoutes, tokenRoutes } from './tokens.ts';
import { unsubscribeRoutes } from './unsubscribe.ts';
import { usageRoutes } from './usage.ts';
import { summaryRoutes } from './usage-summary.ts';
import { totalRoutes } from './usage-totals.ts';

/** Contains the change lock: one for a process. */
export function makeRoutedApi(
  dependencies: AdminDependencies,
): Pick<AdminApi, 'fetch' | 'admitIdentity' | 'addPaidGroup'> {
  const app = makeAdminApp(dependencies);
  const withChangeLock = makeChangeLock(dependencies);
  for (const route of makeRoutes(dependencies)) addRoute(app, route, dependencies, withChangeLock);
  addOpenapi(app, dependencies);
  const answerScim = makeScimApp(dependencies, withChangeLock);
  return {
    fetch: (request, address, isOverTls = false) =>
      isScim(request.url) ? answerScim(request, address, isOverTls) : app.fetch(request, { address, isOverTls }),
    admitIdentity: makeAdmitIdentity(dependencies, withChangeLock),
    addPaidGroup: makeAddPaidGroup(dependencies, withChangeLock),
  };
}

/** Every route under /api/v1 but that of the OpenAPI document. */
export function makeRoutes(dependencies: AdminDependencies): AdminRoute[] {
  return [
    ...accountRoutes,
    ...creditRoutes,
    ...entryRoutes,
    ...statementRoutes,
    ...exportRoutes(), // before those of one export, whose path would match
    ...exportScheduleRoutes,
    ...keyRoutes,
    ...agentRoutes,
    ...modelRoutes,
    ...providerRoutes,
    ...providerModelRoutes,
    ...integrationRoutes,
    ...providerBillRoutes,
    ...summaryRoutes,
    ...marginRoutes,
    ...totalRoutes, // before records of messages, whose path would match
    ...usageRoutes,
    ...refusalRoutes,
    ...batchRoutes,
    ...incidentRoutes,
    ...forecastRoutes,
    ...routeHealthRoutes,
    ...refundRoutes,
    ...codeBatchRoutes,
    ...redemptionRoutes(),
    ...applyRoutes,
    ...priceUpdateRoutes,
    ...priceChangeRoutes,
    ...catalogRoutes,
    ...planRoutes,
    ...tokenRoutes,
    ...inviteManyRoutes,
    ...personRoutes,
    ...directoryGroupRoutes,
    ...budgetRoutes,
    ...invitationRoutes(dependencies),
    ...signUpRoutes,
    ...passwordResetRoutes,
    ...paymentRoutes,
    ...autoRechargeRoutes,
    ...subscriptionRoutes,
    ...searchRoutes,
    ...attentionRoutes,
    ...auditRoutes,
    ...destinationRoutes,
    ...deliveryRoutes,
    ...backupRoutes,
    ...unsubscribeRoutes,
    ...publicPageRoutes,
    ...meRoutes,
    ...savedViewRoutes,
    ...consentRoutes,
  ];
}

function isScim(url: string): boolean {
  return pathOf(url).startsWith(`${SCIM_PATH}/`);
}
