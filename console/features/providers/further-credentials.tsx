// Further credentials of a provider, each for all accounts, one account or one group: adding, editing and removing them.

import { Card, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { randomId } from '@mantine/hooks';
import type { CatalogShape } from '../../../src/admin-api/shapes.ts';
import { AccountSelect, FoundSelect } from '../../parts/fields.tsx';
import { foundGroups } from '../../parts/found.ts';
import { ActionButton } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import {
  type AuthType,
  CredentialFields,
  type CredentialValues,
  credentialMembers,
  credentialValues,
  isCredentialField,
} from './credential-fields.tsx';

export interface FurtherCredential extends CredentialValues {
  /** Unique within the form. */
  id: string;
  name: string;
  account: string | null;
  /** Empty: none. */
  group: string;
  /** The type whose secret may be stored under this name, empty for an API key; null for a new credential. */
  storedType: string | null;
}

type Written = CatalogShape['document']['providers'][string]['credentials'];

export function furtherValues(written: Written = {}): FurtherCredential[] {
  return Object.entries(written).map(([name, { auth, account, group }]) => ({
    ...credentialValues(auth),
    ...{ id: name, name, account, group: group ?? '', storedType: auth?.type ?? '' },
  }));
}

/** `credentials` of the provider in an applied document. The service removes those that are missing in it. */
export function furtherMembers(further: readonly FurtherCredential[], types: readonly AuthType[]) {
  return Object.fromEntries(
    further.map((one) => [
      one.name.trim(),
      { ...credentialMembers(one, types), account: one.account, group: one.group === '' ? null : one.group },
    ]),
  );
}

/** The field of the form that shows a fault of the API at `field`; null: none. */
export function furtherField(
  field: string,
  further: readonly FurtherCredential[],
  types: readonly AuthType[],
): string | null {
  for (const [at, one] of further.entries()) {
    const place = `credentials.${one.name.trim()}`;
    if (field === place) return `further.${at}.name`;
    const member = field.startsWith(`${place}.`) ? field.slice(place.length + 1) : '';
    if (['account', 'group'].includes(member) || isCredentialField(member, one, types))
      return `further.${at}.${member}`;
  }
  return null;
}

/** Two credentials of one name would be one in the document. */
export function furtherNameFault(name: string, further: readonly FurtherCredential[]): string | null {
  const isRepeated = further.filter((one) => one.name.trim() === name.trim()).length > 1;
  return isRepeated ? 'Another credential has this name.' : null;
}

type FurtherForm = Pick<
  UseFormReturnType<CredentialValues & { further: FurtherCredential[] }>,
  'values' | 'errors' | 'getInputProps' | 'clearErrors' | 'insertListItem' | 'removeListItem'
> & { setFieldValue(path: string, value: unknown): void };

interface FurtherCredentialsProps {
  form: FurtherForm;
  types: readonly AuthType[];
}

export function FurtherCredentials({ form, types }: FurtherCredentialsProps) {
  const blank = () => ({
    ...credentialValues(),
    ...{ id: randomId(), name: '', account: null, group: '', storedType: null },
  });
  return (
    <>
      {form.values.further.map((one, at) => (
        <FurtherFieldset key={one.id} form={form} at={at} types={types} />
      ))}
      <div>
        <ActionButton
          label="Add credential"
          icon="plus"
          size="xs"
          onClick={() => form.insertListItem('further', blank())}
        />
        <Hint size="xs" mt={4}>
          An account uses its own credentials, else those of its group, else the others.
        </Hint>
      </div>
    </>
  );
}

interface FurtherFieldsetProps extends FurtherCredentialsProps {
  at: number;
}

function FurtherFieldset({ form, at, types }: FurtherFieldsetProps) {
  const path = `further.${at}.`;
  const values = form.values.further[at] as FurtherCredential;
  const title = `Credential ${values.name.trim() || at + 1}`;
  return (
    <Card component="fieldset" style={{ minInlineSize: 0 }} m={0} aria-label={title}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Text fw={600} className="wrap">
            {title}
          </Text>
          <ActionButton
            label="Remove credential"
            size="xs"
            variant="subtle"
            color="red"
            icon="trash"
            onClick={() => form.removeListItem('further', at)}
          />
        </Group>
        {values.storedType === null && (
          <TextInput label="Name" required autoComplete="off" {...form.getInputProps(`${path}name`)} />
        )}
        <CredentialFields form={form} values={values} path={path} types={types} storedType={values.storedType} />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <AccountSelect
            label="Account"
            placeholder="All accounts"
            clearable
            value={values.account}
            onChange={(id) => form.setFieldValue(`${path}account`, id)}
            error={form.errors[`${path}account`]}
          />
          <FoundSelect
            label="Group"
            first={[{ value: '', label: 'All groups' }]}
            found={foundGroups}
            allowDeselect={false}
            value={values.group}
            onChange={(name) => form.setFieldValue(`${path}group`, name ?? '')}
            error={form.errors[`${path}group`]}
          />
        </SimpleGrid>
      </Stack>
    </Card>
  );
}
