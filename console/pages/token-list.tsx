// Tokens of the admin API: listed, made, revoked.

import { Button, Code, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { TokenShape } from '../../src/admin-api/shapes.ts';
import { useActors } from '../actors.ts';
import { ask } from '../api.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { useNames } from '../names.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { When } from '../parts/when.tsx';
import { useChange, usePages } from '../queries.ts';
import { rolesToGive } from '../roles.ts';
import { words } from '../words.ts';
import { TokenCreate } from './token-create.tsx';

const { tokens } = words;

export function TokenList() {
  const me = useMe();
  const [isMaking, dialogue] = useDisclosure(false);
  const rows = usePages<TokenShape>('/tokens');
  const columns = useColumns(rows.rows);
  const create = rolesToGive(me.role).length > 0 && (
    <Button leftSection={<Icon name="plus" />} onClick={dialogue.open}>
      {tokens.create}
    </Button>
  );
  return (
    <>
      <PageHead title={tokens.title} text={tokens.text} actions={create} />
      <DataTable
        label={tokens.title}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        empty={<EmptyState icon="ticket" title={tokens.emptyTitle} text={tokens.emptyText} action={create} />}
      />
      <TokenCreate isOpen={isMaking} onClose={dialogue.close} />
    </>
  );
}

function useColumns(rows: readonly TokenShape[]): Column<TokenShape>[] {
  const me = useMe();
  const names = useNames(rows.map(({ account }) => ({ account, key: null })));
  const actorName = useActors(rows.map((row) => row.made_by));
  const account: Column<TokenShape> = {
    name: 'account',
    label: tokens.account,
    from: 'md',
    show: (row) => (row.account === null ? tokens.installation : names.account(row.account)),
  };
  const mayRevoke = rolesToGive(me.role).length > 0;
  const revoke: Column<TokenShape> = {
    name: 'revoke',
    label: '',
    align: 'right',
    show: (row) => row.status !== 'revoked' && <Revoke token={row} />,
  };
  return [
    { name: 'name', label: tokens.name, show: (row) => <NameCell token={row} /> },
    { name: 'role', label: tokens.role, show: ({ role }) => words.roles[role] },
    ...(isOfInstallation(me) ? [account] : []),
    {
      name: 'status',
      label: tokens.status,
      from: 'sm',
      show: ({ status }) => <StatusBadge status={status} label={tokens.statuses[status]} />,
    },
    { name: 'expires', label: tokens.expires, from: 'md', show: (row) => <When at={row.expires_at} /> },
    { name: 'made', label: tokens.created, from: 'lg', show: (row) => <When at={row.created_at} /> },
    { name: 'by', label: tokens.madeBy, from: 'lg', show: (row) => actorName(row.made_by) },
    ...(mayRevoke ? [revoke] : []),
  ];
}

function NameCell({ token }: { token: TokenShape }) {
  return (
    <Stack gap={2} align="flex-start">
      <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }} {...(token.name === '' && { c: 'dimmed' })}>
        {token.name || tokens.noName}
      </Text>
      <Code fz="xs" title={tokens.prefix}>
        {token.prefix}…
      </Code>
      {token.status !== 'enabled' && (
        <Text size="xs" c="dimmed" hiddenFrom="sm">
          {tokens.statuses[token.status]}
        </Text>
      )}
    </Stack>
  );
}

function Revoke({ token }: { token: TokenShape }) {
  const revoking = useChange(() => ask<TokenShape>(`/tokens/${token.id}/revoke`, { body: {} }), {
    done: tokens.revoked,
  });
  return (
    <ConfirmButton
      size="xs"
      label={tokens.revoke}
      aria-label={`${tokens.revoke} ${token.name || token.prefix}`}
      title={tokens.revokeTitle(token.name || token.prefix)}
      text={tokens.revokeText}
      onConfirm={() => revoking.mutateAsync(undefined)}
      isPending={revoking.isPending}
      failure={revoking.error}
    />
  );
}
