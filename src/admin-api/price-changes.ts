// Scheduled prices: versions of a model's price that take effect later, with their effect on the messages of the last week.

import { z } from '@hono/zod-openapi';
import {
  type CatalogDocument,
  cancelPrice,
  type Fault,
  type PlannedPrices,
  type PriceRefusal,
  priceOfChange,
  readPrice,
  schedulePrice,
} from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import { invalidRequest, noObject } from './admin-app.ts';
import { applyDocument } from './apply.ts';
import { changesOf, priceChangesShown, priceWritten } from './catalog.ts';
import { installation, operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { amountShown, countShown, timeField, timeShown } from './fields.ts';
import { readPriceEffect } from './price-effect.ts';
import { type AdminRoute, type Call, get, post } from './route.ts';

const listSchema = z.object({
  data: z
    .array(z.object({ model: z.string(), changes: priceChangesShown }))
    .describe('The models that have any, by name.'),
});
const encodeList = encoderOf(listSchema);

const sums = {
  messages: countShown,
  billed: amountShown.describe('As billed.'),
  billed_then: amountShown.describe('At the scheduled price, with the same counts, multipliers and service tiers.'),
  provider_cost: amountShown.describe('Of the messages whose provider cost is known.'),
  costed_messages: countShown,
};
const effectSchema = z.object({
  since: timeShown,
  until: timeShown,
  counted_since: timeShown
    .nullable()
    .describe('Earlier messages are not counted, because there are too many; null if all are.'),
  all_messages: countShown.describe(
    'Messages from `since` to `until`, of which `messages` are the newest; the same number if all are counted.',
  ),
  all_billed: amountShown.describe('As billed for `all_messages`.'),
  ...sums,
  not_sold: countShown.describe('Messages in a service tier that the scheduled price does not have.'),
  groups: z
    .array(z.object({ group: z.string(), multiplier: z.string(), ...sums }))
    .describe('By group and multiplier, the highest bill first.'),
});
export const plannedPriceSchema = z
  .object({
    model: z.string(),
    from: timeShown,
    price: priceWritten,
    leaves_price_list: z
      .boolean()
      .describe('The price came from the price list. It is stated from now on: newer lists no longer change it.'),
    effect: effectSchema.nullable().describe('On the messages of the last seven days; null for an entry with "*".'),
    dry_run: z.boolean(),
  })
  .openapi('PlannedPrice');
const encodeEffect = encoderOf(effectSchema);

const name = z.string({ error: 'must be a name' });
const anyPrice = z
  .custom<object>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object: a price as in an applied file',
  )
  .openapi({ type: 'object' });
const scheduleBody = z.strictObject({
  model: name,
  from: timeField.describe('When it takes effect: a time to come. A message pays the price in force at its admission.'),
  price: anyPrice.describe('The whole price, as in an applied file.'),
  dry_run: z.boolean().default(false),
});
const cancelBody = z.strictObject({ model: name, from: timeField });
export const canceledPriceSchema = z
  .object({ model: z.string(), from: timeShown, price: priceWritten })
  .openapi('CanceledPrice');

export const priceChangeRoutes: AdminRoute[] = [
  get('/price-changes', 'price-change-list', 'List scheduled prices', installation, {
    answer: [listSchema, 'Later versions of prices, in order'],
    handle({ catalog }) {
      const { models, patterns } = catalog.current();
      const written = [...models.values(), ...patterns.values()].filter(({ entry }) => entry === null);
      const data = written.flatMap((model) => {
        const changes = changesOf(model.price);
        return changes.length === 0 ? [] : [{ model: model.name, changes }];
      });
      return encodeList({ data: data.sort((one, other) => (one.model < other.model ? -1 : 1)) });
    },
  }),
  post('/price-changes', 'price-change-create', 'Schedule a price', operator, {
    body: scheduleBody,
    conflict: 'The model has a version from that time',
    answer: [plannedPriceSchema, 'The version that was scheduled, or with `dry_run` would be, with its effect'],
    async handle(call) {
      const { model, from: fromMs, price: given, dry_run: isDry } = call.body;
      if (fromMs <= call.clock.nowMs()) throw invalidRequest([{ path: ['from'], message: 'must be a time to come' }]);
      const faults: Fault[] = [];
      const price = readPrice(given, call.catalog.current().models.get(model)?.serves ?? 'messages', faults);
      if (price === null) throw invalidRequest(faults);
      const change = { ...price, from: new Date(fromMs).toISOString() };
      const schedule = (documents: readonly CatalogDocument[]) => {
        const planned = schedulePrice(documents, model, change);
        if (planned === 'no model')
          throw invalidRequest([{ path: ['model'], message: `there is no model "${model}"` }]);
        return planned;
      };
      const planned = await apply(call, schedule, { model, isDry });
      const effect = model.includes('*') ? null : await readPriceEffect(call, model, priceOfChange(change));
      return {
        ...versionOf(model, planned),
        leaves_price_list: planned.leavesList,
        effect: effect && encodeEffect(effect),
        dry_run: isDry,
      };
    },
  }),
  post('/price-changes/cancel', 'price-change-cancel', 'Cancel a scheduled price', operator, {
    body: cancelBody,
    conflict: 'The version is in force',
    notFound: 'There is no such model, or it has no version from that time',
    answer: [canceledPriceSchema, 'The version that was canceled'],
    async handle(call) {
      const { model, from: fromMs } = call.body;
      const from = new Date(fromMs).toISOString();
      const cancel = (documents: readonly CatalogDocument[]) => cancelPrice(documents, model, from, call.clock.nowMs());
      return versionOf(model, await apply(call, cancel, { model, isDry: false }));
    },
  }),
];

/** Throws object_not_found, conflict and invalid_request. */
async function apply(
  call: Call,
  plan: (documents: readonly CatalogDocument[]) => PlannedPrices | PriceRefusal,
  { model, isDry }: { model: string; isDry: boolean },
): Promise<PlannedPrices> {
  const made: PlannedPrices[] = [];
  await applyDocument(
    call,
    async () => {
      const planned = plan(await call.catalog.documents());
      if (typeof planned === 'string') throw refusal(planned, model);
      made.push(planned);
      return planned.document;
    },
    { isDry },
  );
  return made.at(-1) as PlannedPrices;
}

function refusal(reason: PriceRefusal, model: string): TurnpikeError {
  switch (reason) {
    case 'no model':
      return noObject('model', model);
    case 'no version':
      return noObject('scheduled price of the model', model);
    case 'taken':
      return new TurnpikeError('conflict', `The model "${model}" has a price from that time: cancel it first.`);
    case 'in force':
      return new TurnpikeError('conflict', `This price of "${model}" is in force: schedule another one.`);
  }
}

function versionOf(model: string, { change: { from, ...price } }: PlannedPrices) {
  return { model, from, price };
}
