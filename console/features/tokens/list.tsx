// Admin tokens, with creation and revocation.

import { Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { TokenShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import type { CreatedTokenShape } from '../../endpoints.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { optionsOf, roleLabels } from '../../labels.ts';
import { type Role, seesInstallation, useBaseUrl, useMe } from '../../me.tsx';
import { useActors, useNames } from '../../names.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { type Column, DataTable, statusColumn, timeColumn } from '../../parts/data-table.tsx';
import { ConfirmButton, FormActions } from '../../parts/dialog-button.tsx';
import { Select } from '../../parts/later.tsx';
import { ActionButton, TextLink } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, PageHead } from '../../parts/page.tsx';
import { type FormStep, SecretOnce, SecretSteps } from '../../parts/secret-once.tsx';
import { DayField, useZone } from '../../parts/times.tsx';
import { useChange, useList } from '../../queries.ts';
import { startOfDay } from '../../times.ts';
import { markSecretSaved } from '../../unsaved.ts';
import { assignableRoles, RoleTexts } from '../people/invite.tsx';
import { RoleFields, roleMembers } from '../people/role-fields.tsx';

/** Up to this number of tokens, the page explains the roles. */
const FEW_ROWS = 8;

export function TokenList() {
  const me = useMe();
  const [isCreating, dialog] = useDisclosure(false);
  const rows = useList('/tokens');
  const columns = useColumns(rows.rows);
  const create = assignableRoles(me.role).length > 0 && (
    <ActionButton label="Create token" isPrimary icon="plus" onClick={dialog.open} />
  );
  return (
    <>
      <PageHead
        title="Admin tokens"
        text="Tokens authenticate programs to the admin API. Each token has a role and can be revoked at any time."
        actions={create}
      />
      <DataTable
        label="Admin tokens"
        isFolding
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        empty={
          <EmptyState
            icon="ticket"
            title="No admin tokens yet"
            text="A program with a token can use the admin API within its role: create keys, add credit, read usage."
            action={create}
          />
        }
      />
      {rows.rows.length > 0 && rows.rows.length <= FEW_ROWS && (
        <Stack mt="md">
          <RoleTexts roles={tokenRoles(seesInstallation(me) ? 'operator' : 'owner')} />
          <TextLink size="sm" to="/reference" search={{ api: 'admin' }}>
            Admin API reference
          </TextLink>
        </Stack>
      )}
      <TokenCreate isOpen={isCreating} onClose={dialog.close} />
    </>
  );
}

function useColumns(rows: readonly TokenShape[]): Column<TokenShape>[] {
  const me = useMe();
  const names = useNames(rows.map(({ account }) => ({ account, key: null })));
  const actorName = useActors(rows.map((row) => row.made_by));
  const account: Column<TokenShape> = {
    name: 'account',
    label: 'Account',
    from: 'md',
    show: (row) => (row.account === null ? 'Entire installation' : names.account(row.account)),
  };
  const mayRevoke = assignableRoles(me.role).length > 0;
  const revoke: Column<TokenShape> = {
    name: 'revoke',
    label: '',
    align: 'right',
    show: (row) => row.status !== 'revoked' && <Revoke token={row} />,
  };
  return [
    { name: 'name', label: 'Name', show: (row) => <NameCell token={row} /> },
    { name: 'role', label: 'Role', show: ({ role }) => roleLabels[role] },
    ...(seesInstallation(me) ? [account] : []),
    statusColumn({ from: 'sm' }),
    timeColumn('expires', 'Expires', ({ expires_at: at }) => at, { from: 'md' }),
    timeColumn('made', 'Created', ({ created_at: at }) => at, { from: 'lg' }),
    { name: 'by', label: 'Created by', from: 'lg', show: (row) => actorName(row.made_by) },
    ...(mayRevoke ? [revoke] : []),
  ];
}

function NameCell({ token }: { token: TokenShape }) {
  return (
    <Stack gap={2} align="flex-start">
      <Text size="sm" fw={600} className="wrap" {...(token.name === '' && { c: 'dimmed' })}>
        {token.name || 'Unnamed token'}
      </Text>
      <Code fz="xs">{token.prefix}…</Code>
    </Stack>
  );
}

function Revoke({ token }: { token: TokenShape }) {
  const revoking = useChange(() => call('POST /tokens/{id}/revoke', { id: token.id, body: {} }), {
    done: 'Admin token revoked.',
  });
  return (
    <ConfirmButton
      size="xs"
      label="Revoke"
      aria-label={`Revoke ${token.name || token.prefix}`}
      title={`Revoke ${token.name || token.prefix}?`}
      text="Requests with this token are rejected. You cannot undo this."
      change={revoking}
      input={undefined}
    />
  );
}

const expiryLabels = {
  never: 'Never',
  '1d': 'In 1 day',
  '30d': 'In 30 days',
  '90d': 'In 90 days',
  '365d': 'In 1 year',
  at: 'Custom date',
};

const FIELDS = ['name', 'role', 'account', 'expires_at'];
const DAY_MS = 86_400_000;
const daysOf = { '1d': 1, '30d': 30, '90d': 90, '365d': 365 } as const;

type Expiry = 'never' | 'at' | keyof typeof daysOf;

interface TokenValues {
  name: string;
  role: TokenRole;
  account: string;
  expiry: Expiry;
  /** For 'at': "2027-01-31". */
  day: string;
}

export function TokenCreate({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const zone = useZone();
  const toBody = (values: TokenValues) => bodyOf(values, zone);
  return (
    <SecretSteps
      isOpen={isOpen}
      onClose={onClose}
      title="Create token"
      creates="POST /tokens"
      options={{ toBody, done: 'Admin token created.' }}
      form={(step) => <TokenForm {...step} />}
      result={(token, close) => <CreatedToken token={token} onDone={close} />}
    />
  );
}

type TokenRole = TokenShape['role'];

/** The role with the fewest permissions is last. */
function tokenRoles(role: Role): readonly TokenRole[] {
  return role === 'operator' ? ['scim', ...assignableRoles(role)] : assignableRoles(role);
}

function bodyOf({ name, expiry, day, ...role }: TokenValues, zone: string): object {
  return {
    ...roleMembers(role),
    ...(name.trim() !== '' && { name }),
    expires_at: endOf(expiry, day, zone),
  };
}

function endOf(expiry: Expiry, day: string, zone: string): string | null {
  if (expiry === 'never') return null;
  // The API reports an invalid day.
  if (expiry === 'at') return new Date(startOfDay(day, zone) ?? Number.NaN).toJSON() ?? day;
  return new Date(Date.now() + daysOf[expiry] * DAY_MS).toISOString();
}

function CreatedToken({ token, onDone }: { token: CreatedTokenShape; onDone: () => void }) {
  const url = useBaseUrl();
  const path = token.role === 'scim' ? '/scim/v2/Users' : '/api/v1/me';
  const curl = `curl ${url}${path} \\\n  -H 'authorization: Bearer ${token.token}'`;
  return (
    <Stack>
      <SecretOnce secret={token.token} label="Admin token" />
      <Text size="sm" fw={600}>
        Example
      </Text>
      <CodeBlock code={curl} onCopied={markSecretSaved} />
      <Group justify="flex-end">
        <ActionButton label="Done" isPrimary onClick={onDone} />
      </Group>
    </Stack>
  );
}

function TokenForm({ onSubmit, isPending, failure }: FormStep<TokenValues>) {
  const me = useMe();
  const roles = tokenRoles(me.role);
  const form = useForm<TokenValues>({
    initialValues: { name: '', role: roles.at(-1) ?? 'member', account: '', expiry: '90d', day: '' },
  });
  const { expiry } = form.values;
  const faults = fieldFaults(failure, FIELDS);
  return (
    <form onSubmit={form.onSubmit(onSubmit)}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="For example “billing export”."
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
          error={faults?.['name']}
        />
        <RoleFields roles={roles} form={form} faults={faults} />
        <Select
          label="Expires"
          allowDeselect={false}
          data={optionsOf(expiryLabels)}
          value={expiry}
          onChange={(value) => form.setFieldValue('expiry', value as Expiry)}
          error={faults?.['expires_at']}
        />
        {expiry === 'at' && <DayField label="Expiration date" note="00:00" required {...form.getInputProps('day')} />}
        <RoleTexts roles={roles} />
        {faults === null && <FailureNotice failure={failure} />}
        <FormActions label="Create token" isPending={isPending} />
      </Stack>
    </form>
  );
}
