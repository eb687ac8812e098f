// The catalogue as apply takes it, so that an object can be changed as it was written; the settings in words; and the
// price list that comes with this version. Credentials are in none of them.

import { z } from '@hono/zod-openapi';
import {
  allListedModels,
  defaultBaseUrl,
  describeDocuments,
  describeSettings,
  type ListedModel,
  priceLists,
} from '../catalog/catalog.ts';
import type { AdminApp } from './admin-app.ts';
import { countShown, dayShown, idField, jsonAnswer, rateShown } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { installation } from './principal.ts';

const orNone = countShown.nullable();
const ratesWritten = {
  input: rateShown,
  output: rateShown,
  cache_read: rateShown.nullable().openapi({ description: 'Null: as `input`.' }),
  cache_write_5m: rateShown.nullable(),
  cache_write_1h: rateShown.nullable(),
};
const priceWritten = z.object({
  ...ratesWritten,
  long_context: z.object({ above: countShown, ...ratesWritten }).nullable(),
  fast: z.object(ratesWritten).nullable(),
  web_search_per_thousand: rateShown.nullable(),
});
const modelWritten = z.object({
  aliases: z.array(z.string()),
  display_name: z.string().nullable(),
  price: priceWritten.optional().openapi({ description: 'Absent where `catalogue` is there.' }),
  catalogue: z.literal(true).optional().openapi({ description: 'The price is that of the price list.' }),
  max_input_tokens: orNone,
  max_output_tokens: orNone,
  default_max_tokens: countShown,
  routes: z.array(
    z.object({
      provider: z.string(),
      model: z.string().nullable(),
      priority: countShown,
      weight: countShown,
      concurrency: orNone,
      cost: priceWritten.nullable(),
    }),
  ),
});
const groupWritten = z.object({
  models: z.array(z.string()),
  multiplier: rateShown,
  rpm: orNone,
  input_tpm: orNone,
  output_tpm: orNone,
  concurrency: orNone,
});
const providerWritten = z.object({
  kind: z.string(),
  base_url: z.string().optional(),
  private_network: z.boolean(),
  credentials: z
    .record(z.string(), z.object({ account: idField('acct').nullable(), group: z.string().nullable() }))
    .optional(),
});
const settingValue = z.union([z.int(), z.boolean(), z.string(), z.array(z.string()), z.null()]);
const originShown = z.enum(['start', 'file', 'api']);

export const catalogueSchema = z
  .object({
    document: z
      .object({
        vendor_prefixes: z.array(z.string()).optional(),
        providers: z.record(z.string(), providerWritten),
        models: z.record(z.string(), modelWritten),
        groups: z.record(z.string(), groupWritten),
        settings: z.record(z.string(), settingValue),
      })
      .openapi({ description: 'What stands, as apply takes it; a credential that is left out stays.' }),
    origins: z
      .array(
        z.object({ kind: z.enum(['provider', 'model', 'group', 'settings']), name: z.string(), origin: originShown }),
      )
      .openapi({ description: 'start: made by the service as it first began.' }),
    provider_kinds: z
      .array(z.object({ kind: z.string(), base_url: z.string().nullable() }))
      .openapi({ description: 'What apply takes, with the address where none is given; null: one must be.' }),
  })
  .openapi('Catalogue');
export const settingSchema = z
  .object({
    name: z.string(),
    value: settingValue.openapi({ description: 'In force.' }),
    default: settingValue,
    origin: originShown.nullable().openapi({ description: 'Null where the default is in force.' }),
    description: z.string(),
    kind: z.enum(['integer', 'boolean', 'text', 'texts']),
    least: z.int().nullable(),
    most: z.int().nullable(),
    nullable: z.boolean(),
  })
  .openapi('Setting');
export const listedModelSchema = z
  .object({
    name: z.string(),
    family: z.string().openapi({ description: 'Whose model it is.' }),
    as_of: dayShown,
    aliases: z.array(z.string()),
    display_name: z.string(),
    price: priceWritten,
    max_input_tokens: orNone,
    max_output_tokens: orNone,
    retires_on: dayShown.nullable(),
  })
  .openapi('ListedModel');

const showCatalogue = defineRoute({
  operationId: 'catalogue-show',
  summary: 'Show the catalogue as apply takes it',
  roles: installation,
  method: 'get',
  path: '/api/v1/catalogue',
  responses: { 200: jsonAnswer(catalogueSchema, 'What stands, without credentials') },
});
const listSettings = defineRoute({
  operationId: 'setting-list',
  summary: 'List settings',
  roles: installation,
  method: 'get',
  path: '/api/v1/settings',
  responses: {
    200: jsonAnswer(z.object({ data: z.array(settingSchema) }), 'Every setting, in the order of the documentation'),
  },
});
const listPrices = defineRoute({
  operationId: 'price-list',
  summary: 'List the models of the price list',
  roles: installation,
  method: 'get',
  path: '/api/v1/prices',
  responses: {
    200: jsonAnswer(
      z.object({
        price_lists: z.array(z.object({ family: z.string(), as_of: dayShown, source: z.string() })),
        data: z.array(listedModelSchema),
      }),
      'Whole: the price list that comes with this version',
    ),
  },
});

export function addCatalogue(app: AdminApp, { catalog, providerKinds }: AdminDependencies): void {
  // Whole, not in pages: the catalogue is no larger than a file that was applied.
  app.openapi(showCatalogue, async (context) => {
    const { document, origins } = describeDocuments(await catalog.documents());
    const provider_kinds = providerKinds.map((kind) => ({ kind, base_url: defaultBaseUrl(kind) }));
    const settings = document.settings as z.infer<typeof catalogueSchema>['document']['settings'];
    return context.json({ document: { ...document, settings }, origins, provider_kinds }, 200);
  });
  app.openapi(listSettings, async (context) => {
    const settings = describeSettings(await catalog.documents());
    return context.json({ data: settings as z.infer<typeof settingSchema>[] }, 200);
  });
  app.openapi(listPrices, (context) => {
    const lists = priceLists().map(({ family, asOf, source }) => ({ family, as_of: asOf, source }));
    return context.json({ price_lists: lists, data: allListedModels().map(listedJson) }, 200);
  });
}

function listedJson(listed: ListedModel): z.infer<typeof listedModelSchema> {
  return {
    name: listed.name,
    family: listed.family,
    as_of: listed.asOf,
    aliases: [...listed.aliases],
    display_name: listed.displayName,
    price: listed.price,
    max_input_tokens: listed.maxInputTokens,
    max_output_tokens: listed.maxOutputTokens,
    retires_on: listed.retiresOn,
  };
}
