// Creates a destination, and shows the secret of a webhook once.

import { Card, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import type { CreatedDestinationShape, DestinationShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useMe } from '../../me.tsx';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { AccountSelect } from '../../parts/fields.tsx';
import { SEARCH_MS } from '../../parts/found.ts';
import { Autocomplete } from '../../parts/later.tsx';
import { ButtonLink, pathOf, useGoTo } from '../../parts/link.tsx';
import { Hint, PageHead } from '../../parts/page.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { useCreate, useGet } from '../../queries.ts';
import { EventTypes } from './event-types.tsx';
import { addressTexts, kindLabels, nameOfDestination } from './words.ts';

type Kind = DestinationShape['kind'];

interface DestinationValues {
  kind: Kind;
  account: string;
  address: string;
  name: string;
  types: string[];
}

const FIELDS = ['kind', 'account', 'address', 'name', 'types'];

export function DestinationCreate() {
  const [created, setCreated] = useState<CreatedDestinationShape | null>(null);
  const goTo = useGoTo();
  const take = (made: CreatedDestinationShape) =>
    made.secret === null ? goTo(pathOf.destination(made.id)) : setCreated(made);
  return created === null ? <NewDestination onCreated={take} /> : <CreatedWebhook created={created} />;
}

function NewDestination({ onCreated }: { onCreated: (created: CreatedDestinationShape) => void | Promise<void> }) {
  const me = useMe();
  const { values: asked } = useFilters();
  const signIn = useGet('/sign-in').data;
  const form = useForm<DestinationValues>({
    initialValues: { kind: 'webhook', account: asked['account'] ?? '', address: '', name: '', types: ['*'] },
  });
  const create = useCreate('POST /destinations', { toBody, onDone: onCreated });
  const submit = form.onSubmit((values) =>
    create.mutate(values, { onError: (failure) => form.setErrors(fieldFaults(failure, FIELDS) ?? {}) }),
  );
  const { kind, account, types } = form.values;
  const kinds = Object.entries(kindLabels).map(([value, label]) => ({
    ...{ value, label },
    disabled: value === 'mail' && signIn?.password_reset === false,
  }));
  return (
    <>
      <PageHead title="Create destination" text="It receives events that occur after its creation." />
      <Card maw={820} p="lg" component="form" onSubmit={submit} noValidate>
        <Stack>
          <Stack gap={4}>
            <SegmentedControl
              aria-label="Kind"
              data={kinds}
              value={kind}
              onChange={(value) => form.setValues({ kind: value as Kind, address: '' })}
            />
            {signIn?.password_reset === false && <Hint size="xs">Email is not set up on this installation.</Hint>}
            {form.errors['kind'] !== undefined && (
              <Text c="red" size="sm">
                {form.errors['kind']}
              </Text>
            )}
          </Stack>
          {me.account === null && (
            <AccountSelect
              label="Account"
              description="The account whose events are sent. Without an account, operators receive the events of the installation and of all accounts."
              placeholder="All (operators only)"
              clearable
              {...form.getInputProps('account')}
              value={account || null}
              onChange={(id) => form.setFieldValue('account', id ?? '')}
            />
          )}
          <AddressField kind={kind} account={me.account?.id ?? account} {...form.getInputProps('address')} />
          <TextInput
            label="Name"
            description="Shown only in this console."
            autoComplete="off"
            {...form.getInputProps('name')}
          />
          <EventTypes
            patterns={types}
            onChange={(chosen) => form.setFieldValue('types', chosen)}
            isOfAccount={me.account !== null || account !== ''}
            error={form.errors['types']?.toString()}
          />
          <FormFailure failure={create.error} fields={FIELDS} />
          <FormActions label="Create destination" cancelTo="/destinations" isPending={create.isPending} />
        </Stack>
      </Card>
    </>
  );
}

/** Without an account of its own, an operator creates a destination of the operators. */
function toBody({ account, name, address, ...values }: DestinationValues): object {
  return {
    ...{ ...values, address: address.trim() },
    ...(name.trim() !== '' && { name: name.trim() }),
    ...(account !== '' && { account }),
  };
}

interface AddressFieldProps {
  kind: Kind;
  /** Empty: the operators'. */
  account: string;
  value?: string;
  onChange: (value: string) => void;
  error?: React.ReactNode;
  /** An empty field keeps the address. */
  isChange?: boolean;
}

const PEOPLE_SHOWN_MAX = 50;

/** Mails of an account go to its own enabled people only, who are offered. */
export function AddressField({ kind, account, isChange = false, ...field }: AddressFieldProps) {
  const { role } = useMe();
  const isPicked = kind === 'mail' && account !== '';
  const [search] = useDebouncedValue(field.value ?? '', SEARCH_MS);
  const query = { limit: PEOPLE_SHOWN_MAX, search: search.trim(), ...(role !== 'owner' && { account }) };
  const people = useGet('/people', { query, isEnabled: isPicked });
  const words = addressTexts[kind];
  const { onChange, ...others } = field;
  const isKept = isChange && kind === 'slack';
  const input = {
    required: !isKept,
    spellCheck: false,
    ...words,
    ...others,
    ...(isKept && { placeholder: 'Unchanged' }),
  };
  if (!isPicked)
    return <TextInput autoComplete="off" {...input} onChange={(event) => onChange(event.currentTarget.value)} />;
  const emails = (people.data?.data ?? []).flatMap(({ email, status }) =>
    email !== null && status === 'enabled' ? [email] : [],
  );
  return (
    <Autocomplete
      {...input}
      description={`Must be an enabled user of the account. ${words.description}`}
      data={[...new Set(emails)]}
      filter={({ options }) => options}
      onChange={onChange}
    />
  );
}

function CreatedWebhook({ created }: { created: CreatedDestinationShape }) {
  return (
    <>
      <PageHead
        title="Destination created"
        text={nameOfDestination(created)}
        actions={<ButtonLink label="View destination" to={pathOf.destination(created.id)} />}
      />
      <Stack maw={920}>
        <SecretOnce secret={created.secret ?? ''} label="Signing secret" />
        <Hint>
          Use it to verify the signature of each webhook, for example with a Standard Webhooks library. Then send a test
          from the page of the destination.
        </Hint>
      </Stack>
    </>
  );
}
