// How long the money of an account lasts, or since when its requests are refused.

import { z } from '@hono/zod-openapi';
import { bounds } from '../config/config.ts';
import type { Incident } from '../incidents/incidents.ts';
import { type Forecast, forecastOf, forecastStates, paceSinceMs } from '../reports/reports.ts';
import { type AccountWithMeters, findAccount } from './accounts.ts';
import { type AdminDependencies, holders } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { amountShown, idField, timeShown } from './fields.ts';
import { requesterOf } from './pages.ts';
import { type AdminRoute, get } from './route.ts';

export const forecastSchema = z
  .object({
    account: idField('acct'),
    state: z
      .enum(forecastStates)
      .describe(
        'refused: requests are refused since `refused_since`. exhausted: nothing is available. plan, parent: the plan or the account above pays first. not_used: no cost since `pace_since`. lasts: for `days_left`.',
      ),
    refused_since: timeShown.nullable(),
    cause: z.string().nullable().describe('The error code of the refusals.'),
    available: amountShown,
    cost_per_day: amountShown.describe(
      'Cost without write-offs since `pace_since` or the creation, at least of a day.',
    ),
    days_left: z.number().min(0).nullable().describe('Days until the available amount is used up at this pace.'),
    pace_since: timeShown,
  })
  .openapi('Forecast');

const encodeForecast = encoderOf(forecastSchema);

export const forecastRoutes: AdminRoute[] = [
  get('/accounts/{id}/forecast', 'account-forecast', 'Retrieve how long the money of an account lasts', holders, {
    params: z.object({ id: idField('acct') }),
    answer: [forecastSchema, 'The forecast'],
    async handle(call) {
      const one = await findAccount(call, call.params.id);
      const { id } = one.account;
      const nowMs = call.clock.nowMs();
      const sinceMs = paceSinceMs(bounds.attentionDays, nowMs);
      const everything = { key: null, madeBy: null, model: null, groupBy: 'day', untilMs: null, limit: 1 } as const;
      const { whole } = await call.usage.totalUsage({ ...everything, account: id, sinceMs }, requesterOf(call));
      const refused = (await listRefused(call)).get(id) ?? null;
      const forecast = forecastOfAccount(one, { ...whole, sinceMs }, refused, nowMs);
      return encodeForecast({
        ...forecast,
        account: id,
        available: one.meters.available,
        refusedSinceMs: refused?.beganAtMs ?? null,
        cause: refused?.facts.cause ?? null,
        paceSinceMs: sinceMs,
      });
    },
  }),
];

interface Used {
  cost: bigint;
  writtenOff: bigint;
  sinceMs: number;
}

/** The only forecast of an account. */
export function forecastOfAccount(
  { account, meters }: AccountWithMeters,
  { cost, writtenOff, sinceMs }: Used,
  refused: Incident | null,
  nowMs: number,
): Forecast {
  const { available, plan } = meters;
  const paidBy = account.paysFrom === 'parent' ? 'parent' : plan === null ? null : 'plan';
  const used = cost - writtenOff;
  return forecastOf(
    { available, isRefused: refused !== null, paidBy, createdAtMs: account.createdAtMs, used, sinceMs },
    nowMs,
  );
}

/** The open incidents of accounts whose requests are refused. */
export async function listRefused({ incidents }: Pick<AdminDependencies, 'incidents'>): Promise<Map<number, Incident>> {
  const open = await incidents.listOpenIncidents();
  return new Map(
    open.flatMap((one) => (one.account === null || one.facts.kind !== 'account_refused' ? [] : [[one.account, one]])),
  );
}
