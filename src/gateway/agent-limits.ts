// Limits on spending of coding agents, added to the answers of their messages. They are read beside the message, never from a cache.

import type { AgentCaller, Caller } from '../accounts/accounts.ts';
import type { TurnpikeError } from '../errors.ts';
import type { CallerMeters, Refusal } from '../ledger/ledger.ts';
import { refuseMessage } from './admit-message.ts';
import type { Gateway } from './dependencies.ts';
import { policyOf } from './managed-settings.ts';
import type { AdmissionRequest } from './plan-message.ts';
import { questionOf } from './self-service.ts';
import { agentRefusal, spendHeaders, spendLimitOf } from './spend-limit.ts';

/** Rejects with store_unavailable, overloaded. */
export async function readSpending(gateway: Gateway, caller: Caller): Promise<{ meters: CallerMeters; nowMs: number }> {
  return gateway.selfServiceReads.read(caller, async (reader) => {
    const nowMs = gateway.clock.nowMs();
    const meters = await reader.callerMeters(questionOf(caller, []), nowMs);
    if (meters === null) throw new Error('a key has no meters');
    return { meters, nowMs };
  });
}

/** The headers of an admitted message; without those of the limit if it cannot be read. */
export async function addSpending(
  gateway: Gateway,
  agent: AgentCaller,
  caller: Caller,
  headers: Record<string, string>,
): Promise<Record<string, string>> {
  try {
    const { meters, nowMs } = await readSpending(gateway, caller);
    return { ...headers, ...spendHeaders(agent.client, spendLimitOf(meters, nowMs)) };
  } catch {
    return headers; // the answer is worth more than its headers
  }
}

/** The error of a refused message, for a coding agent in words that it shows. */
export async function refuseAgent(
  gateway: Gateway,
  agent: AgentCaller,
  admissionRequest: AdmissionRequest,
  refusal: Refusal,
  headers: Record<string, string>,
): Promise<TurnpikeError> {
  const error = refuseMessage(gateway, admissionRequest, refusal, headers);
  if (error.code !== 'insufficient_user_quota') return error;
  const { caller, catalog } = admissionRequest;
  const { contact } = policyOf(catalog, caller, agent);
  const read = await readSpending(gateway, caller).catch(() => null);
  const limit = read === null ? null : spendLimitOf(read.meters, read.nowMs);
  // The balance may be what is exhausted, whatever else is limited.
  const isOfWallet = refusal.reason === 'insufficient' && refusal.meter === 'wallet';
  return agentRefusal(error, agent.client, isOfWallet ? null : limit, contact, gateway.clock.nowMs());
}
