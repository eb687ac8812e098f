// Checks the catalog (providers, credentials, models, routes, groups), and that accounts and keys can use it.

import { parseTimeMs } from '../base/checked-number.ts';
import {
  type Catalog,
  comparePrices,
  type Group,
  type Model,
  matchesAnyPattern,
  matchesPattern,
  type ProviderSettings,
  priceListIn,
  routesWithinResidency,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { type CatalogFacts, error, type Facts, type Findings, known, warning } from './facts.ts';

const APPLY = 'with "turnpike apply"';

export function* checkCatalog({ catalog: facts, sendsMail, nowMs }: Facts): Findings {
  if (facts === null) return;
  if ('failure' in facts.catalog) {
    yield error('catalogue_unreadable', 'catalogue', {
      message: `A part of the catalog cannot be read (${facts.catalog.failure}): it is not served. Without its settings the service does not start.`,
      remedy: 'Run the release that wrote it, apply it again, or restore a backup.',
    });
    return;
  }
  const catalog = facts.catalog.is;
  const list = priceListIn(facts.documents);
  for (const provider of catalog.providers.values()) yield* checkProvider(provider, facts);
  yield* checkRoutes(catalog);
  yield* checkGroups(catalog);
  yield* checkSignUp(catalog, sendsMail);
  yield* checkPriceList(catalog, nowMs);
  for (const { model, route, retiresOn } of comparePrices(catalog, list, nowMs).retiring)
    if ((parseTimeMs(retiresOn) ?? 0) - nowMs <= bounds.retirementWarningMs)
      yield warning('model_retires', `model ${model}`, {
        message: `The provider retires ${route} on ${retiresOn}, according to its price list: this route fails from then on.`,
        remedy: `Give the model another route ${APPLY}, or remove it.`,
      });
}

function* checkSignUp({ settings, groups }: Catalog, sendsMail: boolean): Findings {
  if (settings.signUp !== 'on' || (sendsMail && groups.has(settings.signUpGroup))) return;
  const reason = sendsMail
    ? `there is no group "${settings.signUpGroup}" (sign_up_group)`
    : 'this environment names no mail server (TURNPIKE_SMTP_URL)';
  yield warning('sign_up_closed', 'setting sign_up', {
    message: `Sign-up is on, but ${reason}: nobody can sign up.`,
    remedy: sendsMail
      ? `Add the group, or change sign_up_group, ${APPLY}.`
      : 'Set up a mail server, see docs/operating.md.',
  });
}

/** Models whose prices come from a list; a stated price is the operator's own affair. */
function* checkPriceList({ models }: Catalog, nowMs: number): Findings {
  const dates = [...models.values()].flatMap(({ priceListedOn }) => priceListedOn ?? []);
  const newest = dates.sort().at(-1);
  if (newest === undefined || nowMs - (parseTimeMs(newest) ?? 0) <= bounds.priceListAgeMsMax) return;
  yield warning('price_list_old', 'catalogue', {
    message: `The prices of ${dates.length} models come from price lists of which the newest is of ${newest}: providers may charge other prices by now.`,
    remedy: 'Run "turnpike catalogue update" after an upgrade, or with a newer list (--from FILE or URL).',
  });
}

function* checkProvider(provider: ProviderSettings, { providerKinds, unopened, documents }: CatalogFacts): Findings {
  const { name, kind } = provider;
  const subject = `provider ${name}`;
  const closed = unopened?.filter(({ provider: owner }) => owner === name) ?? [];
  const stored = documents.find((entry) => entry.kind === 'provider' && entry.name === name)?.document;
  if (!providerKinds.includes(kind))
    yield error('provider_kind_unknown', subject, {
      message: `This release does not support its kind, "${kind}" (supported: ${providerKinds.join(', ')}): no message can be sent to it.`,
      remedy: `Change its kind ${APPLY}, or run a release that supports it.`,
    });
  else if (closed.length > 0)
    for (const { credential } of closed)
      yield error('credential_does_not_open', subject, {
        message: `Its stored ${nameOf(provider, credential)} cannot be decrypted with the installation's secret: it was altered, or encrypted with another secret. After a start, the provider is not used.`,
        remedy: 'Set TURNPIKE_PREVIOUS_SECRET to the secret that it was encrypted with, or restore a backup.',
      });
  else if (provider.credentials.length === 0 && provider.baseUrl !== '' && stored?.['private_network'] !== true)
    yield warning('credential_missing', subject, {
      message: `It has no credential, and ${provider.baseUrl} is not on a private network: public providers refuse requests without one.`,
      remedy: `Give it an api_key, or auth, ${APPLY}.`,
    });
}

function nameOf({ credentials }: ProviderSettings, credential: string): string {
  const type = credentials.find(({ name }) => name === credential)?.authType ?? null;
  return type === null ? `credential "${credential}"` : `credential "${credential}" (auth of the type ${type})`;
}

function* checkRoutes({ providers, ...catalog }: Catalog): Findings {
  for (const { name, routes } of entriesOf(catalog)) {
    const lost = routes.filter(({ provider }) => !providers.has(provider)).map(({ provider }) => `"${provider}"`);
    if (lost.length === 0 && routes.length > 0) continue;
    const isUnusable = lost.length === routes.length;
    yield (isUnusable ? error : warning)('route_leads_nowhere', `model ${name}`, {
      message:
        routes.length === 0
          ? 'It has no route: every message to it fails.'
          : `It has a route to a provider that does not exist (${lost.join(', ')}): ${isUnusable ? 'every message to it fails' : 'failover has fewer routes'}.`,
      remedy: `Add the provider, or change the model's routes, ${APPLY}.`,
    });
  }
}

/** Models, and entries with `*`, whose models only the service knows. */
function entriesOf({ models, patterns }: Pick<Catalog, 'models' | 'patterns'>): Model[] {
  return [...models.values(), ...patterns.values()];
}

/** Whether a name can match both: the literal text before and after their `*` agrees. */
function mayMeet(pattern: string, entry: string): boolean {
  if (!pattern.includes('*')) return matchesPattern(entry, pattern);
  if (!entry.includes('*')) return matchesPattern(pattern, entry);
  const agree = (one: string, other: string) => one.startsWith(other) || other.startsWith(one);
  const backward = (text: string) => [...text].reverse().join('');
  const head = (text: string) => text.slice(0, text.indexOf('*'));
  return agree(head(pattern), head(entry)) && agree(head(backward(pattern)), head(backward(entry)));
}

function* checkGroups(catalog: Catalog): Findings {
  const { groups } = catalog;
  const entries = entriesOf(catalog);
  for (const group of groups.values()) {
    yield* checkResidency(catalog, group);
    if (!entries.some(({ name }) => group.models.some((pattern) => mayMeet(pattern, name))))
      yield warning('group_offers_nothing', `group ${group.name}`, {
        message: `No model matches its patterns (${group.models.join(', ')}): keys in it cannot use any model.`,
        remedy: `Change its patterns, or add models, ${APPLY}.`,
      });
  }
  if (entries.length === 0 || groups.size === 0)
    yield warning('nothing_sold', 'catalogue', {
      message:
        entries.length === 0
          ? 'No model is configured, so every message is refused.'
          : 'No group is configured, so no key can use a model.',
      remedy: 'turnpike apply FILE',
    });
}

/** Models that a group names, or all that it matches, without a route within its residency: they are not sold there. */
function* checkResidency(catalog: Catalog, group: Group): Findings {
  if (group.residency === null) return;
  const matched = entriesOf(catalog).filter(
    ({ name, routes }) => routes.length > 0 && matchesAnyPattern(group.models, name),
  );
  const hidden = matched.filter(({ routes }) => routesWithinResidency(catalog, group, routes).length === 0);
  const named = hidden.filter(({ name }) => group.models.includes(name));
  const listed = hidden.length === matched.length ? hidden : named;
  if (listed.length === 0) return;
  yield warning('residency_without_route', `group ${group.name}`, {
    message: `No provider of these models has a residency within ${group.residency.join(', ')}, so the group does not sell them: ${listed.map(({ name }) => name).join(', ')}.`,
    remedy: `Give the models a route to a provider with such a residency, or state the residency of their providers, ${APPLY}.`,
  });
}

/** A payment whose events do not arrive is credited late, by the look at pending payments. */
export function* checkPayments({ database, takesPayments, nowMs }: Facts): Findings {
  const { lastPaymentAtMs = null, lastPaymentEventAtMs = null } = known(database?.survey) ?? {};
  if (!takesPayments || lastPaymentAtMs === null || lastPaymentEventAtMs !== null) return;
  const ageMs = nowMs - lastPaymentAtMs;
  if (ageMs < bounds.paymentEventWaitMs || ageMs > bounds.paymentEventKeptMs) return;
  yield warning('payment_events_missing', 'payments', {
    message: 'Payments were begun, and Stripe has sent no event about any: credit is late, and refunds are not seen.',
    remedy: 'Add the webhook endpoint in Stripe with its event types, and set its signing secret: docs/stripe.md.',
  });
}

export function* checkAccounts({ database }: Facts): Findings {
  const survey = known(database?.survey);
  if (survey === null) return;
  const { accounts, usableKeys, lostGroups } = survey;
  if (accounts === 0)
    yield warning('no_account', 'accounts', {
      message: 'There is no account, so every message is refused.',
      remedy: 'turnpike account create NAME --credit 10.00',
    });
  else if (usableKeys === 0)
    yield warning('no_usable_key', 'keys', {
      message: 'No account has a key that is enabled and has not expired, so every message is refused.',
      remedy: 'turnpike key create --account ID',
    });
  for (const { account, name, group } of lostGroups)
    yield warning('account_group_missing', `account ${account}`, {
      message: `The account "${name}" is in the group "${group}", which does not exist: its keys cannot use any model in it.`,
      remedy: `Add the group ("turnpike apply"), or change the account's groups (PATCH /api/v1/accounts/ID).`,
    });
}
