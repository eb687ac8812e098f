// Usage: one record for every message that was admitted, newest first.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
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
import { accountField, timeField } from './fields.ts';
import { findKey } from './key-json.ts';
import { pageQuery, pagesOf } from './pages.ts';
import {
  accountOf,
  everyone,
  makerOf,
  maySeeAccount,
  maySeeKey,
  type Principal,
  seesProviderCost,
} from './principal.ts';

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
        ms: z.number(),
      }),
    ),
    latency_ms: z.number(),
    first_token_ms: z.number().nullable(),
  })
  .openapi('UsageRecord');

/** By how they ended, of those that were not completed: nearly all were, and a search would find nearly all. */
const cutField = z.enum(['client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'], {
  error: 'must be client_gone, upstream_cut, quota_cut, service_cut or failed',
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
      outcome: cutField.optional(),
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
  responses: { 200: jsonAnswer(usageSchema, 'The record of one message') },
});

export function addUsage(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listUsage, async (context) => {
    const principal = context.get('principal');
    const { limit, cursor, account, key, outcome = null, since, until } = context.req.valid('query');
    const asked = account === undefined ? null : await accountNumber(dependencies, principal, account);
    const pages = pagesOf(dependencies, context);
    const page = {
      account: accountOf(principal, asked),
      key: key === undefined ? null : (await findKey(dependencies, principal, key)).key.id,
      madeBy: makerOf(principal),
      outcome,
      sinceMs: since ?? null,
      untilMs: until ?? null,
      before: pages.after(cursor),
      limit,
    };
    const rows = await dependencies.usage.listUsage(page, askingOf(context));
    const next = pages.next(rows.length, limit, rows.at(-1)?.seq);
    return answerPage(rows, (row) => usageJson(row, principal), next);
  });
  app.openapi(showUsage, async (context) => {
    const { request_id: requestId } = context.req.valid('param');
    const record = await dependencies.usage.getUsage(requestId);
    if (record === null || !(await maySeeRecord(dependencies, context.get('principal'), record)))
      throw new TurnpikeError('object_not_found', `There is no usage record of "${requestId}".`);
    return context.json(usageJson(record, context.get('principal')), 200);
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
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
  };
}

/** The credential and the provider's words are the operator's. */
function attemptJson(
  { provider, model, credential = null, result, status, reason = null, ms }: AttemptRecord,
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
    ms,
  };
}
