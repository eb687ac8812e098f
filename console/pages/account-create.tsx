// A new account with its first credit, and the invitation of its owner where one is named: their link is shown once.

import {
  Alert,
  Button,
  Card,
  Fieldset,
  Group,
  MultiSelect,
  NativeSelect,
  SimpleGrid,
  Stack,
  Switch,
  TextInput,
} from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { AccountShape, GroupShape, InvitedPersonShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { fieldFaults } from '../form-faults.ts';
import { useOnce } from '../once.ts';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PersonLink } from '../parts/person-link.tsx';
import { useChange, usePages } from '../queries.ts';
import { words } from '../words.ts';

const blank = {
  name: '',
  groups: ['default'] as string[],
  credit: '',
  credit_kind: 'payment',
  reference: '',
  allowance: '',
  allowance_period: 'month',
  credit_line: '',
  isInviting: false,
  email: '',
};
type Fields = typeof blank;
type Form = UseFormReturnType<Fields>;

interface Made {
  account: AccountShape;
  email: string | null;
}

export function AccountCreate() {
  const [made, setMade] = useState<Made | null>(null);
  return made?.email == null ? (
    <>
      <PageHead title={words.accountForm.title} text={words.accountForm.text} />
      <CreateForm onMade={setMade} />
    </>
  ) : (
    <Invitation account={made.account} email={made.email} />
  );
}

function CreateForm({ onMade }: { onMade: (made: Made) => void }) {
  const navigate = useNavigate();
  const requestOf = useOnce();
  const form = useForm<Fields>({ initialValues: blank });
  const groups = usePages<GroupShape>('/groups', { limit: 1000 });
  const create = useChange(
    (body: object) =>
      ask<AccountShape>(
        '/accounts',
        requestOf(body, () => body),
      ),
    { done: words.accountForm.created },
  );
  const submit = form.onSubmit((values) =>
    create.mutate(bodyOf(values), {
      onError: (failure) => form.setErrors(fieldFaults(failure, Object.keys(blank)) ?? {}),
      onSuccess(account) {
        if (values.isInviting) onMade({ account, email: values.email.trim() });
        else void navigate({ to: '/accounts/$accountId', params: { accountId: account.id } as never });
      },
    }),
  );
  const isReady = form.values.name.trim() !== '' && (!form.values.isInviting || form.values.email.includes('@'));
  return (
    <form onSubmit={submit} noValidate>
      <Card withBorder maw={720}>
        <Stack>
          <TextInput label={words.accountForm.name} required data-autofocus {...form.getInputProps('name')} />
          <MultiSelect
            label={words.accountForm.groups}
            description={words.accountForm.groupsHint}
            data={groups.rows.map(({ name }) => name)}
            searchable
            {...form.getInputProps('groups')}
          />
          <CreditFields form={form} />
          <TermFields form={form} />
          <Switch
            label={words.accountForm.invite}
            description={words.accountForm.inviteHint}
            {...form.getInputProps('isInviting', { type: 'checkbox' })}
          />
          {form.values.isInviting && (
            <TextInput
              label={words.accountForm.email}
              type="email"
              required
              autoComplete="off"
              {...form.getInputProps('email')}
            />
          )}
          {create.error !== null && fieldFaults(create.error, Object.keys(blank)) === null && (
            <FailureNotice failure={create.error} />
          )}
          <Group justify="flex-end">
            <Button variant="default" component={Link} to="/accounts">
              {words.parts.cancel}
            </Button>
            <Button type="submit" loading={create.isPending} disabled={!isReady}>
              {words.accountForm.submit}
            </Button>
          </Group>
        </Stack>
      </Card>
    </form>
  );
}

function CreditFields({ form }: { form: Form }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
      <TextInput
        label={words.accountForm.credit}
        description={words.accountForm.creditHint}
        inputMode="decimal"
        placeholder="100.00"
        {...form.getInputProps('credit')}
      />
      <NativeSelect
        label={words.accountForm.creditKind}
        data={Object.entries(words.accountForm.creditKinds).map(([value, label]) => ({ value, label }))}
        {...form.getInputProps('credit_kind')}
      />
      <TextInput
        label={words.accountForm.reference}
        description={words.accountForm.referenceHint}
        {...form.getInputProps('reference')}
      />
    </SimpleGrid>
  );
}

function TermFields({ form }: { form: Form }) {
  return (
    <Fieldset legend={words.accountForm.more}>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
        <TextInput
          label={words.accountForm.allowance}
          description={words.accountForm.allowanceHint}
          inputMode="decimal"
          {...form.getInputProps('allowance')}
        />
        <NativeSelect
          label={words.accountForm.period}
          data={Object.entries(words.accounts.periods).map(([value, label]) => ({ value, label }))}
          {...form.getInputProps('allowance_period')}
        />
        <TextInput
          label={words.accountForm.creditLine}
          description={words.accountForm.creditLineHint}
          inputMode="decimal"
          {...form.getInputProps('credit_line')}
        />
      </SimpleGrid>
    </Fieldset>
  );
}

function bodyOf({ name, groups, credit_kind, allowance_period, ...values }: Fields): object {
  const given = (member: 'credit' | 'reference' | 'allowance' | 'credit_line') => values[member].trim();
  return {
    name: name.trim(),
    groups,
    ...(given('credit') !== '' && {
      credit: given('credit'),
      credit_kind,
      ...(given('reference') !== '' && { reference: given('reference') }),
    }),
    ...(given('allowance') !== '' && { allowance: given('allowance'), allowance_period }),
    ...(given('credit_line') !== '' && { credit_line: given('credit_line') }),
  };
}

/** The account is made; its owner is invited here, so that a failure of that can be tried again without a second account. */
function Invitation({ account, email }: { account: AccountShape; email: string }) {
  const navigate = useNavigate();
  const requestOf = useOnce();
  const [address, setAddress] = useState(email);
  const invite = useChange((body: object) =>
    ask<InvitedPersonShape>(
      '/people',
      requestOf(body, () => body),
    ),
  );
  const body = { email: address.trim(), role: 'owner', account: account.id };
  const toAccount = { to: '/accounts/$accountId', params: { accountId: account.id } as never } as const;
  return (
    <>
      <PageHead title={words.accountForm.createdTitle(account.name)} />
      <Card withBorder maw={720}>
        {invite.data !== undefined ? (
          <PersonLink person={invite.data} onDone={() => void navigate(toAccount)} />
        ) : (
          <Stack>
            {invite.error !== null && <Alert color="yellow">{words.accountForm.inviteFailed}</Alert>}
            <TextInput
              label={words.accountForm.email}
              type="email"
              value={address}
              onChange={({ currentTarget }) => setAddress(currentTarget.value)}
            />
            <FailureNotice failure={invite.error} />
            <Group justify="flex-end">
              <Button variant="default" component={Link} {...toAccount}>
                {words.accountForm.toAccount}
              </Button>
              <Button loading={invite.isPending} onClick={() => invite.mutate(body)}>
                {words.accountForm.invite}
              </Button>
            </Group>
          </Stack>
        )}
      </Card>
    </>
  );
}
