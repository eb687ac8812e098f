// The services that the installation is connected to: mail, payments, sign-in, telemetry and storage, each with its state and a test.

import { z } from '@hono/zod-openapi';
import { parseWholeNumber } from '../base/checked-number.ts';
import { bounds, type IntegrationId, integrationIds, integrationSettings } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { invalidMember, noObject } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { installation, operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { emailField, timeShown } from './fields.ts';
import { type AdminRoute, type Call, get, post } from './route.ts';

const id = z.enum(integrationIds);
export const integrationSchema = z
  .object({
    id,
    state: z
      .enum(['not_set', 'set', 'working', 'failing'])
      .describe('set: not tested yet. working, failing: the result of the last test.'),
    place: z.string().nullable().describe('Where it leads, without secrets; null if it is not set.'),
    since: timeShown.nullable().describe('The first of the tests in a row with this result.'),
    error: z.string().nullable().describe('Why the last test failed.'),
    settings: z.array(z.string()).describe('The environment variables that set it; storage is set by each export.'),
  })
  .openapi('Integration');
const encodeIntegration = encoderOf(integrationSchema);
export const integrationTestSchema = z
  .object({ ok: z.boolean(), integration: integrationSchema })
  .openapi('IntegrationTest');

const testBody = z.strictObject({ to: emailField.optional().describe('Gets the test mail; required for mail.') });

export const integrationRoutes: AdminRoute[] = [
  get('/integrations', 'integration-list', 'List integrations', installation, {
    answer: [z.object({ data: z.array(integrationSchema) }), 'All of them, set or not'],
    async handle(call) {
      const places = await call.integrations.places();
      return { data: await Promise.all(integrationIds.map((one) => integrationJson(call, one, places[one]))) };
    },
  }),
  post('/integrations/{id}/test', 'integration-test', 'Test an integration', operator, {
    params: z.object({ id: z.string().openapi({ pattern: '^[a-z_]{1,32}$' }) }),
    body: testBody,
    conflict: 'The integration is not set',
    answer: [
      integrationTestSchema,
      'The result. It sends a mail, reads the newest payments, the documents of issuers, sends a span, or writes and deletes a small object',
    ],
    async handle(call) {
      const one = integrationIds.find((known) => known === call.params.id);
      if (one === undefined) throw noObject('integration', call.params.id);
      const place = (await call.integrations.places())[one];
      if (place === null)
        throw new TurnpikeError('conflict', `The integration "${one}" is not set: there is nothing to test.`);
      const { to = null } = call.body;
      if (one === 'mail' && to === null) throw invalidMember('to', 'is missing: the address that gets the test mail');
      await countTest(call, one);
      const failure = await call.integrations.test(one, to);
      await keep(call, one, failure);
      return { ok: failure === null, integration: await integrationJson(call, one, place) };
    },
  }),
];

const factOf = (one: IntegrationId) => `integration:${one}`;

/** A fact is the result, its time in milliseconds since 1970, and the reason. */
function readFact(text: string) {
  const [, state, since = '', error = ''] = /^(working|failing) (\d+) ?(.*)$/s.exec(text) ?? [];
  return { state: state as 'working' | 'failing' | undefined, sinceMs: parseWholeNumber(since), error: error || null };
}

async function integrationJson({ events }: Call, one: IntegrationId, place: string | null) {
  const fact = place === null ? null : readFact(await events.readFact(factOf(one)));
  const { sinceMs = null, error = null } = fact ?? {};
  const state = fact === null ? ('not_set' as const) : (fact.state ?? ('set' as const));
  return encodeIntegration({ id: one, place, state, sinceMs, error, settings: [...integrationSettings[one]] });
}

/** Throws too_many_failures: each test calls another service. */
async function countTest({ signIn }: Call, one: IntegrationId): Promise<void> {
  const { integrationTestsMax, integrationTestsWindowMs } = bounds;
  const counted = await signIn.count(`integration-test:${one}`, integrationTestsMax, integrationTestsWindowMs);
  if (counted.isAllowed) return;
  const { retryAfterMs } = counted;
  throw new TurnpikeError('too_many_failures', 'Too many tests of this integration. Try again later.', {
    retryAfterMs,
  });
}

async function keep(call: Call, one: IntegrationId, failure: string | null): Promise<void> {
  await call.changeInTurn(async () => {
    const from = await call.events.readFact(factOf(one));
    const before = readFact(from);
    const state = failure === null ? 'working' : 'failing';
    const sinceMs = before.state === state ? (before.sinceMs ?? call.clock.nowMs()) : call.clock.nowMs();
    const to = `${state} ${sinceMs}${failure === null ? '' : ` ${failure}`}`;
    const after = { ok: failure === null, ...(failure !== null && { error: failure }) };
    const note = changeNote('integration.test', `integration ${one}`, null, null, after);
    const rows = call.auditRows(recordAudit(call, [note]));
    await call.events.changeFact({ name: factOf(one), from, to }, [], rows);
  });
}
