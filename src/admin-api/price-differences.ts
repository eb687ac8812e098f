// Price differences: where configured prices and costs are not what the price list of this version
// has. It compares, and changes nothing.

import { z } from '@hono/zod-openapi';
import { comparePrices, type PriceDifference, priceLists } from '../catalog/catalog.ts';
import type { AdminApp } from './admin-app.ts';
import { dayShown, jsonAnswer } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { installation } from './principal.ts';

export const differenceSchema = z
  .object({
    model: z.string(),
    route: z.string().nullable().openapi({ description: '"provider/model" for a cost; null for the price.' }),
    part: z.string().openapi({ examples: ['long_context.output'] }),
    configured: z.string().nullable().openapi({ description: 'What is charged; null where there is no such part.' }),
    listed: z.string().nullable().openapi({ description: 'What the list has; null where it has no such part.' }),
    as_of: dayShown.openapi({ description: 'The day of the list.' }),
    price_source: z
      .object({ catalogue: dayShown })
      .nullable()
      .openapi({ description: 'The list that the configured price was taken from; null when it was stated.' }),
  })
  .openapi('PriceDifference');
export const comparisonSchema = z.object({
  price_lists: z.array(z.object({ family: z.string(), as_of: dayShown, source: z.string() })),
  differences: z.array(differenceSchema),
  unknown: z.array(z.string()).openapi({ description: 'Models that the list does not know.' }),
  retiring: z
    .array(z.object({ model: z.string(), route: z.string(), retires_on: dayShown }))
    .openapi({ description: 'Routes to models of which the provider has announced the end.' }),
});

const listDifferences = defineRoute({
  operationId: 'model-compare',
  summary: 'Compare prices with the price list',
  roles: installation,
  method: 'get',
  path: '/api/v1/models/differences',
  responses: { 200: jsonAnswer(comparisonSchema, 'Prices and costs that are not those of the price list') },
});

export function addPriceDifferences(app: AdminApp, dependencies: AdminDependencies): void {
  // Whole, not in pages: the catalogue is in memory, and no larger than a file that was applied.
  app.openapi(listDifferences, (context) => {
    const { differences, unknown, retiring } = comparePrices(dependencies.catalog.current());
    const answer = {
      price_lists: priceLists().map(({ family, asOf, source }) => ({ family, as_of: asOf, source })),
      differences: differences.map(differenceJson),
      unknown,
      retiring: retiring.map(({ model, route, retiresOn }) => ({ model, route, retires_on: retiresOn })),
    };
    return context.json(answer, 200);
  });
}

function differenceJson({ asOf, configuredAsOf, ...difference }: PriceDifference): z.infer<typeof differenceSchema> {
  return {
    ...difference,
    as_of: asOf,
    price_source: configuredAsOf === null ? null : { catalogue: configuredAsOf },
  };
}
