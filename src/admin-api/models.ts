// Models: what is sold, at which price, over which routes. An account's tokens see those that it may
// buy, and nothing of what stands behind them.

import { z } from '@hono/zod-openapi';
import {
  formatRate,
  type Group,
  type Model,
  type ModelPrice,
  matchesAnyPattern,
  type Rates,
  type Route,
} from '../catalog/catalog.ts';
import type { AdminApp } from './admin-app.ts';
import { countShown, dayShown, pageAnswer, rateShown, timeShown } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { pageByName, pageQuery, pagesOf } from './pages.ts';
import { everyone, seesProviderCost } from './principal.ts';
import { soldTo } from './sold-to.ts';

const ratesShown = {
  input: rateShown,
  output: rateShown,
  cache_read: rateShown,
  cache_write_5m: rateShown,
  cache_write_1h: rateShown,
};
const priceSchema = z.object({
  ...ratesShown,
  long_context: z.object({ above: countShown, ...ratesShown }).optional(),
  fast: z.object(ratesShown).optional(),
  web_search_per_thousand: rateShown.optional(),
});
const routeSchema = z.object({
  provider: z.string(),
  model: z.string(),
  priority: countShown,
  weight: countShown,
  concurrency: countShown.nullable().openapi({ description: 'Messages at once on one node; null: no bound.' }),
  cost: priceSchema.nullable().openapi({ description: 'What the provider charges; null when it is not known.' }),
  margin: z
    .object({ input: rateShown, output: rateShown })
    .nullable()
    .openapi({ description: 'Price minus cost, before the factor of a group; null when the cost is not known.' }),
});
export const modelSchema = z
  .object({
    name: z.string(),
    display_name: z.string(),
    aliases: z.array(z.string()),
    price: priceSchema.openapi({ description: 'USD per million tokens, by the names that apply takes.' }),
    price_source: z
      .object({ catalogue: dayShown })
      .nullable()
      .openapi({ description: 'The day of the price list that the price was taken from; null when it was stated.' }),
    max_input_tokens: countShown.nullable(),
    max_output_tokens: countShown.nullable(),
    default_max_tokens: countShown,
    groups: z.array(z.string()).openapi({ description: 'Those that sell it; for an account, of its own.' }),
    routes: z.array(routeSchema).openapi({ description: 'Empty for a token of one account.' }),
    created_at: timeShown,
  })
  .openapi('Model');

const listModels = defineRoute({
  operationId: 'model-list',
  summary: 'List models',
  roles: everyone,
  method: 'get',
  path: '/api/v1/models',
  request: { query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(modelSchema, 'Models by name') },
});

export function addModels(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listModels, async (context) => {
    const principal = context.get('principal');
    const { models, groups } = await soldTo(dependencies, principal);
    const { rows, next } = pageByName(pagesOf(dependencies, context), models, context.req.valid('query'));
    const showsRoutes = seesProviderCost(principal);
    return context.json({ data: rows.map((model) => modelJson(model, groups, showsRoutes)), next_cursor: next }, 200);
  });
}

function modelJson(model: Model, groups: readonly Group[], showsRoutes: boolean): z.infer<typeof modelSchema> {
  return {
    name: model.name,
    display_name: model.displayName,
    aliases: [...model.aliases],
    price: priceJson(model.price),
    price_source: model.priceListedOn === null ? null : { catalogue: model.priceListedOn },
    max_input_tokens: model.maxInputTokens,
    max_output_tokens: model.maxOutputTokens,
    default_max_tokens: model.defaultMaxTokens,
    groups: groups
      .filter((group) => matchesAnyPattern(group.models, model.name))
      .map(({ name }) => name)
      .sort(),
    routes: showsRoutes ? model.routes.map((route) => routeJson(model, route)) : [],
    created_at: model.createdAt,
  };
}

function routeJson(model: Model, route: Route): z.infer<typeof routeSchema> {
  const { provider, upstreamModel, priority, weight, concurrency, cost } = route;
  return {
    provider,
    model: upstreamModel,
    priority,
    weight,
    concurrency,
    cost: cost === null ? null : priceJson(cost),
    margin: cost === null ? null : marginJson(model.price.standard, cost.standard),
  };
}

function marginJson(price: Rates, cost: Rates): { input: string; output: string } {
  return { input: formatRate(price.input - cost.input), output: formatRate(price.output - cost.output) };
}

function priceJson(price: ModelPrice): z.infer<typeof priceSchema> {
  const { longContext, fast, webSearchPerThousand } = price;
  return {
    ...ratesJson(price.standard),
    ...(longContext && { long_context: { above: longContext.aboveTokens, ...ratesJson(longContext.rates) } }),
    ...(fast && { fast: ratesJson(fast) }),
    ...(webSearchPerThousand !== null && {
      web_search_per_thousand: formatRate(webSearchPerThousand),
    }),
  };
}

function ratesJson(rates: Rates): Record<keyof typeof ratesShown, string> {
  return {
    input: formatRate(rates.input),
    output: formatRate(rates.output),
    cache_read: formatRate(rates.cacheRead),
    cache_write_5m: formatRate(rates.cacheWrite5m),
    cache_write_1h: formatRate(rates.cacheWrite1h),
  };
}
