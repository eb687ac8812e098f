// An invitation that is accepted by single sign-on: the issuer vouches for the e-mail, so the person is let in without a link and
// without a password. It is a change like any other, made in its turn and left in the audit trail.

import { Hono } from 'hono';
import { formatId, newRequestId } from '../base/ids.ts';
import type { AdminEnvironment } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';
import { personJson } from './person-json.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const HOW = { accepted_by: 'single sign-on' };

/** Does nothing where nobody of this e-mail is invited any more. Rejects with store_unavailable, overloaded. */
export type AcceptVouched = (email: string, address: string) => Promise<void>;

export function makeAcceptVouched(dependencies: AdminDependencies, takeTurn: TakeTurn): AcceptVouched {
  const own = new Hono<AdminEnvironment>(); // within the service: nobody else reaches it
  own.onError((failure) => {
    throw failure;
  });
  own.post('/', async (context) => {
    context.set('requestId', newRequestId(dependencies.clock.nowMs()));
    const email = await context.req.text();
    await takeTurn(context, async () => {
      const before = await dependencies.people.findPersonByEmail(email);
      if (before?.status !== 'invited') return;
      await dependencies.signIn.forgetPassword(email); // of somebody else who had this e-mail, or of a link that was not theirs
      const after = { ...before, status: 'enabled', linkExpiresAtMs: null } as const;
      const { id, role, accountId } = before;
      const object = formatId('person', id);
      context.set('principal', { id: object, role, accountId, expiresAtMs: null });
      const shown = { before: personJson(before), after: { ...personJson(after), ...HOW } };
      const note = { action: 'person.accept', object, account: accountId, ...shown };
      await dependencies.people.updatePerson(after, { hash: null }, leaveTrail(dependencies, context, [note]));
    });
    return context.body(null);
  });
  return async (email, address) => {
    await own.request('/', { method: 'POST', body: email }, { address, isOverTls: false });
  };
}
