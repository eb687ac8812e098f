// Takes the prices of a newer price list: for models whose price comes from a list.

import { z } from '@hono/zod-openapi';
import { parseTimeMs } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import {
  type CatalogDocument,
  type Fault,
  type PriceList,
  type PriceUpdate,
  planPriceUpdate,
  priceListIn,
  readPriceList,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { type JsonValue, objectOf } from '../wire/wire.ts';
import { invalidRequest } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { dayShown, rateShown, timeShown } from './fields.ts';
import { type AdminRoute, type CallWith, post } from './route.ts';

const body = z.strictObject({
  list: z
    .custom<object>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'must be an object: the content of a price list, as JSON',
    )
    .openapi({ type: 'object' })
    .optional()
    .describe('Replaces the price list in use, unless it is older. Absent: the list in use.'),
  models: z
    .array(z.string({ error: 'must be a name' }))
    .max(bounds.priceListModelsMax)
    .optional()
    .describe('The models that take their prices; absent: all whose price comes from a list.'),
  dry_run: z.boolean().default(false),
});
const answer = z
  .object({
    as_of: dayShown.describe('The date of the newest row of the list.'),
    models: z.array(z.string()).describe('The models that take a price, or only the newer date of an equal price.'),
    changes: z.array(
      z.object({
        model: z.string(),
        part: z.string().openapi({ examples: ['long_context.output'] }),
        from: timeShown.nullable().describe('When it changes; null: now.'),
        before: rateShown.nullable(),
        after: rateShown.nullable(),
        as_of: dayShown.describe('The date of the row.'),
      }),
    ),
    dry_run: z.boolean(),
  })
  .openapi('PriceUpdate');

const encodeUpdate = encoderOf(answer);

export const priceUpdateRoutes: AdminRoute[] = [
  post('/prices/update', 'price-update', 'Take the prices of a newer price list', operator, {
    body,
    answer: [answer, 'The changes that were made, or with `dry_run` would be made'],
    async handle(call) {
      const { dry_run, models: names } = call.body;
      return call.changeInTurn(async () => {
        const documents = await call.catalog.documents();
        const inUse = priceListIn(documents);
        const list = readNewer(call, inUse);
        const update = planPriceUpdate(documents, list, call.clock.nowMs(), names ?? null);
        if (!dry_run) await save(call, documents, update, list === inUse ? null : list);
        return encodeUpdate({ ...update, asOf: list.asOf, dryRun: dry_run });
      });
    },
  }),
];

/** The list of the body; the one in use without it, or if both have the same date. Throws invalid_request. */
function readNewer({ body: { list: given }, clock }: CallWith<typeof body>, inUse: PriceList): PriceList {
  if (given === undefined) return inUse;
  const faults: Fault[] = [];
  const list = readPriceList(given, ['list'], faults);
  if (list === null) throw invalidRequest(faults);
  const refuse = (message: string) => invalidRequest([{ path: ['list'], message }]);
  if (list.asOf < inUse.asOf) throw refuse(`is of ${list.asOf}, older than the list in use, of ${inUse.asOf}`);
  if ((parseTimeMs(list.asOf) ?? 0) > clock.nowMs() + DAY_MS)
    throw refuse(`is of ${list.asOf}, which is in the future`);
  return list;
}

/** `list` replaces the list in use; null: it stays. */
async function save(
  call: CallWith<typeof body>,
  documents: readonly CatalogDocument[],
  { put }: PriceUpdate,
  list: PriceList | null,
): Promise<void> {
  const before = new Map(documents.map((one) => [`${one.kind} ${one.name}`, one.document]));
  const notes = put.map(({ kind, name, document }) => {
    const object = `${kind} ${name}`;
    return changeNote('model.update', object, null, before.get(object) ?? null, document);
  });
  const stored: CatalogDocument[] = [];
  if (list !== null) {
    const document = objectOf(call.body.list as JsonValue);
    stored.push({ kind: 'price_list', name: 'price_list', origin: 'api', document });
    // The list itself would be too large for the audit log.
    notes.push(changeNote('price_list.update', 'price_list', null, null, { as_of: list.asOf }));
  }
  if (notes.length > 0) await call.catalog.save([...stored, ...put], [], recordAudit(call, notes));
}
