// Edits, tests, enables and disables a destination, and replaces the secret of a webhook.

import { Stack, Text, TextInput } from '@mantine/core';
import type { DestinationShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { ConfirmButton, DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { useChange } from '../../queries.ts';
import { AddressField } from './create.tsx';
import { EventTypes } from './event-types.tsx';

interface ActionProps {
  destination: DestinationShape;
}

export function EditDestination({ destination }: ActionProps) {
  return (
    <DialogButton label="Edit" title="Edit destination" dialogSize="lg">
      {(close) => <EditForm destination={destination} onDone={close} />}
    </DialogButton>
  );
}

const FIELDS = ['name', 'address', 'types'];

/** The URL of a Slack-compatible webhook is not known: an empty field keeps it. */
function EditForm({ destination, onDone }: ActionProps & { onDone: () => void }) {
  const { id, kind, account } = destination;
  const shown = kind === 'slack' ? '' : destination.address;
  const form = useForm({
    initialValues: { name: destination.name, address: shown, types: destination.types },
  });
  const change = useChange((body: object) => call('PATCH /destinations/{id}', { id, body }), {
    done: 'Destination saved.',
    onDone,
  });
  const submit = form.onSubmit(({ name, address, types }) => {
    const body = {
      types,
      ...(name.trim() !== destination.name && { name: name.trim() }),
      ...(address.trim() !== shown && { address: address.trim() }),
    };
    change.mutate(body, { onError: (failure) => form.setErrors(fieldFaults(failure, FIELDS) ?? {}) });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput label="Name" autoComplete="off" data-autofocus {...form.getInputProps('name')} />
        <AddressField kind={kind} account={account ?? ''} isChange {...form.getInputProps('address')} />
        <EventTypes
          patterns={form.values.types}
          onChange={(types) => form.setFieldValue('types', types)}
          isOfAccount={account !== null}
          error={form.errors['types']?.toString()}
        />
        <FormFailure failure={change.error} fields={FIELDS} />
        <FormActions label="Save" onCancel={onDone} isPending={change.isPending} />
      </Stack>
    </form>
  );
}

export function ToggleDestination({ destination: { id, status } }: ActionProps) {
  const isEnabled = status === 'enabled';
  const body = { status: isEnabled ? 'disabled' : 'enabled' };
  const change = useChange(() => call('PATCH /destinations/{id}', { id, body }), {
    done: isEnabled ? 'Destination disabled.' : 'Destination enabled.',
  });
  return (
    <ConfirmButton
      label={isEnabled ? 'Disable' : 'Enable'}
      title={isEnabled ? 'Disable this destination?' : 'Enable this destination?'}
      text={
        isEnabled
          ? 'New events are not sent to it. Pending deliveries are kept, and are sent when you enable it again.'
          : 'Pending deliveries are sent now. Events that occurred while it was disabled are not sent.'
      }
      {...(!isEnabled && { color: 'road' })}
      change={change}
      input={undefined}
    />
  );
}

export function RotateSecret({ destination: { id } }: ActionProps) {
  return (
    <DialogButton label="Rotate secret" title="Rotate the signing secret">
      {(close) => <Rotation id={id} onDone={close} />}
    </DialogButton>
  );
}

function Rotation({ id, onDone }: { id: string; onDone: () => void }) {
  const rotate = useChange(() => call('POST /destinations/{id}/rotate', { id, body: {} }));
  if (rotate.data !== undefined)
    return (
      <Stack>
        <SecretOnce secret={rotate.data.secret ?? ''} label="New signing secret" />
        <ActionButton label="Done" isPrimary onClick={onDone} />
      </Stack>
    );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        rotate.mutate(undefined);
      }}
    >
      <Stack>
        <Text size="sm">Webhooks are signed with both secrets for 24 hours. Older secrets stop working now.</Text>
        <FailureNotice failure={rotate.error} />
        <FormActions label="Rotate secret" onCancel={onDone} isPending={rotate.isPending} />
      </Stack>
    </form>
  );
}

export function SendTest({ destination: { id } }: ActionProps) {
  const test = useChange(() => call('POST /destinations/{id}/test', { id, body: {} }), {
    done: 'Test sent. Its delivery appears below.',
  });
  return (
    <>
      <FailureNotice failure={test.error} />
      <ActionButton
        label="Send test"
        isPrimary
        icon="send"
        loading={test.isPending}
        onClick={() => test.mutate(undefined)}
      />
    </>
  );
}
