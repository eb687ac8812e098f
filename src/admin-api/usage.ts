// Usage: one record for every message that was admitted, newest first.

import { z } from '@hono/zod-openapi';
import { beganAtMs, formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import { type AttemptRecord, marginOf, type StoredUsageRecord } from '../ledger/ledger.ts';
import { accountNumber } from './account-json.ts';
import type { AdminApp } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { amountShown, countShown, idField, jsonAnswer, pageAnswer, requestIdField, timeShown } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { accountField, modelFilter, timeField } from './fields.ts';
import { findKey, isoTime } from './key-json.ts';
import { metersJson, metersSchema } from './meters-json.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { priceJson, priceSchema } from './price-json.ts';
import {
  accountOf,
  everyone,
  makerOf,
  maySeeAccount,
  maySeeKey,
  type Principal,
  seesProviderCost,
} from './principal.ts';

function sinceReceived(description: string) {
  return z.number().openapi({ description: `Milliseconds since received_at. ${description}` });
}

export const usageSchema = z
  .object({
    request_id: requestIdField,
    at: timeShown,
    account: idField('acct'),
    key: idField('key'),
    group: z.string(),
    model: z.string(),
    provider: z.string().nullable(),
    upstream_model: z.string().nullable(),
    stream: z.boolean(),
    outcome: z.enum(['completed', 'client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed']),
    status: z.int(),
    input_tokens: countShown,
    output_tokens: countShown,
    cache_read_input_tokens: countShown,
    cache_creation_input_tokens: countShown,
    cache_creation: z.object({ ephemeral_5m_input_tokens: countShown, ephemeral_1h_input_tokens: countShown }),
    web_searches: countShown,
    usage_source: z.enum(['reported', 'estimated', 'none']),
    cost: amountShown,
    written_off: amountShown,
    provider_cost: amountShown.nullable(),
    margin: amountShown
      .nullable()
      .openapi({ description: 'cost − written_off − provider_cost; null when provider_cost is not known.' }),
    rates: z.record(z.string(), z.string()),
    attempts: z.array(
      z.object({
        provider: z.string(),
        model: z.string(),
        credential: z.string().nullable(),
        result: z.string(),
        status: z.int().nullable(),
        reason: z.string().nullable().openapi({
          description: 'Why it failed; null where it was answered, and for who does not see what providers cost.',
        }),
        started_ms: sinceReceived('When it began; null in older records.').nullable(),
        ms: z.number().openapi({
          description: 'How long it lasted until its first content or its whole answer had come, or until it failed.',
        }),
      }),
    ),
    received_at: timeShown.nullable().openapi({ description: 'From which all milliseconds here count.' }),
    admitted_ms: sinceReceived('When it was admitted; null in older records, and where nobody ended it.').nullable(),
    latency_ms: sinceReceived('When its answer had ended.'),
    first_token_ms: sinceReceived('When its first content had come; null where it was not streamed.').nullable(),
    meters: metersSchema.nullable().openapi({ description: 'As the message ended; null in older records.' }),
  })
  .openapi('UsageRecord');

export const receiptSchema = usageSchema
  .extend({ price: priceSchema.nullable().openapi({ description: 'Null where nothing was priced.' }) })
  .openapi('UsageReceipt');

const outcomeField = z.enum(['completed', 'client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'], {
  error: 'must be completed, client_gone, upstream_cut, quota_cut, service_cut or failed',
});

const listUsage = defineRoute({
  operationId: 'usage-list',
  summary: 'List usage records',
  roles: everyone,
  method: 'get',
  path: '/api/v1/usage',
  request: {
    query: z.strictObject({
      ...pageQuery,
      account: accountField.optional(),
      key: idField('key').optional(),
      model: modelFilter.optional(),
      outcome: outcomeField.optional(),
      since: timeField.optional(),
      until: timeField.optional(),
    }),
  },
  responses: { 200: pageAnswer(usageSchema, 'Usage records, newest first') },
});
const showUsage = defineRoute({
  operationId: 'usage-show',
  summary: 'Show a usage record',
  roles: everyone,
  method: 'get',
  path: '/api/v1/usage/{request_id}',
  request: { params: z.object({ request_id: requestIdField }) },
  responses: { 200: jsonAnswer(receiptSchema, 'The record of one message, and how its cost came about') },
});

export function addUsage(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listUsage, async (context) => {
    const principal = context.get('principal');
    const { limit, cursor, account, key, model = null, outcome = null, since, until } = context.req.valid('query');
    const asked = account === undefined ? null : await accountNumber(dependencies, principal, account);
    const pages = pagesOf(dependencies, context);
    const page = {
      account: accountOf(principal, asked),
      key: key === undefined ? null : (await findKey(dependencies, principal, key)).key.id,
      madeBy: makerOf(principal),
      outcome: outcome === 'completed' ? null : outcome,
      sinceMs: since ?? null,
      untilMs: until ?? null,
      before: pages.after(cursor),
      limit,
    };
    const json = (row: StoredUsageRecord) => usageJson(row, principal);
    if (model === null && outcome !== 'completed') {
      const rows = await dependencies.usage.listUsage(page, askingOf(context));
      return answerPage(rows, json, pages.next(rows.length, limit, rows.at(-1)?.seq));
    }
    const search = { ...page, model, isCompleted: outcome === 'completed' };
    const { rows, next } = await dependencies.usage.searchUsage(search, askingOf(context));
    return answerPage(rows, json, next === null ? null : pages.next(limit, limit, next)); // also where the page is not full
  });
  app.openapi(showUsage, async (context) => {
    const { request_id: requestId } = context.req.valid('param');
    const record = await dependencies.usage.getUsage(requestId);
    if (record === null || !(await maySeeRecord(dependencies, context.get('principal'), record)))
      throw new TurnpikeError('object_not_found', `There is no usage record of "${requestId}".`);
    return context.json({ ...usageJson(record, context.get('principal')), price: priceJson(record) }, 200);
  });
}

async function maySeeRecord(
  { accounts }: AdminDependencies,
  principal: Principal,
  record: StoredUsageRecord,
): Promise<boolean> {
  if (principal.role !== 'member') return maySeeAccount(principal, record.account);
  const key = await accounts.getKey(record.key);
  return key !== null && maySeeKey(principal, key);
}

function usageJson(record: StoredUsageRecord, principal: Principal): z.infer<typeof usageSchema> {
  const providerCost = seesProviderCost(principal) ? record.providerCost : null;
  const margin = marginOf({ ...record, providerCost });
  return {
    request_id: record.requestId,
    at: new Date(record.atMs).toISOString(),
    account: formatId('acct', record.account),
    key: formatId('key', record.key),
    group: record.group,
    model: record.model,
    provider: record.provider,
    upstream_model: record.upstreamModel,
    stream: record.stream,
    outcome: record.outcome,
    status: record.status,
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    cache_read_input_tokens: record.cacheReadTokens,
    cache_creation_input_tokens: record.cacheWrite5mTokens + record.cacheWrite1hTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: record.cacheWrite5mTokens,
      ephemeral_1h_input_tokens: record.cacheWrite1hTokens,
    },
    web_searches: record.webSearches,
    usage_source: record.usageSource,
    cost: formatUsd(record.cost),
    written_off: formatUsd(record.writtenOff),
    provider_cost: providerCost === null ? null : formatUsd(providerCost),
    margin: margin === null ? null : formatUsd(margin),
    rates: record.rates,
    attempts: record.attempts.map((attempt) => attemptJson(attempt, principal)),
    received_at: isoTime(beganAtMs(record.requestId)),
    admitted_ms: record.admittedMs,
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
    meters: record.meters === null ? null : metersJson(record.meters, principal),
  };
}

/** The credential and the provider's words are the operator's. */
function attemptJson(
  { provider, model, credential = null, result, status, reason = null, startedMs = null, ms }: AttemptRecord,
  principal: Principal,
): z.infer<typeof usageSchema>['attempts'][number] {
  const isShown = seesProviderCost(principal);
  return {
    provider,
    model,
    credential: isShown ? credential : null,
    result,
    status,
    reason: isShown ? reason : null,
    started_ms: startedMs,
    ms,
  };
}
