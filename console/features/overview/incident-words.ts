// Incidents in words: what fails, whom it affects, and where to do something about it. Pure.

import type { IncidentShape } from '../../../src/admin-api/shapes.ts';
import { countOf, formatCount, formatShare } from '../../figures.ts';
import { errorLabel } from '../../labels.ts';
import { formatMoney, withMoney } from '../../money.ts';
import { type Place, pathOf } from '../../parts/link.tsx';
import { rangeText } from '../../range.ts';
import { formatTime } from '../../times.ts';

/** What is wrong, as a sentence without its period. */
export function incidentTitle(incident: IncidentShape, isHolder: boolean): string {
  const { kind, model, provider, subject, cause } = incident;
  const account = incident.account_name ?? incident.account ?? '';
  switch (kind) {
    case 'model_failing':
      return `${model} is failing`;
    case 'provider_failing':
      return providerTitle(provider ?? '', cause);
    case 'route_failing':
      return `${model} is failing at ${provider}`;
    case 'account_refused':
      return isHolder ? 'Requests are refused' : `Requests of ${account} are refused`;
    case 'key_refused':
      return `Requests with the key ${incident.key_name || incident.key} are refused`;
    case 'requests_rejected':
      return incident.account === null ? 'Many requests with unknown keys' : `Many requests of ${account} are rejected`;
    case 'credential_unreadable':
      return `The credential ${subject} of ${provider} cannot be read`;
    case 'destination_failing':
      return destinationTitle(subject ?? '', cause);
    case 'recharge_failing':
      return isHolder ? 'Auto-recharge is failing' : `Auto-recharge of ${account} is failing`;
    case 'export_failing':
      return `The export ${subject} is failing`;
    case 'task_failing':
      return `The background task “${subject}” is failing`;
    case 'telemetry_failing':
      return `Telemetry is not exported (${subject})`;
    case 'negative_margin':
      return `${model} is sold below its cost${subject === null ? '' : ` by the group ${subject}`}`;
    default:
      return {
        mail_failing: 'Emails are not sent',
        backup_failing: 'Backups are failing',
        prices_outdated: 'Prices are outdated',
      }[kind];
  }
}

/** A destination may have no name. */
function destinationTitle(name: string, cause: string | null): string {
  if (cause === 'disabled') return name === '' ? 'A destination was disabled' : `The destination ${name} was disabled`;
  return `Deliveries to ${name || 'a destination'} are failing`;
}

function providerTitle(provider: string, cause: string | null): string {
  if (cause === 'out_of_credit') return `${provider} is out of credit`;
  if (cause === 'credentials') return `${provider} rejects its credential`;
  if (cause === 'rate_limited') return `${provider} limits requests`;
  return `${provider} is failing`;
}

/** Whom it affects, one part each: "51 of 100 requests (51%)", "3 accounts". */
export function incidentReach(incident: IncidentShape): string[] {
  const { kind, requests, all_requests: all, share, accounts, models, cause, loss } = incident;
  const parts: string[] = [];
  if (kind === 'negative_margin') return loss === null ? [] : [`${formatMoney(loss)} lost in two days`];
  if (kind === 'mail_failing') return [`${countOf(requests ?? 0, 'message')} waiting`];
  if (requests !== null && all !== null && share !== null)
    parts.push(`${formatCount(requests)} of ${countOf(all, 'request')} (${formatShare(share)})`);
  else if (requests !== null) parts.push(countOf(requests, 'request'));
  else if (share !== null) parts.push(`${formatShare(share)} of requests`);
  if (accounts !== null && incident.account === null) parts.push(countOf(accounts, 'account'));
  if (models.length > 1) parts.push(`models ${models.join(', ')}`);
  if (kind === 'route_failing') parts.push('other routes answer');
  if (kind.endsWith('_refused') && cause !== null) parts.push(errorLabel(cause));
  return parts;
}

export interface IncidentLink extends Place {
  label: string;
}

/** The page for an action; null for one that is no page. `isHolder`: the account is the user's own. */
export function incidentLink(
  action: IncidentShape['actions'][number],
  incident: IncidentShape,
  isHolder: boolean,
): IncidentLink | null {
  const { model, provider, account, key, since } = incident;
  const ofModel = model ?? incident.models[0] ?? '';
  const from = { range: rangeText(Date.parse(since), null) };
  const known = (members: Record<string, string | null>) =>
    Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as Record<string, string>;
  const link = (label: string, to: string, search?: Record<string, string>): IncidentLink =>
    search === undefined ? { label, to } : { label, to, search };
  const accountPath = pathOf.account(account ?? '');
  switch (action) {
    case 'view_requests':
      if (incident.kind === 'negative_margin') return link('View requests', '/usage', known({ model }));
      return link('View failed requests', '/usage', known({ model, outcome: 'not_completed', ...from }));
    case 'refund':
      return link('Find requests to refund', '/usage', known({ model, outcome: 'upstream_cut', ...from }));
    case 'view_rejected':
      return link(
        'View rejected requests',
        '/rejected',
        known({ account: isHolder ? null : account, key, code: incident.cause }),
      );
    case 'view_provider':
      return link('Test provider', pathOf.provider(provider ?? ''));
    case 'add_credential':
      return link('Add a credential', pathOf.provider(provider ?? ''));
    case 'edit_credential':
      return link('Edit credential', pathOf.provider(provider ?? ''));
    case 'add_provider_credit':
      return link('Add credit at the provider', pathOf.provider(provider ?? ''));
    case 'view_model':
      return link('View model', pathOf.model(ofModel));
    case 'add_route':
      return link('Add a route', `${pathOf.model(ofModel)}/edit`);
    case 'change_price':
      return link('Change price', `${pathOf.model(ofModel)}/edit`);
    case 'update_prices':
      return link('View models', '/models');
    case 'view_key':
      return link('Raise the limit of the key', pathOf.key(key ?? ''));
    case 'add_credit':
      return link('Add credit', isHolder ? '/billing' : `${accountPath}/billing`);
    case 'raise_limit':
      return link('Raise a limit', accountPath);
    case 'enable_account':
      return link('Enable account', accountPath);
    case 'view_destination':
      return link('View destination', pathOf.destination(incident.subject_id ?? ''));
    case 'view_export':
      return link('View export', pathOf.export(incident.subject_id ?? ''));
    case 'view_events':
      return link('View events', '/events');
    default:
      return null;
  }
}

/** What operators may send to customers: without providers and their words. */
export function customerNotice(incident: IncidentShape): string {
  const since = `Since ${formatTime(Date.parse(incident.since), 'moment', 'UTC')} UTC`;
  if (incident.kind === 'account_refused' || incident.kind === 'key_refused')
    return `${since}, requests are refused${incident.message === null ? '.' : `: ${withMoney(incident.message)}`}`;
  const models = incident.models.join(', ');
  const share = incident.share === null ? 'some' : `about ${formatShare(incident.share)} of the`;
  return `${since}, ${share} requests to ${models} fail. We are working on it.`;
}
