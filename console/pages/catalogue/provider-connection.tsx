// How a new provider is reached: its name, address and key. Saving makes it; nothing is sold over it yet.

import { Button, Group, PasswordInput, Stack, Switch, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { CatalogueShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, ask } from '../../api.ts';
import { objectFaults } from '../../catalogue-faults.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { useChange } from '../../queries.ts';
import { words } from '../../words.ts';

export interface Connection {
  kind: string;
  name: string;
  base_url: string;
  api_key: string;
  private_network: boolean;
}

const SANDBOX_KIND = 'sandbox';

interface ConnectionFormProps {
  connection: Connection;
  /** The name under which it was saved already: then that one is mended. */
  saved: string | null;
  onBack: (() => void) | null;
  onSaved: (connection: Connection) => void;
}

export function ConnectionForm({ connection, saved, onBack, onSaved }: ConnectionFormProps) {
  const form = useForm({ initialValues: connection });
  const isInside = connection.kind === SANDBOX_KIND;
  const save = useChange(async (wanted: Connection) => {
    if (saved === null) await refuseTaken(wanted.name);
    await ask('/apply', { body: { document: { providers: { [wanted.name]: documentOf(wanted) } } } });
    return wanted;
  });
  const submit = form.onSubmit((values) => {
    const wanted = {
      ...values,
      name: values.name.trim(),
      base_url: values.base_url.trim(),
      api_key: values.api_key.trim(),
    };
    save.mutate(wanted, {
      onSuccess: onSaved,
      onError: (failure) => form.setErrors(faultsOf(failure, wanted) ?? {}),
    });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack mt="md" maw={560}>
        <TextInput
          label={words.providerForm.name}
          description={words.providerForm.nameHint}
          required
          readOnly={saved !== null}
          {...form.getInputProps('name')}
        />
        {!isInside && (
          <>
            <TextInput
              label={words.providerForm.address}
              description={words.providerForm.addressHint}
              type="url"
              required
              {...form.getInputProps('base_url')}
            />
            <PasswordInput
              label={words.providerForm.key}
              description={saved === null ? words.providerForm.keyHint : words.providers.newKeyHint}
              autoComplete="off"
              {...form.getInputProps('api_key')}
            />
            <Switch
              label={words.providerForm.private}
              description={words.providerForm.privateHint}
              {...form.getInputProps('private_network', { type: 'checkbox' })}
            />
          </>
        )}
        {save.error !== null && faultsOf(save.error, form.values) === null && <FailureNotice failure={save.error} />}
        <Group>
          {onBack !== null && (
            <Button variant="default" onClick={onBack}>
              {words.providerForm.back}
            </Button>
          )}
          <Button type="submit" loading={save.isPending} disabled={form.values.name.trim() === ''}>
            {words.providerForm.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** A document replaces what it names: of a new one that must be nothing. */
async function refuseTaken(name: string): Promise<void> {
  const { document } = await ask<CatalogueShape>('/catalogue');
  if (!(name in document.providers)) return;
  const fault = { path: ['providers', name], message: words.providerForm.exists };
  throw new ApiFailure(409, 'conflict', words.providerForm.exists, [fault], null);
}

function documentOf({ kind, base_url, api_key, private_network }: Connection): object {
  if (kind === SANDBOX_KIND) return { kind };
  return {
    kind,
    ...(base_url !== '' && { base_url }),
    ...(api_key !== '' && { api_key }),
    private_network,
  };
}

function faultsOf(failure: unknown, { name, ...fields }: Connection): Record<string, string> | null {
  return objectFaults(failure, ['providers', name.trim()], (field) => field === 'name' || field in fields);
}
