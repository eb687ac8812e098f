// What is sold: that it can be read, that routes lead somewhere, that providers can be shown a
// credential, that groups offer something.

import {
  type Catalogue,
  comparePrices,
  type Group,
  type Model,
  matchesAnyPattern,
  type ProviderSettings,
} from '../catalog/catalog.ts';
import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config.ts';
import type { CatalogueFacts, Facts } from './facts.ts';

const APPLY = 'in the file that "turnpike apply" takes';

export function checkCatalogue({ catalogue: facts, nowMs }: Facts): Finding[] {
  if (facts === null) return [];
  if ('failure' in facts.catalogue)
    return [
      {
        severity: 'error',
        code: 'catalogue_unreadable',
        subject: 'catalogue',
        message: `What is sold cannot be read (${facts.catalogue.failure}): the service does not start.`,
        remedy: 'Run the release that stored it, or restore a backup.',
      },
    ];
  const catalogue = facts.catalogue.is;
  const providers = [...catalogue.providers.values()];
  return [
    ...providers.flatMap((provider) => checkProvider(provider, facts)),
    ...[...catalogue.models.values()].flatMap((model) => checkModel(model, catalogue)),
    ...[...catalogue.groups.values()].flatMap((group) => checkGroup(group, catalogue)),
    ...checkOffer(catalogue),
    ...checkRetirements(catalogue, nowMs),
  ];
}

function checkProvider(provider: ProviderSettings, { providerKinds, unopened, documents }: CatalogueFacts): Finding[] {
  const { name, kind } = provider;
  const subject = `provider ${name}`;
  if (!providerKinds.includes(kind))
    return [
      {
        severity: 'error',
        code: 'provider_kind_unknown',
        subject,
        message: `It is of the kind "${kind}", which this program does not know (${providerKinds.join(', ')}): no message can go there.`,
        remedy: `Give it a known kind ${APPLY}, or run a release that knows this one.`,
      },
    ];
  const closed = unopened?.filter(({ provider: owner }) => owner === name) ?? [];
  if (closed.length > 0)
    return closed.map(({ credential }) => ({
      severity: 'error',
      code: 'credential_does_not_open',
      subject,
      message: `Its stored credential "${credential}" does not open under the installation's secret: it was altered, or sealed under another one. The service does not start with it.`,
      remedy: 'Give the secret that it was sealed under as TURNPIKE_PREVIOUS_SECRET, or restore a backup.',
    }));
  const stored = documents.find((entry) => entry.kind === 'provider' && entry.name === name)?.document;
  if (provider.credentials.length > 0 || provider.baseUrl === '' || stored?.['private_network'] === true) return [];
  return [
    {
      severity: 'warning',
      code: 'credential_missing',
      subject,
      message: `It has no credential, and ${provider.baseUrl} is not in a private network: a provider in public refuses whoever shows none.`,
      remedy: `Give it an api_key ${APPLY}.`,
    },
  ];
}

function checkModel(model: Model, { providers }: Catalogue): Finding[] {
  const lost = model.routes.filter(({ provider }) => !providers.has(provider)).map(({ provider }) => `"${provider}"`);
  if (lost.length === 0 && model.routes.length > 0) return [];
  const isDead = lost.length === model.routes.length;
  return [
    {
      severity: isDead ? 'error' : 'warning',
      code: 'route_leads_nowhere',
      subject: `model ${model.name}`,
      message:
        model.routes.length === 0
          ? 'It has no route: every message for it fails.'
          : `It has a route to ${lost.join(', ')}, and there is no such provider: ${isDead ? 'every message for it fails' : 'fail-over has one way less'}.`,
      remedy: `Add the provider, or change the model's routes, ${APPLY}.`,
    },
  ];
}

function checkGroup(group: Group, { models }: Catalogue): Finding[] {
  if ([...models.keys()].some((name) => matchesAnyPattern(group.models, name))) return [];
  return [
    {
      severity: 'warning',
      code: 'group_offers_nothing',
      subject: `group ${group.name}`,
      message: `No model matches its patterns (${group.models.join(', ')}): keys in it are refused every model.`,
      remedy: `Change its patterns, or add models, ${APPLY}.`,
    },
  ];
}

function checkOffer({ models, groups }: Catalogue): Finding[] {
  if (models.size > 0 && groups.size > 0) return [];
  return [
    {
      severity: 'warning',
      code: 'nothing_sold',
      subject: 'catalogue',
      message:
        models.size === 0
          ? 'There is no model, so nothing can be sold.'
          : 'There is no group, so no key may use a model.',
      remedy: 'turnpike apply FILE',
    },
  ];
}

function checkRetirements(catalogue: Catalogue, nowMs: number): Finding[] {
  const { retiring } = comparePrices(catalogue);
  return retiring
    .filter(({ retiresOn }) => Date.parse(retiresOn) - nowMs <= bounds.retirementWarningMs)
    .map(({ model, route, retiresOn }) => ({
      severity: 'warning',
      code: 'model_retires',
      subject: `model ${model}`,
      message: `By its price list the provider ends ${route} on ${retiresOn}: this route fails from then on.`,
      remedy: `Give the model another route ${APPLY}, or take it out.`,
    }));
}
