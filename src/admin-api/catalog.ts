// The catalog. Models and groups that a principal may see; prices compared with the price list in use; the
// catalog in the form of an apply document and settings with descriptions, both without credentials. Not paginated where
// the answer is no larger than an applied file.

import { z } from '@hono/zod-openapi';
import { nearestNumber } from '../base/checked-number.ts';
import { formatDecimal } from '../base/money.ts';
import {
  authTypesOfKind,
  batchNeedsOfKind,
  type Catalog,
  comparePrices,
  defaultBaseUrl,
  describeDocuments,
  describeSettings,
  formatRate,
  type Group,
  type ListedModel,
  laterPrices,
  listOffers,
  type Model,
  type ModelPrice,
  matchesAnyPattern,
  membersOfKind,
  multipliedPrice,
  PREFERENCES,
  type PriceDifference,
  priceListIn,
  printUnitRates,
  ROUTE_PROTOCOLS,
  type Route,
  routesWithinResidency,
  type TierPrice,
  UNIT_RATES,
} from '../catalog/catalog.ts';
import { CAPABILITIES } from '../gateway/gateway.ts';
import { PRICED_TIERS, SERVES } from '../wire/wire.ts';
import { groupsFor } from './accounts.ts';
import { everyone, installation, seesProviderCost } from './dependencies.ts';
import { encoded, encoderOf, type ValueOf } from './encode.ts';
import {
  amountShown,
  countShown,
  dayShown,
  idField,
  limitsOf,
  rateShown,
  rateText,
  searchField,
  timeShown,
  timeText,
} from './fields.ts';
import { answerByName } from './pages.ts';
import { type AdminRoute, type Call, get, list } from './route.ts';
import { hiddenFrom, hideable } from './visibility.ts';

const orNone = countShown.nullable();

/** For an account's token: the account's groups, and the models that its keys can reach through them. */
export async function visibleCatalog(call: Call): Promise<{ groups: Group[]; models: Model[] }> {
  const { catalog, principal } = call;
  const { accountId } = principal;
  const current = catalog.current();
  const { groups, models } = current;
  if (accountId === null)
    return { groups: [...groups.values()], models: [...current.patterns.values(), ...models.values()] };
  const account = await call.accounts.getAccount(accountId);
  const names = account === null ? [] : await groupsFor(call, account);
  const hidden = hiddenFrom(call, principal).things;
  const isHidden = hidden.has('multiplier') || hidden.has('group'); // without its group, nobody could multiply
  const offers = listOffers(current, { account: accountId, keyModels: null, groups: names });
  return {
    groups: hidden.has('group') ? [] : [...groups.values()].filter((group) => names.includes(group.name)),
    models: offers.map(({ model, group }) => (isHidden ? multiplied(model, group) : model)),
  };
}

/** The model at the price that the account pays, which no price list has. */
function multiplied(model: Model, { multiplierMillionths }: Group): Model {
  return { ...model, price: multipliedPrice(model.price, multiplierMillionths), priceListedOn: null };
}

const unitPriceSchema = z.partialRecord(
  z.enum(UNIT_RATES),
  z.union([rateShown, z.record(z.string(), rateShown).describe('By size and quality, for `per_image`.')]),
);
const rate = encoded(rateText(), formatRate);
const ratesShown = { input: rate, output: rate, cache_read: rate, cache_write_5m: rate, cache_write_1h: rate };
const tierShown = {
  ...ratesShown,
  long_context: z.object({ above: countShown, ...ratesShown }).optional(),
};
const priceShown = {
  ...tierShown,
  fast: z.object(tierShown).optional().describe('Rates of this service tier; absent if it is not sold.'),
  flex: z.object(tierShown).optional().describe('As `fast`.'),
  ultrafast: z.object(tierShown).optional().describe('As `fast`.'),
  web_search_per_thousand: rate.optional(),
  units: unitPriceSchema.optional().describe('Rates of other units than tokens of text; absent if there are none.'),
};
export const priceSchema = z.object(priceShown);
export const priceChangesShown = z
  .array(z.object({ from: timeShown, ...priceShown }))
  .describe('Later versions, in order.');
const routeSchema = z.object({
  provider: z.string(),
  model: z.string(),
  priority: countShown,
  weight: countShown,
  concurrency: countShown.nullable().describe('Largest number of concurrent messages on one node; null: no limit.'),
  cost: priceSchema.nullable().describe('The provider’s price that is in force; null if unknown.'),
  cost_changes: priceChangesShown,
  margin: z
    .object({
      input: rate,
      output: rate,
      group: z.string().nullable().describe('This group; null: no group sells the model, and the multiplier is 1.'),
    })
    .nullable()
    .describe(
      'The lowest margin: price × multiplier − cost, in the group with the lowest multiplier of those that sell the model; null if the cost is unknown.',
    ),
});
export const servesShown = z.enum(SERVES).describe('What the model may be used for.');
const preferShown = z.enum(PREFERENCES).describe('How it chooses among routes of equal priority.');
export const modelSchema = z
  .object({
    name: z
      .string()
      .describe('With "*": an entry for all models of its providers’ lists, for tokens of the installation.'),
    entry: z
      .string()
      .nullable()
      .describe(
        'The entry with "*" that the model comes from; null: its own entry, which has its name. Always null for a token of one account.',
      ),
    display_name: z.string(),
    aliases: z.array(z.string()),
    serves: servesShown,
    price: priceSchema.describe(
      'The price in force: USD per million tokens, with the member names of apply; after the multiplier if that or the group is hidden.',
    ),
    price_from: timeShown.nullable().describe('When the price in force took effect; null: from the beginning.'),
    price_changes: priceChangesShown,
    price_source: z
      .object({ catalogue: dayShown })
      .nullable()
      .describe('The date of the price list that the price comes from; null if the price was configured.'),
    max_input_tokens: countShown.nullable(),
    max_output_tokens: countShown.nullable(),
    default_max_tokens: countShown,
    capabilities: z
      .array(z.enum(CAPABILITIES))
      .describe('What the model is known to do on every route, or has a price for; empty if nothing is known.'),
    prefer: preferShown,
    groups: hideable('group', z.array(z.string())).describe(
      'The groups that offer it; for a token of an account, only the account’s groups.',
    ),
    routes: hideable('provider', z.array(routeSchema)).describe('Empty for a token of one account.'),
    created_at: timeText(),
  })
  .openapi('Model');

export const groupSchema = z
  .object({
    name: z.string(),
    models: z.array(z.string()),
    model_count: z.int().describe('The number of models that it offers now.'),
    multiplier: hideable('multiplier', rateText()).openapi({ description: 'Price multiplier.', examples: ['0.8'] }),
    rpm: orNone,
    input_tpm: orNone,
    output_tpm: orNone,
    concurrency: orNone,
    residency: z
      .array(z.string())
      .nullable()
      .describe('Messages go only to providers whose residency is within these; null: to all.'),
    tiers: z
      .array(z.enum(PRICED_TIERS))
      .nullable()
      .describe('Service tiers that messages may request besides the standard one; null: all with a price.'),
  })
  .openapi('Group');

/** Which price lists there are. */
const priceListShown = z.object({ family: z.string(), as_of: dayShown, source: z.string() });
const encodeList = encoderOf(priceListShown);

export const differenceSchema = z
  .object({
    model: z.string(),
    route: z.string().nullable().describe('"provider/model" for a cost; null for the price.'),
    part: z.string().openapi({ examples: ['long_context.output'] }),
    configured: z.string().nullable().describe('The configured price or cost; null if it has no such part.'),
    listed: z.string().nullable().describe('The price of the list; null if it has no such part.'),
    from: timeShown.nullable().describe('When the difference begins; null: now.'),
    as_of: dayShown.describe('The date of the list.'),
    price_source: z
      .object({ catalogue: dayShown })
      .nullable()
      .describe('The list that the configured price comes from; null if the price was configured.'),
  })
  .openapi('PriceDifference');
export const comparisonSchema = z.object({
  price_lists: z.array(priceListShown),
  differences: z.array(differenceSchema),
  unknown: z.array(z.string()).describe('Models that are not in the list.'),
  retiring: z
    .array(z.object({ model: z.string(), route: z.string(), retires_on: dayShown }))
    .describe('Routes to models whose retirement the provider has announced.'),
});

const encodeComparison = encoderOf(comparisonSchema);

const listedText = z.string().transform((text) => text.split(','));

export const modelRoutes: AdminRoute[] = [
  list('/models', 'model-list', 'List models', everyone, {
    query: {
      search: searchField('the name, the display name or an alias'),
      groups: listedText.optional().describe('Only models that one of these groups offers; names separated by commas.'),
      patterns: listedText
        .optional()
        .describe('Only models whose name one of these patterns matches; patterns with * separated by commas.'),
      serves: z.enum(SERVES).optional().describe('Only models of this use.'),
    },
    page: [modelSchema, 'Models by name'],
    async handle(call) {
      const { models, groups } = await visibleCatalog(call);
      const showsRoutes = seesProviderCost(call.principal);
      const current = call.catalog.current();
      const { patterns, serves } = call.query;
      const asked = call.query.groups && groups.filter(({ name }) => call.query.groups?.includes(name));
      const isAsked = (model: Model) =>
        (asked === undefined || asked.some((group) => sells(current, group, model))) &&
        (patterns === undefined || matchesAnyPattern(patterns, model.name)) &&
        (serves === undefined || model.serves === serves);
      return answerByName(
        call,
        models.filter(isAsked),
        (model) => {
          const sellers = groups.filter((group) => sells(current, group, model));
          return modelJson(model, sellers, showsRoutes, call.capabilitiesOf(model));
        },
        textsOfModel,
      );
    },
  }),
  get('/models/differences', 'model-compare', 'Compare prices with the price list', installation, {
    answer: [comparisonSchema, 'Prices and costs that differ from the price list'],
    async handle({ catalog, clock }) {
      const list = priceListIn(await catalog.documents());
      const { differences, unknown, retiring } = comparePrices(catalog.current(), list, clock.nowMs());
      return encodeComparison({
        priceLists: list.families,
        differences: differences.map(differenceOf),
        unknown,
        retiring,
      });
    },
  }),
  list('/groups', 'group-list', 'List groups', everyone, {
    query: { search: searchField('the name') },
    page: [groupSchema, 'Groups by name'],
    async handle(call) {
      const { models, groups } = await visibleCatalog(call);
      const current = call.catalog.current();
      return answerByName(call, groups, (group) =>
        groupJson(group, models.filter((model) => sells(current, group, model)).length),
      );
    },
  }),
];

function sells(current: Catalog, group: Group, model: Model): boolean {
  return (
    matchesAnyPattern(group.models, model.name) &&
    (group.residency === null || routesWithinResidency(current, group, model.routes).length > 0)
  );
}

/** Texts that a search reads. */
export function textsOfModel({ name, displayName, aliases }: Model): string[] {
  return [name, displayName, ...aliases];
}

const encodeModel = encoderOf(modelSchema);

function modelJson(
  model: Model,
  groups: readonly Group[],
  showsRoutes: boolean,
  capabilities: z.infer<typeof modelSchema>['capabilities'],
): z.infer<typeof modelSchema> {
  const { fromMs } = model.price;
  return encodeModel({
    ...model,
    entry: showsRoutes ? model.entry : null,
    price: priceOf(model.price),
    priceFromMs: fromMs === 0 ? null : fromMs,
    priceChanges: changesOf(model.price),
    priceSource: model.priceListedOn === null ? null : { catalogue: model.priceListedOn },
    capabilities,
    prefer: model.prefersLatency ? 'latency' : 'weight',
    groups: groups.map(({ name }) => name).sort(),
    routes: showsRoutes ? model.routes.map((route) => routeOf(model, route, groups)) : [],
  });
}

function routeOf(model: Model, route: Route, groups: readonly Group[]): ValueOf<typeof routeSchema> {
  const { cost, upstreamModel } = route;
  return {
    ...route,
    model: upstreamModel,
    cost: cost && priceOf(cost),
    costChanges: cost === null ? [] : changesOf(cost),
    margin: cost && lowestMargin(model.price.standard, cost.standard, groups),
  };
}

type InputAndOutput = Pick<TierPrice['standard'], 'input' | 'output'>;

/** A part below the last digit of rates is rounded down. */
function lowestMargin(price: InputAndOutput, cost: InputAndOutput, groups: readonly Group[]) {
  const [cheapest = null] = [...groups].sort((one, other) =>
    nearestNumber(one.multiplierMillionths - other.multiplierMillionths),
  );
  const multiplied = (rate: bigint) => (rate * (cheapest?.multiplierMillionths ?? MILLION)) / MILLION;
  const { name: group = null } = cheapest ?? {};
  return { input: multiplied(price.input) - cost.input, output: multiplied(price.output) - cost.output, group };
}

const MILLION = 1_000_000n;

export function priceOf(price: ModelPrice): ValueOf<typeof priceSchema> {
  const { tiers, webSearchPerThousand } = price;
  return {
    ...tierOf(price),
    fast: tiers.fast && tierOf(tiers.fast),
    flex: tiers.flex && tierOf(tiers.flex),
    ultrafast: tiers.ultrafast && tierOf(tiers.ultrafast),
    webSearchPerThousand: webSearchPerThousand ?? undefined,
    units: price.units ? printUnitRates(price.units, formatRate) : undefined,
  };
}

function tierOf({ standard, longContext }: TierPrice) {
  return {
    ...standard,
    longContext: longContext ? { above: longContext.aboveTokens, ...longContext.rates } : undefined,
  };
}

export function changesOf(price: ModelPrice) {
  return laterPrices(price).map((later) => ({ fromMs: later.fromMs, ...priceOf(later) }));
}

const encodeGroup = encoderOf(groupSchema);

function groupJson({ limits, multiplierMillionths, ...group }: Group, modelCount: number): z.infer<typeof groupSchema> {
  return encodeGroup({ ...group, modelCount, ...limitsOf(limits), multiplier: formatDecimal(multiplierMillionths, 6) });
}

function differenceOf({ configuredAsOf, ...difference }: PriceDifference): ValueOf<typeof differenceSchema> {
  return { ...difference, priceSource: configuredAsOf === null ? null : { catalogue: configuredAsOf } };
}

const ratesWritten = {
  input: rateShown,
  output: rateShown,
  cache_read: rateShown.nullable().describe('null: the rate of `input`.'),
  cache_write_5m: rateShown.nullable(),
  cache_write_1h: rateShown.nullable(),
};
const longContextWritten = z.object({ above: countShown, ...ratesWritten });
const tierWritten = z.object({ ...ratesWritten, long_context: longContextWritten.optional() });
const pricePartsWritten = {
  ...ratesWritten,
  long_context: longContextWritten.nullable(),
  fast: tierWritten.nullable(),
  flex: tierWritten.optional(),
  ultrafast: tierWritten.optional(),
  web_search_per_thousand: rateShown.nullable(),
  units: unitPriceSchema.optional(),
};
export const priceWritten = z.object(pricePartsWritten);
export const priceChangesWritten = z.array(z.object({ from: timeShown, ...pricePartsWritten }));
const modelWritten = z.object({
  aliases: z.array(z.string()),
  display_name: z.string().nullable(),
  serves: servesShown,
  price: priceWritten.optional().describe('Absent if `catalogue` is present.'),
  price_changes: priceChangesWritten.optional().describe('Absent if `catalogue` is present.'),
  catalogue: z.literal(true).optional().describe('The model has the price of the price list.'),
  max_input_tokens: orNone,
  max_output_tokens: orNone,
  default_max_tokens: countShown,
  prefer: preferShown.optional(),
  routes: z.array(
    z.object({
      provider: z.string(),
      model: z.string().nullable(),
      protocol: z.enum(ROUTE_PROTOCOLS).optional(),
      priority: countShown,
      weight: countShown,
      concurrency: orNone,
      cost: priceWritten.nullable(),
      cost_changes: priceChangesWritten,
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
  residency: z.array(z.string()).optional(),
  tiers: z.array(z.string()).optional(),
});
const amountOrNone = amountShown.nullable();
const planWritten = z.object({
  title: z.string(),
  price: amountShown,
  interval: z.literal('month'),
  windows: z.object({ '5h': amountOrNone, day: amountOrNone, week: amountOrNone, month: amountOrNone }),
  groups: z.array(z.string()),
  limits: z.object({ rpm: orNone, input_tpm: orNone, output_tpm: orNone, concurrency: orNone }),
  stripe_price: z.string().nullable(),
  is_offered: z.boolean(),
});
const agentPolicyWritten = z.object({
  order: z.int(),
  accounts: z.array(idField('acct')),
  groups: z.array(z.string()),
  models: z.array(z.string()).nullable(),
  contact: z.string().nullable(),
  settings: z.looseObject({}).describe('Managed settings of Claude Code.'),
});
const authWritten = z.looseObject({ type: z.string() }).describe('As in the applied file; never a secret.');
const providerWritten = z.object({
  kind: z.string(),
  base_url: z.string().optional(),
  private_network: z.boolean(),
  bearer: z.boolean().optional(),
  allow_storage: z.boolean().optional(),
  fetch_urls: z.enum(['public', 'any']).optional(),
  auth: authWritten.optional(),
  region: z.string().optional(),
  project: z.string().optional(),
  workspace: z.string().optional(),
  residency: z.array(z.string()).optional(),
  passthrough: z.array(z.string()).optional(),
  batches: z.boolean().optional(),
  batch_cost: z.string().optional(),
  batch_bucket: z.string().optional(),
  batch_role: z.string().optional(),
  batch_storage_url: z.string().optional(),
  credentials: z
    .record(
      z.string(),
      z.object({ auth: authWritten.optional(), account: idField('acct').nullable(), group: z.string().nullable() }),
    )
    .optional(),
});
const settingValue = z.union([z.int(), z.boolean(), z.string(), z.array(z.string()), z.null()]);
const originShown = z.enum(['start', 'file', 'api']);

export const catalogSchema = z
  .object({
    document: z
      .object({
        vendor_prefixes: z.array(z.string()).optional(),
        providers: z.record(z.string(), providerWritten),
        models: z.record(z.string(), modelWritten),
        groups: z.record(z.string(), groupWritten),
        plans: z.record(z.string(), planWritten),
        agent_policies: z.record(z.string(), agentPolicyWritten),
        settings: z.record(z.string(), settingValue),
      })
      .describe(
        'The current catalog in the format of apply. Credentials are left out; applying the document keeps them.',
      ),
    origins: z
      .array(
        z.object({
          kind: z.enum(['provider', 'model', 'group', 'plan', 'agent_policy', 'settings']),
          name: z.string(),
          origin: originShown,
        }),
      )
      .describe('The origin of each resource. start: created at the first start of the service.'),
    provider_kinds: z
      .array(
        z.object({
          kind: z.string(),
          base_url: z.string().nullable(),
          needs: z.array(z.enum(['region', 'project'])).describe('Further members that the kind requires.'),
          batches: z
            .array(z.enum(['batch_bucket', 'batch_role']))
            .nullable()
            .describe('Further members that batches of the kind require; null: it has no batches.'),
          auth_types: z
            .array(
              z.object({
                type: z.string(),
                needs_secret: z.boolean().describe('Whether the type needs a secret in `api_key`; others refuse one.'),
                members: z.array(z.object({ name: z.string(), required: z.boolean() })),
              }),
            )
            .describe('The types of `auth` that the kind accepts, with their members beside `type`.'),
        }),
      )
      .describe(
        'The provider kinds that apply accepts, with their default address; null: `base_url` is required, unless `region` is needed, which it follows from.',
      ),
  })
  .openapi('Catalogue');
export const settingSchema = z
  .object({
    name: z.string(),
    value: settingValue.describe('The value in effect.'),
    default: settingValue,
    origin: originShown.nullable().describe('null if the default is in effect.'),
    description: z.string(),
    kind: z.enum(['integer', 'boolean', 'text', 'texts']),
    least: z.int().nullable(),
    most: z.int().nullable(),
    options: z
      .array(z.string())
      .nullable()
      .describe('The words that it can be, or each of its texts; null: any that it accepts.'),
    nullable: z.boolean(),
  })
  .openapi('Setting');
export const listedModelSchema = z
  .object({
    name: z.string(),
    family: z.string().describe('The vendor of the model.'),
    as_of: dayShown,
    source: z.string().describe('Where the price was published.'),
    aliases: z.array(z.string()),
    display_name: z.string(),
    serves: servesShown,
    price: priceWritten,
    price_changes: priceChangesWritten,
    max_input_tokens: orNone,
    max_output_tokens: orNone,
    retires_on: dayShown.nullable(),
  })
  .openapi('ListedModel');

export const catalogRoutes: AdminRoute[] = [
  get('/catalogue', 'catalogue-show', 'Retrieve the catalog in the format of apply', installation, {
    answer: [catalogSchema, 'The catalog, without credentials'],
    async handle({ catalog, providerKinds }) {
      const { document, origins } = describeDocuments(await catalog.documents());
      const provider_kinds = providerKinds.map((kind) => ({
        kind,
        base_url: defaultBaseUrl(kind),
        needs: membersOfKind(kind),
        batches: batchNeedsOfKind(kind),
        auth_types: authTypesOfKind(kind).map(({ type, needsSecret, members }) => ({
          type,
          needs_secret: needsSecret,
          members: members.map(({ name, isRequired }) => ({ name, required: isRequired })),
        })),
      }));
      const settings = document.settings as z.infer<typeof catalogSchema>['document']['settings'];
      return { document: { ...document, settings }, origins, provider_kinds };
    },
  }),
  get('/settings', 'setting-list', 'List settings', installation, {
    answer: [z.object({ data: z.array(settingSchema) }), 'All settings, in the order of the documentation'],
    async handle({ catalog }) {
      return { data: describeSettings(await catalog.documents()) as z.infer<typeof settingSchema>[] };
    },
  }),
  get('/prices', 'price-list', 'List the models of the price list', installation, {
    answer: [
      z.object({ price_lists: z.array(priceListShown), data: z.array(listedModelSchema) }),
      'The whole price list in use: that of this version, or a newer one',
    ],
    async handle({ catalog }) {
      const list = priceListIn(await catalog.documents());
      return { price_lists: list.families.map(encodeList), data: [...list.models.values()].map(listedJson) };
    },
  }),
];

function listedJson(listed: ListedModel): z.infer<typeof listedModelSchema> {
  return {
    name: listed.name,
    family: listed.family,
    as_of: listed.asOf,
    source: listed.source,
    aliases: [...listed.aliases],
    display_name: listed.displayName,
    serves: listed.serves,
    price: listed.price,
    price_changes: listed.priceChanges,
    max_input_tokens: listed.maxInputTokens,
    max_output_tokens: listed.maxOutputTokens,
    retires_on: listed.retiresOn,
  };
}
