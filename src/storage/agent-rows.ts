// Sign-ins of coding agents: the rows written with their changes, and the reads. The same for both databases.

import type { AgentClient } from '../accounts/accounts.ts';
import type { AgentGrant, AgentStore, DeviceCode } from '../agents/agents.ts';
import { grantHash } from '../base/ids.ts';
import type { LedgerGate, Operation } from '../ledger/ledger.ts';
import { setKey, submit } from './account-writes.ts';
import type { CoCommittedRow, CoCommittedStatement } from './co-committed.ts';
import { prepareCount, prepareOne } from './readable-rows.ts';
import { columnsAs, type SqlReader } from './sql-reader.ts';

export type AgentRow =
  | { table: 'device_codes'; put: DeviceCode; forgetUntilMs: number }
  /** Refused as Outpaced unless it was pending. */
  | { table: 'device_codes'; decide: DeviceCode }
  /** Refused as Outpaced unless it was approved. */
  | { table: 'device_codes'; take: string }
  /** A new grant, which becomes a secret of its key. Also deletes grants that ended before that time. */
  | { table: 'agent_grants'; put: AgentGrant; forgetUntilMs: number }
  /** Refused as Outpaced unless it was of the generation before. */
  | { table: 'agent_grants'; refresh: AgentGrant }
  /** Refused as Outpaced if it was revoked. `key`: nodes forget what they cached of it. */
  | { table: 'agent_grants'; revoke: AgentGrant; key: { id: number; accountId: number } };

export function agentStatements(row: AgentRow): CoCommittedStatement[] {
  if (row.table === 'device_codes') return codeStatements(row);
  if ('put' in row) return insertGrant(row.put, row.forgetUntilMs);
  if ('refresh' in row) {
    const { id, generation, refreshedAtMs } = row.refresh;
    return [
      {
        text: `UPDATE agent_grants SET generation = $2, refreshed_at_ms = $3
           WHERE id = $1 AND generation = $2 - 1 AND status = 'enabled'`,
        values: [id, generation, refreshedAtMs],
        race: 'the sign-in was refreshed or revoked',
      },
    ];
  }
  const { id, expiresAtMs } = row.revoke;
  return [
    {
      text: `UPDATE agent_grants SET status = 'revoked', expires_at_ms = $2 WHERE id = $1 AND status = 'enabled'`,
      values: [id, expiresAtMs],
      race: 'the sign-in was revoked',
    },
    { text: 'UPDATE key_secrets SET expires_at_ms = $2 WHERE secret_hash = $1', values: [grantHash(id), expiresAtMs] },
  ];
}

function codeStatements(row: Extract<AgentRow, { table: 'device_codes' }>): CoCommittedStatement[] {
  if ('take' in row) {
    const text = `DELETE FROM device_codes WHERE hash = $1 AND status = 'approved'`;
    return [{ text, values: [row.take], race: 'the code was used' }];
  }
  if ('decide' in row) {
    const { hash, status, grantId } = row.decide;
    const text = `UPDATE device_codes SET status = $2, grant_id = $3 WHERE hash = $1 AND status = 'pending'`;
    return [{ text, values: [hash, status, grantId], race: 'the code was approved, denied or has expired' }];
  }
  const { hash, userCode, client, status, address, createdAtMs, expiresAtMs, grantId } = row.put;
  return [
    { text: 'DELETE FROM device_codes WHERE expires_at_ms <= $1', values: [row.forgetUntilMs] },
    {
      text: `INSERT INTO device_codes (hash, user_code, client, status, address, created_at_ms, expires_at_ms, grant_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      values: [hash, userCode, client, status, address, createdAtMs, expiresAtMs, grantId],
    },
  ];
}

function insertGrant(grant: AgentGrant, forgetUntilMs: number): CoCommittedStatement[] {
  const { id, accountId, personId, keyId, client, status, generation, nonce, address } = grant;
  const { createdAtMs, refreshedAtMs, expiresAtMs } = grant;
  return [
    {
      text: `DELETE FROM key_secrets WHERE secret_hash IN (SELECT 'grant.' || id FROM agent_grants WHERE expires_at_ms <= $1)`,
      values: [forgetUntilMs],
    },
    { text: 'DELETE FROM agent_grants WHERE expires_at_ms <= $1', values: [forgetUntilMs] },
    {
      text: `INSERT INTO agent_grants (id, account_id, person_id, key_id, client, status, generation, nonce, address,
           created_at_ms, refreshed_at_ms, expires_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      values: [
        ...[id, accountId, personId, keyId, client, status, generation, nonce, address],
        ...[createdAtMs, refreshedAtMs, expiresAtMs],
      ],
    },
    {
      text: `INSERT INTO agent_keys (person_id, client, key_id) VALUES ($1, $2, $3)
         ON CONFLICT (person_id, client) DO UPDATE SET key_id = excluded.key_id`,
      values: [personId, client, keyId],
    },
    {
      text: 'INSERT INTO key_secrets (secret_hash, key_id, expires_at_ms) VALUES ($1, $2, NULL)',
      values: [grantHash(id), keyId],
    },
  ];
}

type AgentWrites = Pick<
  AgentStore,
  | 'createDeviceCode'
  | 'denyDeviceCode'
  | 'createAgentGrant'
  | 'takeDeviceCode'
  | 'refreshAgentGrant'
  | 'revokeAgentGrant'
>;
export type AgentReads = Omit<AgentStore, keyof AgentWrites>;

/** The writing half of AgentStore. */
export function agentWrites(gate: LedgerGate): AgentWrites {
  return {
    createDeviceCode: (put, forgetUntilMs) => submit(gate, [], [{ table: 'device_codes', put, forgetUntilMs }]),
    denyDeviceCode: (code, auditContext) =>
      submit(gate, [], [{ table: 'device_codes', decide: { ...code, status: 'denied' } }], auditContext),
    createAgentGrant({ code, grant, key: made }, forgetUntilMs, auditContext) {
      const operations: Operation[] = [];
      const rows: CoCommittedRow[] = [];
      if (made !== null) {
        const { key, terms } = made;
        operations.push(setKey(key, terms));
        rows.push({ table: 'keys', key });
      }
      rows.push({ table: 'agent_grants', put: grant, forgetUntilMs });
      rows.push({ table: 'device_codes', decide: { ...code, status: 'approved', grantId: grant.id } });
      return submit(gate, operations, rows, auditContext);
    },
    takeDeviceCode: ({ hash }) => submit(gate, [], [{ table: 'device_codes', take: hash }]),
    refreshAgentGrant: (refresh) => submit(gate, [], [{ table: 'agent_grants', refresh }]),
    revokeAgentGrant: (revoke, auditContext) =>
      submit(
        gate,
        [],
        [{ table: 'agent_grants', revoke, key: { id: revoke.keyId, accountId: revoke.accountId } }],
        auditContext,
      ),
  };
}

export function agentReads(on: SqlReader): AgentReads {
  const codeColumns = columnsAs(
    on,
    'r',
    ['createdAtMs', 'expiresAtMs', 'grantId'],
    ['hash', 'userCode', 'client', 'status', 'address'],
  );
  const grantColumns = columnsAs(
    on,
    'r',
    ['id', 'accountId', 'personId', 'keyId', 'generation', 'createdAtMs', 'refreshedAtMs', 'expiresAtMs'],
    ['client', 'status', 'nonce', 'address'],
  );
  const page = (owner: string) =>
    on.prepare<AgentGrant>(
      `SELECT ${grantColumns} FROM agent_grants r
       WHERE ${owner} (r.created_at_ms, r.id) <
         (COALESCE((SELECT l.created_at_ms FROM agent_grants l WHERE l.id = $1), $2), $1)
       ORDER BY r.created_at_ms DESC, r.id DESC LIMIT $3`,
    );
  const [all, ofAccount, ofPerson] = [page(''), page('r.account_id = $4 AND'), page('r.person_id = $4 AND')];
  const key = on.prepare<{ keyId: number }>(
    `SELECT ${columnsAs(on, 'r', ['keyId'], [])} FROM agent_keys r WHERE r.person_id = $1 AND r.client = $2`,
  );
  return {
    findDeviceCode: prepareOne(on, `SELECT ${codeColumns} FROM device_codes r WHERE r.hash = $1`, asIs<DeviceCode>),
    findDeviceCodeByUserCode: prepareOne(
      on,
      `SELECT ${codeColumns} FROM device_codes r WHERE r.user_code = $1`,
      asIs<DeviceCode>,
    ),
    countDeviceCodes: prepareCount(on, 'device_codes', 'expires_at_ms > $1'),
    getAgentGrant: prepareOne(on, `SELECT ${grantColumns} FROM agent_grants r WHERE r.id = $1`, asIs<AgentGrant>),
    listAgentGrants({ accountId, personId, before, limit }) {
      const at = [before ?? 0, Number.MAX_SAFE_INTEGER, limit] as const;
      if (personId !== null) return ofPerson(...at, personId);
      return accountId === null ? all(...at) : ofAccount(...at, accountId);
    },
    countAgentGrants: prepareCount(on, 'agent_grants', "person_id = $1 AND status = 'enabled' AND expires_at_ms > $2"),
    async findAgentKey(personId: number, client: AgentClient) {
      const [row] = await key(personId, client);
      return row?.keyId ?? null;
    },
  };
}

function asIs<Row>(row: Row): Row {
  return row;
}
