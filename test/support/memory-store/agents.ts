// Sign-ins of coding agents in memory.

import { grantHash } from '../../../src/base/ids.ts';
import { Outpaced } from '../../../src/ledger/ledger.ts';
import type { AgentReads, AgentRow } from '../../../src/storage/agent-rows.ts';
import type { CoCommittedRow } from '../../../src/storage/co-committed.ts';
import type { MemoryTables } from './tables.ts';

export function isAgentRow(row: CoCommittedRow): row is AgentRow {
  return row.table === 'agent_grants' || row.table === 'device_codes';
}

/** Throws Outpaced if another change came first, also one of those before it in the same batch. */
export function refuseOutpacedAgent(tables: MemoryTables, row: AgentRow, before: readonly CoCommittedRow[]): void {
  const copies = {
    ...tables,
    agentGrants: new Map(tables.agentGrants),
    agentKeys: new Map(tables.agentKeys),
    deviceCodes: new Map(tables.deviceCodes),
    keySecrets: new Map(tables.keySecrets),
  };
  for (const earlier of before) if (isAgentRow(earlier)) writeAgents(copies, earlier);
  if (isOutpaced(copies, row)) throw new Outpaced('another change came first');
}

function isOutpaced({ agentGrants, deviceCodes }: MemoryTables, row: AgentRow): boolean {
  if ('put' in row) return false;
  if ('decide' in row) return deviceCodes.get(row.decide.hash)?.status !== 'pending';
  if ('take' in row) return deviceCodes.get(row.take)?.status !== 'approved';
  const changed = 'refresh' in row ? row.refresh : row.revoke;
  const stored = agentGrants.get(changed.id);
  if (stored?.status !== 'enabled') return true;
  return 'refresh' in row && stored.generation !== changed.generation - 1;
}

export function writeAgents({ agentGrants, agentKeys, deviceCodes, keySecrets }: MemoryTables, row: AgentRow): void {
  if (row.table === 'device_codes') {
    if ('take' in row) deviceCodes.delete(row.take);
    else if ('decide' in row) deviceCodes.set(row.decide.hash, row.decide);
    else {
      for (const [hash, { expiresAtMs }] of deviceCodes) if (expiresAtMs <= row.forgetUntilMs) deviceCodes.delete(hash);
      deviceCodes.set(row.put.hash, row.put);
    }
  } else if ('put' in row) {
    const { id, personId, client, keyId } = row.put;
    for (const grant of agentGrants.values())
      if (grant.expiresAtMs <= row.forgetUntilMs) {
        agentGrants.delete(grant.id);
        keySecrets.delete(grantHash(grant.id));
      }
    agentGrants.set(id, row.put);
    agentKeys.set(`${personId} ${client}`, keyId);
    keySecrets.set(grantHash(id), { keyId, expiresAtMs: null });
  } else if ('refresh' in row) agentGrants.set(row.refresh.id, row.refresh);
  else {
    const { id, keyId, expiresAtMs } = row.revoke;
    agentGrants.set(id, row.revoke);
    keySecrets.set(grantHash(id), { keyId, expiresAtMs });
  }
}

export function agentReads({ agentGrants, agentKeys, deviceCodes }: MemoryTables): AgentReads {
  return {
    findDeviceCode: async (hash) => deviceCodes.get(hash) ?? null,
    findDeviceCodeByUserCode: async (userCode) =>
      [...deviceCodes.values()].find((code) => code.userCode === userCode) ?? null,
    countDeviceCodes: async (nowMs) =>
      [...deviceCodes.values()].filter(({ expiresAtMs }) => expiresAtMs > nowMs).length,
    getAgentGrant: async (id) => agentGrants.get(id) ?? null,
    async listAgentGrants({ accountId, personId, before, limit }) {
      const sorted = [...agentGrants.values()]
        .filter((grant) => accountId === null || grant.accountId === accountId)
        .filter((grant) => personId === null || grant.personId === personId)
        .sort((a, b) => b.createdAtMs - a.createdAtMs || b.id - a.id);
      const from = before === null ? 0 : sorted.findIndex(({ id }) => id === before) + 1;
      return sorted.slice(from, from + limit);
    },
    countAgentGrants: async (personId, nowMs) =>
      [...agentGrants.values()].filter(
        (grant) => grant.personId === personId && grant.status === 'enabled' && grant.expiresAtMs > nowMs,
      ).length,
    findAgentKey: async (personId, client) => agentKeys.get(`${personId} ${client}`) ?? null,
  };
}
