// Creates an account with its initial credit, and optionally invites its owner.

import { Alert, Card, Fieldset, Group, NativeSelect, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useState } from 'react';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { optionsOf } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { AmountField } from '../../parts/amount-field.tsx';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { ActionButton, ButtonLink, pathOf, useGoTo } from '../../parts/link.tsx';
import { FailureNotice, PageHead } from '../../parts/page.tsx';
import { useCreate } from '../../queries.ts';
import { PersonLink } from '../people/invite.tsx';
import { GroupsField, TermFields } from './edit.tsx';
import { PlaceFields } from './tree.tsx';

const creditKindLabels = { payment: 'Payment', promotion: 'Promotion: free credit' };

const blank = {
  name: '',
  groups: ['default'] as string[],
  credit: '',
  credit_kind: 'payment',
  reference: '',
  allowance: '',
  allowance_period: 'month',
  credit_line: '',
  parent: '',
  pays_from: 'own',
  isInviting: false,
  email: '',
};
type Fields = typeof blank;
type Form = UseFormReturnType<Fields>;

interface Created {
  account: AccountShape;
  email: string | null;
}

export function AccountCreate() {
  const [created, setCreated] = useState<Created | null>(null);
  return created?.email == null ? (
    <>
      <PageHead
        title="Create account"
        text="An account for a customer, team or project. You can edit everything later except the initial credit."
      />
      <CreateForm onCreated={setCreated} />
    </>
  ) : (
    <Invitation account={created.account} email={created.email} />
  );
}

function CreateForm({ onCreated }: { onCreated: (created: Created) => void }) {
  const goTo = useGoTo();
  const { role, account: own, hidden } = useMe();
  const { values: asked } = useFilters();
  const parent = asked['parent'] ?? own?.id ?? '';
  const place = parent === '' ? {} : { parent, pays_from: 'parent' };
  const ofOwner = own === null ? {} : { groups: own.groups };
  const form = useForm<Fields>({ initialValues: { ...blank, ...place, ...ofOwner } });
  const create = useCreate('POST /accounts', { done: 'Account created.' });
  const submit = form.onSubmit((values) =>
    create.mutate(bodyOf(values, role === 'operator'), {
      onError: (failure) => form.setErrors(fieldFaults(failure, Object.keys(blank)) ?? {}),
      onSuccess(account) {
        if (values.isInviting) onCreated({ account, email: values.email.trim() });
        else void goTo(pathOf.account(account.id));
      },
    }),
  );
  const isReady = form.values.name.trim() !== '' && (!form.values.isInviting || form.values.email.includes('@'));
  return (
    <form onSubmit={submit} noValidate>
      <Card maw={720}>
        <Stack>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          {!hidden.includes('group') && <GroupsField form={form} />}
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" style={{ alignItems: 'end' }}>
            <PlaceFields form={form} />
          </SimpleGrid>
          {role === 'operator' && form.values.pays_from === 'own' && <CreditFields form={form} />}
          <Fieldset legend={role === 'operator' ? 'Allowance and credit line' : 'Allowance'}>
            <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
              <TermFields form={form} />
            </SimpleGrid>
          </Fieldset>
          <Switch
            label="Invite owner"
            description="An owner creates API keys and invites other users of the account."
            {...form.getInputProps('isInviting', { type: 'checkbox' })}
          />
          {form.values.isInviting && (
            <TextInput label="Owner email" type="email" required autoComplete="off" {...form.getInputProps('email')} />
          )}
          <FormFailure failure={create.error} fields={Object.keys(blank)} />
          <FormActions label="Create account" cancelTo="/accounts" isPending={create.isPending} isDisabled={!isReady} />
        </Stack>
      </Card>
    </form>
  );
}

function CreditFields({ form }: { form: Form }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm" style={{ alignItems: 'end' }}>
      <AmountField
        label="Initial credit (USD)"
        description="Without credit or a credit line, requests are rejected."
        placeholder="100.00"
        {...form.getInputProps('credit')}
      />
      <NativeSelect label="Type" data={optionsOf(creditKindLabels)} {...form.getInputProps('credit_kind')} />
      <TextInput label="Reference" description="Invoice or transfer number." {...form.getInputProps('reference')} />
    </SimpleGrid>
  );
}

function bodyOf(
  { name, groups, credit_kind, allowance_period, parent, pays_from, ...values }: Fields,
  isOperator: boolean,
): object {
  const given = (member: 'credit' | 'reference' | 'allowance' | 'credit_line') => values[member].trim();
  return {
    name: name.trim(),
    ...((isOperator || groups.length > 0) && { groups }), // an owner may not see them
    ...(parent !== '' && { parent, pays_from: isOperator ? pays_from : 'parent' }),
    ...(pays_from === 'own' &&
      given('credit') !== '' && {
        credit: given('credit'),
        credit_kind,
        ...(given('reference') !== '' && { reference: given('reference') }),
      }),
    ...(given('allowance') !== '' && { allowance: given('allowance'), allowance_period }),
    ...(given('credit_line') !== '' && { credit_line: given('credit_line') }),
  };
}

/** Invites the owner separately, so that a failure can be retried without creating a second account. */
function Invitation({ account, email }: { account: AccountShape; email: string }) {
  const goTo = useGoTo();
  const [address, setAddress] = useState(email);
  const invite = useCreate('POST /people');
  const body = { email: address.trim(), role: 'owner', account: account.id };
  const toAccount = pathOf.account(account.id);
  return (
    <>
      <PageHead title={`Account ${account.name} created`} />
      <Card maw={720}>
        {invite.data !== undefined ? (
          <PersonLink person={invite.data} onDone={() => void goTo(toAccount)} />
        ) : (
          <Stack>
            {invite.error !== null && <Alert color="yellow">The account was created, but the invitation failed:</Alert>}
            <TextInput
              label="Owner email"
              type="email"
              value={address}
              onChange={({ currentTarget }) => setAddress(currentTarget.value)}
            />
            <FailureNotice failure={invite.error} />
            <Group justify="flex-end">
              <ButtonLink label="View account" variant="default" to={toAccount} />
              <ActionButton
                label="Invite owner"
                isPrimary
                loading={invite.isPending}
                onClick={() => invite.mutate(body)}
              />
            </Group>
          </Stack>
        )}
      </Card>
    </>
  );
}
