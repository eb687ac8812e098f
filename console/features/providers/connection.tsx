// The address and credential of a provider, for adding and editing it, and a test of the connection.

import { Alert, Group, List, Stack, Switch, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useEffect, useState } from 'react';
import type {
  CatalogShape,
  ProviderPresetShape,
  ProviderShape,
  ProviderTestShape,
} from '../../../src/admin-api/shapes.ts';
import { ApiFailure, call } from '../../api.ts';
import { countOf, formatMs } from '../../figures.ts';
import { useForm } from '../../form.ts';
import { objectFaults } from '../../form-faults.ts';
import { DialogButton, FormActions } from '../../parts/dialog-button.tsx';
import { ActionButton, ExternalLink, Icon } from '../../parts/link.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { useChange, useGet } from '../../queries.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { BatchFields, type BatchNeeds, type BatchValues, batchMembers, batchValues } from './batch-fields.tsx';
import {
  type AuthType,
  CredentialFields,
  type CredentialValues,
  credentialMembers,
  credentialValues,
  isCredentialField,
} from './credential-fields.tsx';
import {
  FurtherCredentials,
  furtherField,
  furtherMembers,
  furtherNameFault,
  furtherValues,
} from './further-credentials.tsx';
import {
  FurtherSettingFields,
  furtherSettingMembers,
  furtherSettingNames,
  furtherSettings,
} from './further-settings.tsx';

const privateHint = 'Required for private addresses such as 10.0.0.5 or localhost.';

const ownServerHint =
  'Allows requests to addresses of your own network, such as 10.0.0.5 or localhost. Turn it off only if the server has a public address.';

const addressHint = 'Base URL, for example https://api.example.com/v1 for Chat Completions.';

const regionAddressHint = 'Leave empty to use the provider’s own address for the region.';

const nameExists = 'A provider with this name exists. Choose another name.';

export const newKeyElsewhere =
  'Enter the key or secret again for a new host. A stored one is never sent to another host.';

type PlaceMember = CatalogShape['provider_kinds'][number]['needs'][number];

/** Where a kind runs: shown for kinds that need it. */
const placeFields: Readonly<Record<PlaceMember, { label: string; description: string }>> = {
  region: {
    label: 'Region',
    description: 'Where the models run, for example us-east5 or europe-west1. Vertex AI also has global, us and eu.',
  },
  project: { label: 'Project', description: 'The project ID in Google Cloud, not its number or display name.' },
};

export interface Connection extends CredentialValues, BatchValues {
  preset: ProviderPresetShape;
  kind: string;
  name: string;
  /** Empty: that of the preset, with `places` filled in. */
  base_url: string;
  /** The parts of the preset's address that the operator knows, by name. */
  places: Record<string, string>;
  /** Further members that the kind requires. */
  needs: readonly PlaceMember[];
  auth_types: readonly AuthType[];
  batch_needs: BatchNeeds;
  region: string;
  project: string;
  private_network: boolean;
}

const SANDBOX_KIND = 'sandbox';

/** The fields of a new provider. */
export function newConnection(
  preset: ProviderPresetShape,
  name: string,
  types: readonly AuthType[],
  batchNeeds: BatchNeeds,
): Connection {
  const usual = types.find(({ type }) => type === preset.auth[0]);
  return {
    preset,
    kind: preset.kind,
    name,
    base_url: '',
    places: Object.fromEntries(preset.fields.map((field) => [field.name, field.default ?? ''])),
    needs: preset.needs,
    auth_types: types,
    batch_needs: batchNeeds?.length === 0 ? null : batchNeeds, // elsewhere, batches follow from the address
    region: '',
    project: '',
    ...credentialValues(usual),
    ...batchValues({}, false),
    private_network: preset.private_network,
  };
}

/** The address of the preset; empty if the kind has one that follows from its region. */
export function presetAddress({ preset, places }: Pick<Connection, 'preset' | 'places'>): string {
  return (preset.base_url ?? '').replace(/\{(\w+)\}/g, (_, name: string) => (places[name] ?? '').trim());
}

interface ConnectionFormProps {
  connection: Connection;
  /** The provider if it was saved before; then it is edited. */
  saved: Connection | null;
  onBack: (() => void) | null;
  onSaved: (connection: Connection) => void;
}

export function ConnectionForm({ connection, saved, onBack, onSaved }: ConnectionFormProps) {
  const form = useForm({ initialValues: connection });
  const { preset } = connection;
  const [hasOwnAddress, setOwnAddress] = useState(connection.base_url !== '');
  const chooseOwnAddress = () => {
    form.setFieldValue('base_url', form.values.base_url || presetAddress(form.values));
    setOwnAddress(true);
  };
  const save = useChange(async (wanted: Connection) => {
    if (saved === null) await requireUnusedName(wanted.name);
    await call('POST /apply', { body: { document: { providers: { [wanted.name]: documentOf(wanted) } } } });
    return wanted;
  });
  const submit = form.onSubmit((values) => {
    const wanted = trimmed(values);
    save.mutate(wanted, {
      onSuccess: onSaved,
      onError(failure) {
        const faults = faultsOf(failure, wanted) ?? {};
        if (faults['base_url'] !== undefined && preset.fields.length === 0) chooseOwnAddress();
        form.setErrors(faults);
      },
    });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack mt="md" maw={560}>
        <SetUp preset={preset} />
        <TextInput
          label="Name"
          description="Routes refer to the provider by this name."
          required
          readOnly={saved !== null}
          {...form.getInputProps('name')}
        />
        {connection.kind !== SANDBOX_KIND && (
          <>
            <PlaceFields form={form} hasOwnAddress={hasOwnAddress} onOwnAddress={chooseOwnAddress} />
            <CredentialFields
              form={form}
              values={form.values}
              types={connection.auth_types}
              storedType={saved?.auth.type ?? null}
              {...(preset.auth[0] === 'none' && { noKeyHint: 'Leave empty if the server requires no key.' })}
            />
            {(hasOwnAddress || preset.private_network || preset.fields.length > 0) && (
              <Switch
                label="Private network"
                description={preset.private_network ? ownServerHint : privateHint}
                {...form.getInputProps('private_network', { type: 'checkbox' })}
              />
            )}
            <BatchFields form={form} needs={connection.batch_needs} />
          </>
        )}
        {save.error !== null && faultsOf(save.error, form.values) === null && <FailureNotice failure={save.error} />}
        <Group>
          {onBack !== null && <ActionButton label="Back" onClick={onBack} />}
          <ActionButton
            label="Save and test"
            isPrimary
            type="submit"
            loading={save.isPending}
            disabled={form.values.name.trim() === ''}
          />
        </Group>
      </Stack>
    </form>
  );
}

interface PlaceFieldsProps {
  form: UseFormReturnType<Connection>;
  hasOwnAddress: boolean;
  onOwnAddress: () => void;
}

/** Where the provider is: region and project, and its address or the parts of it. */
function PlaceFields({ form, hasOwnAddress, onOwnAddress }: PlaceFieldsProps) {
  const { needs, preset } = form.values;
  const isOfRegion = needs.includes('region');
  return (
    <>
      {needs.map((member) => (
        <TextInput key={member} {...placeFields[member]} required {...form.getInputProps(member)} />
      ))}
      {!hasOwnAddress &&
        preset.fields.map(({ name, label, description, example }, at) => (
          <TextInput
            key={name}
            label={label}
            description={`${description} For example ${example}.`}
            required
            {...form.getInputProps(`places.${name}`)}
            error={at === preset.fields.length - 1 && form.errors['base_url']}
          />
        ))}
      {hasOwnAddress ? (
        <TextInput
          label="Address"
          description={isOfRegion ? regionAddressHint : addressHint}
          type="url"
          required={!isOfRegion}
          {...form.getInputProps('base_url')}
        />
      ) : (
        <AddressLine address={presetAddress(form.values)} onChange={onOwnAddress} />
      )}
    </>
  );
}

function SetUp({ preset }: { preset: ProviderPresetShape }) {
  return (
    <Alert color="gray" title={preset.title}>
      <Text size="sm" className="wrap">
        {preset.set_up}{' '}
        <ExternalLink href={preset.docs} underline="always">
          Documentation
        </ExternalLink>
      </Text>
    </Alert>
  );
}

/** Empty: the address follows from the region. */
function AddressLine({ address, onChange }: { address: string; onChange: () => void }) {
  return (
    <Group gap="xs" justify="space-between">
      <Hint className="wrap">
        {address === '' ? 'The address follows from the region.' : `Requests are sent to ${address}.`}
      </Hint>
      <ActionButton label="Use another address" size="xs" variant="subtle" onClick={onChange} />
    </Group>
  );
}

function trimmed({ name, base_url, region, project, ...rest }: Connection): Connection {
  return {
    ...rest,
    name: name.trim(),
    base_url: base_url.trim(),
    region: region.trim(),
    project: project.trim(),
  };
}

/** Applying a document replaces existing objects, so a new provider must not exist. */
async function requireUnusedName(name: string): Promise<void> {
  const { document } = await call('GET /catalogue');
  if (!(name in document.providers)) return;
  const fault = { path: ['providers', name], message: nameExists };
  throw new ApiFailure(409, 'conflict', nameExists, [fault], null);
}

function documentOf(connection: Connection): object {
  const { kind, needs, auth_types, batch_needs, batches, region, project, private_network } = connection;
  if (kind === SANDBOX_KIND) return { kind };
  const base_url = connection.base_url || presetAddress(connection);
  return {
    kind,
    ...(base_url !== '' && { base_url }),
    ...(needs.includes('region') && { region }),
    ...(needs.includes('project') && { project }),
    ...credentialMembers(connection, auth_types),
    ...(batches && batchMembers(connection, batch_needs, true)),
    private_network,
  };
}

function faultsOf(failure: unknown, connection: Connection): Record<string, string> | null {
  const { name, auth: _, api_key: __, auth_types, ...fields } = connection;
  const isField = (field: string) =>
    field === 'name' || field in fields || isCredentialField(field, connection, auth_types);
  return objectFaults(failure, ['providers', name.trim()], isField);
}

export function ProviderEditButton({ provider }: { provider: ProviderShape }) {
  return (
    <DialogButton variant="filled" leftSection={<Icon name="pencil" />} label="Edit" title={`Edit ${provider.name}`}>
      {(close) => <ProviderEditForm provider={provider} onDone={close} />}
    </DialogButton>
  );
}

function ProviderEditForm({ provider, onDone }: { provider: ProviderShape; onDone: () => void }) {
  const catalog = useGet('/catalogue');
  const written = catalog.data?.document.providers[provider.name];
  if (written === undefined) return <FailureNotice failure={catalog.error} />;
  const kind = catalog.data?.provider_kinds.find((one) => one.kind === written.kind);
  return (
    <LoadedEditForm
      provider={provider}
      written={written}
      types={kind?.auth_types ?? []}
      batchNeeds={kind?.batches ?? null}
      onDone={onDone}
    />
  );
}

interface LoadedEditFormProps {
  provider: ProviderShape;
  written: CatalogShape['document']['providers'][string];
  types: readonly AuthType[];
  batchNeeds: BatchNeeds;
  onDone: () => void;
}

const ownFields: readonly string[] = ['base_url', 'private_network', 'batches', ...furtherSettingNames];

function LoadedEditForm({ provider, written, types, batchNeeds, onDone }: LoadedEditFormProps) {
  const { name } = provider;
  const form = useForm({
    initialValues: {
      base_url: written.base_url ?? '',
      region: written.region ?? '',
      project: written.project ?? '',
      ...credentialValues(written.auth),
      further: furtherValues(written.credentials),
      private_network: written.private_network,
      ...batchValues(written, provider.batches),
      ...furtherSettings(written),
    },
    validate: { further: { name: (name, { further }) => furtherNameFault(name, further) } },
  });
  const places = (['region', 'project'] as const).filter((member) => written[member] !== undefined);
  const apply = useReview({ done: 'Provider saved.', onDone });
  const fieldOf = (field: string) =>
    [...ownFields, ...places, ...(batchNeeds ?? [])].includes(field) || isCredentialField(field, form.values, types)
      ? field
      : furtherField(field, form.values.further, types);
  const faults = objectFaults(apply.failure, ['providers', name], (field) => fieldOf(field) !== null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per failure
  useEffect(() => form.setErrors(renamed(faults ?? {}, fieldOf)), [apply.failure]);
  const submit = form.onSubmit(({ base_url, private_network, further, ...values }) =>
    apply.preview(({ providers }) => {
      // Omitting the further credentials leaves them unchanged.
      const { credentials: _, auth: __, ...current } = providers[name] ?? written;
      const placed = Object.fromEntries(places.map((member) => [member, values[member].trim()]));
      // The address of another region follows from it.
      const isMoved = placed['region'] !== written.region && base_url === written.base_url;
      const address = isMoved ? undefined : base_url.trim();
      const credential = credentialMembers(values, types);
      const others = form.isDirty('further') ? { credentials: furtherMembers(further, types) } : {};
      const batched = batchMembers(values, batchNeeds, form.isDirty('batches'));
      const settings = { ...batched, ...furtherSettingMembers(values, batchNeeds !== null) };
      const connected = { ...current, ...placed, base_url: address, private_network };
      const changed = { ...connected, ...credential, ...others, ...settings };
      return { document: { providers: { [name]: changed } } };
    }),
  );
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {places.map((member) => (
          <TextInput key={member} {...placeFields[member]} required {...form.getInputProps(member)} />
        ))}
        <TextInput label="Address" type="url" required {...form.getInputProps('base_url')} />
        <CredentialFields
          form={form}
          values={form.values}
          types={types}
          storedType={written.auth?.type ?? ''}
          keptHint={newKeyElsewhere}
        />
        <FurtherCredentials form={form} types={types} />
        <Switch
          label="Private network"
          description={privateHint}
          {...form.getInputProps('private_network', { type: 'checkbox' })}
        />
        <BatchFields form={form} needs={batchNeeds} />
        <FurtherSettingFields form={form} hasBatches={batchNeeds !== null && form.values.batches} />
        {faults === null && <FailureNotice failure={apply.failure} />}
        <FormActions onCancel={onDone} label="Review changes" isPending={apply.isAsking} />
      </Stack>
      <ReviewDialog apply={apply} />
    </form>
  );
}

/** Faults by the fields that show them. */
function renamed(faults: Record<string, string>, fieldOf: (field: string) => string | null): Record<string, string> {
  return Object.fromEntries(Object.entries(faults).map(([field, text]) => [fieldOf(field) ?? field, text]));
}

export const testingText =
  'Sends a small request, free of charge, with each credential, and tests the bucket of batches if there is one.';

/** Tests a provider, then refetches its health. */
export function useProviderTest(onDone?: (result: ProviderTestShape) => void) {
  return useChange((name: string) => call('POST /providers/{name}/test', { id: name, body: {} }), {
    ...(onDone !== undefined && { onDone }),
  });
}

export function ProviderTest({ name }: { name: string }) {
  const test = useProviderTest();
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <ActionButton label="Test connection" icon="play" loading={test.isPending} onClick={() => test.mutate(name)} />
        <Hint>{testingText}</Hint>
      </Group>
      <FailureNotice failure={test.error} />
      {test.data !== undefined && !test.isPending && <TestResult result={test.data} />}
    </Stack>
  );
}

export function TestResult({ result }: { result: ProviderTestShape }) {
  const { ok, ms, models, message, credentials } = result;
  return (
    <Alert
      color={ok ? 'teal' : 'red'}
      icon={<Icon name={ok ? 'check' : 'warning'} />}
      title={ok ? `The provider responded in ${formatMs(ms)}.` : 'Test failed'}
      role="status"
    >
      <Text size="sm" className="wrap">
        {ok ? models !== null && `It lists ${countOf(models, 'model')}.` : message}
      </Text>
      {credentials.length > 1 && (
        <List size="sm" mt="xs">
          {credentials.map((one) => (
            <List.Item key={one.name} icon={<Icon name={one.ok ? 'check' : 'cross'} />}>
              <b>{one.name}</b>: {one.message}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  );
}
