// The door of the admin API: what console and commands use, under /api/v1. Not on the path of a message.

import { type AcceptVouched, makeAcceptVouched } from './accept-vouched.ts';
import { addAccounts } from './accounts.ts';
import { makeAdminApp, requireInstallation } from './admin-app.ts';
import { addApply } from './apply.ts';
import { addAttention } from './attention.ts';
import { addAudit } from './audit.ts';
import { addCatalogue } from './catalogue.ts';
import { addCredits } from './credits.ts';
import type { AdminDependencies } from './dependencies.ts';
import { addEntries } from './entries.ts';
import { addGroups } from './groups.ts';
import { addHolds } from './holds.ts';
import { addInvitations } from './invitations.ts';
import { addKeys } from './keys.ts';
import { addMe } from './me.ts';
import { addModels } from './models.ts';
import { addOpenapi } from './openapi.ts';
import { addPeople } from './people.ts';
import { addPriceDifferences } from './price-differences.ts';
import { addProviders } from './providers.ts';
import { addRefunds } from './refunds.ts';
import { addStatements } from './statements.ts';
import { addTokens } from './tokens.ts';
import { makeTurns } from './turns.ts';
import { addUsage } from './usage.ts';
import { addUsageTimeline } from './usage-timeline.ts';
import { addUsageTop } from './usage-top.ts';
import { addUsageTotals } from './usage-totals.ts';

export type {
  AdminAnswered,
  AdminCatalog,
  AdminDependencies,
  AdminMove,
  ProviderHealth,
  RouteState,
  SessionFinder,
  SignIn,
} from './dependencies.ts';
export { firstCurl, invitationLink, makeDemoAccount, makeFirstOperator } from './first-start.ts';
export type { Principal } from './principal.ts';

export interface AdminApi {
  /** Answers every request under /api/v1 that came from `address`, also those that are for nothing there. Never throws or rejects. */
  fetch(request: Request, address: string, isOverTls?: boolean): Response | Promise<Response>;
  /** For what stands beside it: throws as `fetch` answers unless an operator or viewer asks, from `address`. */
  requireInstallation(request: Request, address: string): Promise<void>;
  /** Accepts an invitation for whom the issuer of single sign-on vouches; see accept-vouched.ts. */
  acceptVouched: AcceptVouched;
}

/** The admin API over what a root puts together. One for an installation's process: changes take turns in it. */
export function makeAdminApi(dependencies: AdminDependencies): AdminApi {
  const app = makeAdminApp(dependencies);
  const takeTurn = makeTurns(dependencies);
  addAccounts(app, dependencies, takeTurn);
  addCredits(app, dependencies, takeTurn);
  addEntries(app, dependencies);
  addHolds(app, dependencies);
  addStatements(app, dependencies);
  addKeys(app, dependencies, takeTurn);
  addModels(app, dependencies);
  addPriceDifferences(app, dependencies);
  addGroups(app, dependencies);
  addProviders(app, dependencies);
  addUsageTimeline(app, dependencies);
  addUsageTop(app, dependencies);
  addUsageTotals(app, dependencies); // before the record of a message: its path could be one's id
  addUsage(app, dependencies);
  addRefunds(app, dependencies, takeTurn);
  addApply(app, dependencies, takeTurn);
  addCatalogue(app, dependencies);
  addTokens(app, dependencies, takeTurn);
  addPeople(app, dependencies, takeTurn);
  addInvitations(app, dependencies, takeTurn);
  addAttention(app, dependencies);
  addAudit(app, dependencies);
  addMe(app, dependencies);
  addOpenapi(app, dependencies);
  return {
    fetch: (request, address, isOverTls = false) => app.fetch(request, { address, isOverTls }),
    requireInstallation: (request, address) => requireInstallation(dependencies, request, address),
    acceptVouched: makeAcceptVouched(dependencies, takeTurn),
  };
}
