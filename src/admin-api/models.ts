// Models: what is sold, at which price, over which routes.

import { createRoute, z } from '@hono/zod-openapi';
import { formatDecimal } from '../base/money.ts';
import type { Model, ModelPrice, Rates } from '../catalog/catalog.ts';
import type { AdminApp } from './admin-app.ts';
import { pageAnswer } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { pageByName, pageQuery } from './pages.ts';

const PRICE_FRACTION_DIGITS = 12;

const priceSchema = z.record(z.string(), z.union([z.string(), z.record(z.string(), z.union([z.string(), z.int()]))]));
const modelSchema = z
  .object({
    name: z.string(),
    display_name: z.string(),
    aliases: z.array(z.string()),
    price: priceSchema.openapi({ description: 'USD per million tokens, by the names that apply takes.' }),
    max_input_tokens: z.int().nullable(),
    max_output_tokens: z.int().nullable(),
    default_max_tokens: z.int(),
    routes: z.array(
      z.object({
        provider: z.string(),
        model: z.string(),
        priority: z.number(),
        weight: z.number(),
        cost: priceSchema.nullable(),
      }),
    ),
    created_at: z.string(),
  })
  .openapi('Model');

const listModels = createRoute({
  method: 'get',
  path: '/api/v1/models',
  request: { query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(modelSchema, 'Models by name') },
});

export function addModels(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listModels, (context) => {
    const { rows, next } = pageByName(dependencies.catalog.current().models.values(), context.req.valid('query'));
    return context.json({ data: rows.map(modelJson), next_cursor: next }, 200);
  });
}

function modelJson(model: Model): z.infer<typeof modelSchema> {
  return {
    name: model.name,
    display_name: model.displayName,
    aliases: [...model.aliases],
    price: priceJson(model.price),
    max_input_tokens: model.maxInputTokens,
    max_output_tokens: model.maxOutputTokens,
    default_max_tokens: model.defaultMaxTokens,
    routes: model.routes.map((route) => ({
      provider: route.provider,
      model: route.upstreamModel,
      priority: route.priority,
      weight: route.weight,
      cost: route.cost === null ? null : priceJson(route.cost),
    })),
    created_at: model.createdAt,
  };
}

function priceJson(price: ModelPrice): z.infer<typeof priceSchema> {
  const { longContext, fast, webSearchPerThousand } = price;
  return {
    ...ratesJson(price.standard),
    ...(longContext && { long_context: { above: longContext.aboveTokens, ...ratesJson(longContext.rates) } }),
    ...(fast && { fast: ratesJson(fast) }),
    ...(webSearchPerThousand !== null && {
      web_search_per_thousand: formatDecimal(webSearchPerThousand, PRICE_FRACTION_DIGITS),
    }),
  };
}

function ratesJson(rates: Rates): Record<string, string> {
  const decimal = (rate: bigint) => formatDecimal(rate, PRICE_FRACTION_DIGITS);
  return {
    input: decimal(rates.input),
    output: decimal(rates.output),
    cache_read: decimal(rates.cacheRead),
    cache_write_5m: decimal(rates.cacheWrite5m),
    cache_write_1h: decimal(rates.cacheWrite1h),
  };
}
