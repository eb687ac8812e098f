// The types of events, the events that happened, and their deliveries with every attempt.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import type { ListedDelivery } from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import { describeEvent, type EventType, eventTypes, isEventType, type StoredEvent } from '../events/events.ts';
import { askedAccount } from './accounts.ts';
import { findObject } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { accountOf, holders, holdersWhoChange, maySeeAccount, type Principal } from './dependencies.ts';
import { boundSending, findDestination } from './destinations.ts';
import { encoderOf, type ValueOf } from './encode.ts';
import { accountField, countShown, idField, rangeFields, timeShown } from './fields.ts';
import { after, answerPage, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get, list, post } from './route.ts';
import { untyped } from './visibility.ts';

const types = Object.keys(eventTypes) as [EventType, ...EventType[]];
const ofAccounts = types.filter((type) => eventTypes[type].audience === 'account');

/** The types that the principal's destinations may have. */
function visibleTypes({ accountId }: Principal): readonly EventType[] {
  return accountId === null ? types : ofAccounts;
}

const eventTypeSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    severity: z.enum(['info', 'warning', 'error']),
    audience: z.enum(['account', 'installation']).describe('installation: for operators only.'),
    is_security: z.boolean().describe('Mails about it cannot be unsubscribed.'),
    data: z.record(z.string(), z.unknown()).describe('The JSON schema of its data.'),
  })
  .openapi('EventType');

export const eventTypesSchema = z.object({ data: z.array(eventTypeSchema) });

export const eventSchema = z
  .object({
    id: idField('evt'),
    type: z.string(),
    timestamp: timeShown,
    account: idField('acct').nullable().describe('null: the installation.'),
    data: untyped(z.record(z.string(), z.unknown())),
    title: z.string(),
    description: z.string(),
  })
  .openapi('Event');

/** Values for `eventSchema`. */
function eventOf(event: StoredEvent): ValueOf<typeof eventSchema> {
  const { title = event.type } = isEventType(event.type) ? eventTypes[event.type] : {};
  const description = isEventType(event.type) ? describeEvent(event) : '';
  return { ...event, id: event.seq, timestampMs: event.atMs, title, description };
}

const attemptSchema = z.object({
  at: timeShown,
  ms: countShown,
  status: z.int().nullable().describe('The status of the answer; null: none.'),
  error: z.string().nullable().describe('null: it succeeded.'),
  excerpt: z.string().nullable().describe('The beginning of the answer of a failed attempt.'),
});

const deliveryStatus = z.enum(['pending', 'delivered', 'failed'], { error: 'must be pending, delivered or failed' });

export const deliverySchema = z
  .object({
    id: idField('dlv'),
    destination: idField('dest'),
    event: eventSchema,
    status: deliveryStatus,
    tries: countShown.describe('Attempts since it was created or redelivered.'),
    created_at: timeShown,
    next_attempt_at: timeShown.nullable().describe('null while pending: an earlier event is delivered first.'),
    done_at: timeShown.nullable(),
    attempts: z.array(attemptSchema).describe('The latest attempts, oldest first.'),
  })
  .openapi('Delivery');

const encodeEvent = encoderOf(eventSchema);
const encodeDelivery = encoderOf(deliverySchema);

function deliveryJson(delivery: ListedDelivery): z.infer<typeof deliverySchema> {
  const { seq: id, destinationId: destination, event, nextAtMs: nextAttemptAtMs } = delivery;
  return encodeDelivery({ ...delivery, id, destination, event: eventOf(event), nextAttemptAtMs });
}

/** Throws object_not_found, also for a delivery to a destination that the principal may not see. */
function findDelivery(call: Call, id: string): Promise<ListedDelivery> {
  const isSeen = ({ accountId }: ListedDelivery) => maySeeAccount(call, accountId);
  return findObject('dlv', 'delivery', id, call.deliveries.getDelivery, isSeen);
}

const params = z.object({ id: idField('dlv') });

export const deliveryRoutes: AdminRoute[] = [
  get('/event-types', 'event-type-list', 'List the types of events', holders, {
    answer: [eventTypesSchema, 'The types that destinations can have'],
    handle({ principal }) {
      const data = visibleTypes(principal).map((type) => {
        const { title, severity, audience, isSecurity, data: schema } = eventTypes[type];
        return { type, title, severity, audience, is_security: isSecurity, data: { ...z.toJSONSchema(schema) } };
      });
      return { data };
    },
  }),
  list('/events', 'event-list', 'List events', holders, {
    query: {
      account: accountField.optional(),
      type: z.enum(types, { error: 'must be a type of event' }).optional(),
      ...rangeFields,
    },
    page: [eventSchema, 'Events, newest first'],
    async handle(call) {
      const { principal, query } = call;
      const account = accountOf(principal, await askedAccount(call, query.account));
      const visible = principal.accountId === null ? null : visibleTypes(principal);
      const asked = query.type === undefined ? visible : visibleTypes(principal).filter((type) => type === query.type);
      const { since: sinceMs = null, until: untilMs = null, limit } = query;
      const page = { account, types: asked, sinceMs, untilMs, before: after(call), limit };
      const rows = asked?.length === 0 ? [] : await call.events.listEvents(page, requesterOf(call));
      return answerPage(
        call,
        rows,
        (event) => encodeEvent(eventOf(event)),
        ({ seq }) => seq,
      );
    },
  }),
  list('/deliveries', 'delivery-list', 'List deliveries of events', holders, {
    query: { destination: idField('dest').optional(), status: deliveryStatus.optional(), ...rangeFields },
    notFound: 'There is no such destination',
    page: [deliverySchema, 'Deliveries, newest first'],
    async handle(call) {
      const { destination, status = null, since: sinceMs = null, until: untilMs = null, limit } = call.query;
      const found = destination === undefined ? null : await findDestination(call, destination);
      const accountId = accountOf(call.principal, found?.accountId ?? null);
      const page = {
        accountId,
        destinationId: found?.id ?? null,
        status,
        sinceMs,
        untilMs,
        before: after(call),
        limit,
      };
      return answerPage(
        call,
        await call.deliveries.listDeliveries(page, requesterOf(call)),
        deliveryJson,
        ({ seq }) => seq,
      );
    },
  }),
  get('/deliveries/{id}', 'delivery-show', 'Retrieve a delivery with its attempts', holders, {
    params,
    answer: [deliverySchema, 'The delivery'],
    handle: async (call) => deliveryJson(await findDelivery(call, call.params.id)),
  }),
  post('/deliveries/{id}/redeliver', 'delivery-redeliver', 'Send an event to its destination again', holdersWhoChange, {
    params,
    body: z.strictObject({}),
    conflict: 'The destination is disabled, or the delivery waits for an earlier one',
    answer: [deliverySchema, 'The delivery, which is due now'],
    async handle(call) {
      await findDelivery(call, call.params.id);
      await boundSending(call);
      await call.changeInTurn(() => redeliver(call, call.params.id));
      return deliveryJson(await findDelivery(call, call.params.id));
    },
  }),
];

async function redeliver(call: Call, id: string): Promise<void> {
  const delivery = await findDelivery(call, id);
  const destination = await findDestination(call, formatId('dest', delivery.destinationId));
  if (destination.status === 'disabled')
    throw new TurnpikeError('conflict', 'The destination is disabled: enable it first.');
  if (delivery.status === 'pending' && delivery.nextAtMs === null)
    throw new TurnpikeError('conflict', 'An earlier event is delivered first: this one follows by itself.');
  const nowMs = call.clock.nowMs();
  const shown = { event: formatId('evt', delivery.eventSeq), destination: formatId('dest', delivery.destinationId) };
  const note = changeNote('delivery.redeliver', id, destination.accountId, null, shown);
  await call.deliveries.redeliver(delivery.seq, nowMs, recordAudit(call, [note]));
}
