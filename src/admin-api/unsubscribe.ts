// Ends mails to a destination with the token that each of them has. Mails about security go on: see wantsEvent.

import { z } from '@hono/zod-openapi';
import { type AuditContext, describeChange } from '../audit/audit.ts';
import { DAY_MS } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { type Destination, openUnsubscribe } from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import { isoTime } from './fields.ts';
import { type AdminRoute, type Call, post } from './route.ts';
import { refuseMore } from './sign-ups.ts';

const unsubscribeBody = z.strictObject({
  token: z.string({ error: 'must be the token of a mail' }).openapi({ examples: ['v1.…'] }),
  undo: z.boolean({ error: 'must be true or false' }).default(false).describe('true: subscribe again.'),
});
export const unsubscribedSchema = z.object({ email: z.string(), subscribed: z.boolean() });

export const unsubscribeRoutes: AdminRoute[] = [
  post('/unsubscribe', 'mail-unsubscribe', 'End mails with the token of a mail', 'anyone', {
    body: unsubscribeBody,
    notFound: 'The token is not one of a mail',
    answer: [unsubscribedSchema, 'The address, which gets mails about security only'],
    async handle(call) {
      const { token, undo } = call.body;
      const opened = openUnsubscribe(call.vault, token);
      if (opened === null)
        throw (
          call.countFailure(call.context.env.address) ??
          new TurnpikeError('object_not_found', 'This link is not valid. Use the link of a newer mail.')
        );
      await refuseMore(call, `unsubscribe:${opened.id}`, bounds.unsubscribesPerDayMax, DAY_MS);
      await call.changeInTurn(() => change(call, opened, undo));
      return { email: opened.address, subscribed: undo };
    },
  }),
];

/** A destination that has another address meanwhile is left alone; the answer does not say so. */
async function change(call: Call, { id, address }: { id: number; address: string }, undo: boolean): Promise<void> {
  const { destinations, clock } = call;
  const before = await destinations.getDestination(id);
  if (before?.kind !== 'mail' || before.address !== address || (before.unsubscribedAtMs === null) === undo) return;
  const changed: Destination = { ...before, unsubscribedAtMs: undo ? null : clock.nowMs() };
  await destinations.updateDestination(changed, clock.nowMs(), auditOf(call, before, changed));
}

/** The actor is the holder of the mail: no person or token is known. */
function auditOf({ context, clock }: Call, before: Destination, changed: Destination): AuditContext {
  const shown = ({ unsubscribedAtMs }: Destination) => ({ unsubscribed_at: isoTime(unsubscribedAtMs) });
  const record = {
    atMs: clock.nowMs(),
    actor: {
      ...{ id: 'recipient', role: 'service' as const },
      ...{ address: context.env.address, requestId: context.get('requestId') },
    },
    action: changed.unsubscribedAtMs === null ? 'destination.resubscribe' : 'destination.unsubscribe',
    object: formatId('dest', before.id),
    account: before.accountId,
    ...describeChange(shown(before), shown(changed)),
  };
  context.set('records', [record]);
  return { audit: [record], creation: null, since: null };
}
