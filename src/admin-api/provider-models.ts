// Presets of providers, and the models that a provider offers: listed with their known prices, and sold.

import { z } from '@hono/zod-openapi';
import {
  formatRate,
  listedOffers,
  listSourceOf,
  offerFrom,
  type PriceList,
  type ProviderOffer,
  type ProviderSettings,
  priceListIn,
  providerPresets,
  readMarkUp,
  sellOffers,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { OfferedModel } from '../providers/providers.ts';
import { type JsonValue, SERVES } from '../wire/wire.ts';
import { invalidRequest } from './admin-app.ts';
import { applyDocument, changeSchema } from './apply.ts';
import { priceChangesWritten, priceWritten } from './catalog.ts';
import { installation, operator } from './dependencies.ts';
import { countShown, dayShown } from './fields.ts';
import { findProvider, providerParams } from './providers.ts';
import { type AdminRoute, type Call, get, post } from './route.ts';

export const presetSchema = z
  .object({
    id: z.string(),
    title: z.string(),
    kind: z.string(),
    base_url: z
      .string()
      .nullable()
      .describe('With the names of `fields` in braces; null: that of the kind, which may follow from its region.'),
    fields: z.array(
      z.object({
        name: z.string(),
        label: z.string(),
        description: z.string(),
        example: z.string(),
        default: z.string().nullable(),
      }),
    ),
    needs: z.array(z.enum(['region', 'project'])),
    auth: z
      .array(z.string())
      .describe('Ways to authenticate, the usual one first: `api_key`, types of `auth`, or `none`.'),
    private_network: z.boolean().describe('It runs in a private network, which `private_network: true` allows.'),
    set_up: z.string().describe('What is to be done at the provider.'),
    docs: z.string(),
    as_of: dayShown.describe('The day on which address and documentation were read.'),
  })
  .openapi('ProviderPreset');

const offerSchema = z
  .object({
    model: z.string().describe('Its name at the provider.'),
    display_name: z.string().nullable(),
    serves: z.enum(SERVES),
    max_input_tokens: countShown.nullable(),
    max_output_tokens: countShown.nullable(),
    cost: priceWritten
      .nullable()
      .describe('What the provider charges; null: no price is known, and it is sold only with a stated one.'),
    cost_changes: priceChangesWritten,
    cost_source: z
      .object({
        kind: z.enum(['provider', 'price_list']),
        source: z.string().nullable(),
        as_of: dayShown.nullable(),
      })
      .nullable()
      .describe('provider: from its list of models, read now. price_list: a row of the price list in use.'),
    sold_as: z.array(z.string()).describe('Models with a route to it.'),
  })
  .openapi('OfferedModel');
export const offersSchema = z
  .object({
    provider: z.string(),
    read_from: z
      .enum(['provider', 'price_list'])
      .describe('price_list: the kind has no list of models, so these are those of the price list for it.'),
    data: z.array(offerSchema).describe('By name.'),
  })
  .openapi('OfferedModels');

const MARK_UP_WORDS = 'must be a decimal such as "20", from 0 to 10000, with at most 4 fraction digits';
const markUpField = z.string({ error: MARK_UP_WORDS }).transform((text, context) => {
  const units = readMarkUp(text);
  if (units !== null) return units;
  context.addIssue({ code: 'custom', message: MARK_UP_WORDS });
  return z.NEVER;
});
const anyObject = z
  .custom<object>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'must be an object')
  .openapi({ type: 'object' });
const name = z.string({ error: 'must be a name' });
const sellBody = z.strictObject({
  models: z
    .array(
      z.strictObject({
        model: name.describe('Its name at the provider.'),
        name: name.optional().describe('The name to sell it under; absent: the same.'),
        aliases: z.array(name).max(bounds.pageItemsMax).optional(),
        markup_percent: markUpField
          .openapi({ type: 'string', examples: ['20'] })
          .optional()
          .describe('Absent: that of the request.'),
        price: anyObject
          .optional()
          .describe('The price to sell it at, as in an applied file. Required if no price is known.'),
      }),
    )
    .min(1, 'must not be empty')
    .max(bounds.pageItemsMax),
  markup_percent: markUpField
    .prefault('0')
    .openapi({ type: 'string', default: '0', examples: ['20'] })
    .describe('Added to the cost of every rate, rounded up to 12 fraction digits.'),
  groups: z
    .array(name)
    .max(bounds.pageItemsMax)
    .default([])
    .describe('Groups that offer the models; those whose patterns match them already stay as they are.'),
  dry_run: z.boolean().default(false),
});
export const soldSchema = z
  .object({
    changes: z.array(changeSchema),
    document: z
      .object({ models: z.record(z.string(), z.looseObject({})), groups: z.record(z.string(), z.looseObject({})) })
      .describe('The same changes in the format of apply.'),
    dry_run: z.boolean(),
  })
  .openapi('SoldModels');

const NOT_READ = 'The provider’s list of models could not be read';

export const providerModelRoutes: AdminRoute[] = [
  get('/provider-presets', 'provider-preset-list', 'List presets of providers', installation, {
    answer: [z.object({ data: z.array(presetSchema) }), 'Well-known providers, with what is to be filled in'],
    handle: () => ({
      data: providerPresets.map(({ baseUrl, fields, isLocal, setUp, asOf, needs, auth, ...preset }) => ({
        ...preset,
        base_url: baseUrl,
        fields: fields.map((field) => ({ ...field, default: field.default ?? null })),
        needs: [...needs],
        auth: [...auth],
        private_network: isLocal,
        set_up: setUp,
        as_of: asOf,
      })),
    }),
  }),
  // Changes nothing, but sends the installation's credential: operators only.
  get('/providers/{name}/models', 'provider-model-list', 'List the models that a provider offers', operator, {
    params: providerParams,
    badGateway: NOT_READ,
    answer: [offersSchema, 'The models, read from the provider now, with their known prices'],
    async handle(call) {
      const provider = findProvider(call.catalog.current(), call.params.name);
      const { offers, readFrom } = await readOffers(call, provider, priceListIn(await call.catalog.documents()));
      const data = [...offers.values()].map((offer) => offerJson(call, provider, offer));
      return { provider: provider.name, read_from: readFrom, data };
    },
  }),
  post('/providers/{name}/models', 'provider-model-sell', 'Sell models that a provider offers', operator, {
    params: providerParams,
    body: sellBody,
    badGateway: NOT_READ,
    answer: [soldSchema, 'The changes that were made in one transaction, or with `dry_run` would be made'],
    async handle(call) {
      const { models, groups, markup_percent, dry_run } = call.body;
      const provider = findProvider(call.catalog.current(), call.params.name);
      const documents = await call.catalog.documents();
      const { offers } = await readOffers(call, provider, priceListIn(documents));
      const wanted = models.map(({ markup_percent: own = markup_percent, price, ...model }) => ({
        ...model,
        markUp: own,
        ...(price !== undefined && { price: price as Record<string, JsonValue> }),
      }));
      const sell = async () => {
        const sale = sellOffers(await call.catalog.documents(), provider, offers, wanted, groups);
        if (sale.faults.length > 0) throw invalidRequest(sale.faults);
        return sale.document;
      };
      const { changes, document } = await applyDocument(call, sell, { isDry: dry_run });
      return { changes, document: document as z.infer<typeof soldSchema>['document'], dry_run };
    },
  }),
];

/** Reads the provider's list, with a credential for all accounts if it has one. Throws upstream_failed. */
async function readOffers(
  { readOffer }: Call,
  provider: ProviderSettings,
  list: PriceList,
): Promise<{ offers: Map<string, ProviderOffer>; readFrom: 'provider' | 'price_list' }> {
  const { credentials, ...endpoint } = provider;
  const credential = listSourceOf(provider)?.credential ?? credentials[0]?.secret ?? null;
  const read = await readOffer({ ...endpoint, credential });
  if (typeof read === 'string') throw new TurnpikeError('upstream_failed', `${NOT_READ}. ${read}`);
  const platform = { kind: endpoint.kind, region: endpoint.region ?? null };
  const offers =
    read === null ? listedOffers(list, platform) : read.map((one) => offerFrom(toldBy(one), list, platform));
  const usable = offers.filter(({ model }) => model !== '').slice(0, bounds.modelListNamesMax);
  const inOrder = usable.sort((one, other) => (one.model < other.model ? -1 : 1));
  return {
    offers: new Map(inOrder.map((offer) => [offer.model, offer])),
    readFrom: read === null ? 'price_list' : 'provider',
  };
}

function toldBy({ name: model, rates, ...facts }: OfferedModel) {
  const write = rates?.cacheWrite ?? null;
  const written = write === null ? null : formatRate(write);
  return {
    model,
    ...facts,
    rates: rates && {
      input: formatRate(rates.input),
      output: formatRate(rates.output),
      cache_read: rates.cacheRead === null ? null : formatRate(rates.cacheRead),
      cache_write_5m: written,
      cache_write_1h: written,
    },
  };
}

function offerJson(
  { catalog }: Call,
  { name: provider }: ProviderSettings,
  offer: ProviderOffer,
): z.infer<typeof offerSchema> {
  const { model, displayName, serves, maxInputTokens, maxOutputTokens, cost, source } = offer;
  const isSold = (route: { provider: string; upstreamModel: string }) =>
    route.provider === provider && route.upstreamModel === model;
  const row = source !== null && 'row' in source ? source.row : null;
  return {
    model,
    display_name: displayName,
    serves,
    max_input_tokens: maxInputTokens,
    max_output_tokens: maxOutputTokens,
    cost: cost?.price ?? null,
    cost_changes: cost?.changes ?? [],
    cost_source: source && {
      kind: row === null ? 'provider' : 'price_list',
      source: row?.source ?? null,
      as_of: row?.asOf ?? null,
    },
    sold_as: [...catalog.current().models.values()]
      .filter(({ routes }) => routes.some(isSold))
      .map((sold) => sold.name)
      .sort(),
  };
}
