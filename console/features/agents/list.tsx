// Sign-ins of coding agents, which their people and owners of the account can end.

import { Text } from '@mantine/core';
import type { AgentSignInShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { useActors, useNames } from '../../names.ts';
import { type Column, DataTable, statusColumn, timeColumn } from '../../parts/data-table.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { ButtonLink } from '../../parts/link.tsx';
import { EmptyState, PageHead } from '../../parts/page.tsx';
import { useChange, useList } from '../../queries.ts';

export const clientLabels = { 'claude-code': 'Claude Code', codex: 'Codex' };

export function AgentSignInList() {
  const me = useMe();
  const rows = useList('/agent-sign-ins');
  const names = useNames(rows.rows.map(({ account }) => ({ account, key: null })));
  const actorName = useActors(rows.rows.map(({ person }) => person));
  const account: Column<AgentSignInShape> = {
    name: 'account',
    label: 'Account',
    from: 'md',
    show: (row) => names.account(row.account),
  };
  const revoke: Column<AgentSignInShape> = {
    name: 'revoke',
    label: '',
    align: 'right',
    show: (row) => row.status === 'enabled' && <Revoke signIn={row} />,
  };
  const columns: Column<AgentSignInShape>[] = [
    {
      name: 'client',
      label: 'Coding agent',
      show: ({ client }) => (
        <Text size="sm" fw={600}>
          {clientLabels[client]}
        </Text>
      ),
    },
    {
      name: 'person',
      label: 'User',
      from: 'sm',
      show: ({ person }) => <span className="wrap">{actorName(person)}</span>,
    },
    ...(seesInstallation(me) ? [account] : []),
    { name: 'address', label: 'Address', from: 'lg', show: ({ address }) => address },
    statusColumn({ from: 'sm' }),
    timeColumn('refreshed', 'Last refreshed', ({ refreshed_at: at }) => at, { from: 'md' }),
    timeColumn('expires', 'Expires', ({ expires_at: at }) => at, { from: 'lg' }),
    ...(me.role === 'viewer' ? [] : [revoke]),
  ];
  return (
    <>
      <PageHead
        title="Coding agents"
        text="Coding agents that are signed in. Their requests are billed to an API key of the user."
        actions={!seesInstallation(me) && <ButtonLink label="Enter code" variant="default" to="/device" />}
      />
      <DataTable
        label="Sign-ins of coding agents"
        isFolding
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        empty={
          <EmptyState
            icon="person"
            title="No sign-ins yet"
            text="Account users sign in with /login in Claude Code. The setting agent_sign_in must allow it."
          />
        }
      />
    </>
  );
}

function Revoke({ signIn }: { signIn: AgentSignInShape }) {
  const revoking = useChange(() => call('POST /agent-sign-ins/{id}/revoke', { id: signIn.id, body: {} }), {
    done: 'Sign-in revoked.',
  });
  return (
    <ConfirmButton
      size="xs"
      label="Revoke"
      aria-label={`Revoke ${clientLabels[signIn.client]}`}
      title={`Revoke the sign-in of ${clientLabels[signIn.client]}?`}
      text="New requests of this sign-in are rejected. The user can sign in again."
      change={revoking}
      input={undefined}
    />
  );
}
