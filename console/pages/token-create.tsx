// Making a token: role, account where the role is of one, and when it ends; then its secret, shown once, with a request
// that works.

import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { TokenShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { useBaseUrl } from '../base-url.ts';
import { fieldFaults } from '../form-faults.ts';
import { isOfInstallation, type Role, useMe } from '../me.tsx';
import { useOnce } from '../once.ts';
import { AccountSelect } from '../parts/account-select.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { RoleTexts } from '../parts/role-texts.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { useChange } from '../queries.ts';
import { rolesToGive } from '../roles.ts';
import { words } from '../words.ts';

const { tokens } = words;
const FIELDS = ['name', 'role', 'account', 'expires_at'];
const DAY_MS = 86_400_000;
const daysOf = { '1d': 1, '30d': 30, '90d': 90, '365d': 365 } as const;

type Expiry = 'never' | 'at' | keyof typeof daysOf;
type CreatedToken = TokenShape & { token: string };

interface TokenValues {
  name: string;
  role: Role;
  account: string;
  expiry: Expiry;
  /** "2027-01-31", where that is 'at'. */
  day: string;
}

export function TokenCreate({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={tokens.createTitle}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': words.parts.close }}
    >
      <Steps onClose={onClose} />
    </Modal>
  );
}

function Steps({ onClose }: { onClose: () => void }) {
  const requestOf = useOnce();
  const making = useChange(
    (values: TokenValues) =>
      ask<CreatedToken>(
        '/tokens',
        requestOf(values, () => bodyOf(values)),
      ),
    { done: tokens.made },
  );
  if (making.data !== undefined) return <Made token={making.data} onDone={onClose} />;
  return <TokenForm onSubmit={making.mutate} isPending={making.isPending} failure={making.error} />;
}

/** An account that the role has none of is not sent. */
function bodyOf({ name, role, account, expiry, day }: TokenValues): object {
  return {
    role,
    ...(name.trim() !== '' && { name }),
    ...(account !== '' && !isOfInstallation({ role }) && { account }),
    expires_at: endOf(expiry, day),
  };
}

function endOf(expiry: Expiry, day: string): string | null {
  if (expiry === 'never') return null;
  if (expiry === 'at') return `${day}T00:00:00Z`;
  return new Date(Date.now() + daysOf[expiry] * DAY_MS).toISOString();
}

function Made({ token, onDone }: { token: CreatedToken; onDone: () => void }) {
  const url = useBaseUrl();
  const curl = `curl ${url}/api/v1/me \\\n  -H 'authorization: Bearer ${token.token}'`;
  return (
    <Stack>
      <SecretOnce secret={token.token} label={tokens.secretLabel} />
      <Text size="sm" fw={600}>
        {tokens.tryIt}
      </Text>
      <CodeBlock code={curl} />
      <Group justify="flex-end">
        <Button onClick={onDone}>{tokens.done}</Button>
      </Group>
    </Stack>
  );
}

interface TokenFormProps {
  onSubmit: (values: TokenValues) => void;
  isPending: boolean;
  failure: unknown;
}

function TokenForm({ onSubmit, isPending, failure }: TokenFormProps) {
  const me = useMe();
  const roles = rolesToGive(me.role);
  const form = useForm<TokenValues>({
    initialValues: { name: '', role: roles.at(-1) ?? 'member', account: '', expiry: '90d', day: '' },
  });
  const { role, expiry, account } = form.values;
  const faults = fieldFaults(failure, FIELDS);
  return (
    <form onSubmit={form.onSubmit(onSubmit)}>
      <Stack gap="sm">
        <TextInput
          label={tokens.name}
          description={tokens.nameHint}
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
          error={faults?.['name']}
        />
        <Select
          label={tokens.role}
          required
          allowDeselect={false}
          data={roles.map((value) => ({ value, label: words.roles[value] }))}
          value={role}
          onChange={(value) => form.setFieldValue('role', value as Role)}
          error={faults?.['role']}
        />
        {isOfInstallation(me) && !isOfInstallation({ role }) && (
          <AccountSelect
            label={tokens.account}
            required
            value={account || null}
            onChange={(id) => form.setFieldValue('account', id ?? '')}
            error={faults?.['account']}
          />
        )}
        <Select
          label={tokens.expiry}
          allowDeselect={false}
          data={Object.entries(tokens.expiries).map(([value, label]) => ({ value, label }))}
          value={expiry}
          onChange={(value) => form.setFieldValue('expiry', value as Expiry)}
          error={faults?.['expires_at']}
        />
        {expiry === 'at' && <TextInput label={tokens.expiryDay} type="date" required {...form.getInputProps('day')} />}
        <RoleTexts roles={roles} />
        {faults === null && <FailureNotice failure={failure} />}
        <Group justify="flex-end">
          <Button type="submit" loading={isPending}>
            {tokens.submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
