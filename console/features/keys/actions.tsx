// Edits, enables, disables, rotates and revokes a key.

import { Checkbox, Group, Modal, NativeSelect, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { KeyShape, RotatedKeyShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { fieldFaults } from '../../form-faults.ts';
import { optionsOf } from '../../labels.ts';
import { ConfirmButton, DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { leaveSecret, SecretOnce } from '../../parts/secret-once.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useCreate } from '../../queries.ts';
import { KeyFields, useGroupsOf } from './form.tsx';
import { changeBody, emptyValues, type KeyValues, valuesOf } from './values.ts';

const graceLabels = {
  '0s': 'Immediately',
  '1h': 'In 1 hour',
  '24h': 'In 24 hours',
  '7d': 'In 7 days',
  '30d': 'In 30 days',
};

export function EditKey({ apiKey }: { apiKey: KeyShape }) {
  return (
    <DialogButton label="Edit" title="Edit API key" dialogSize="lg">
      {(close) => <EditForm apiKey={apiKey} onDone={close} />}
    </DialogButton>
  );
}

function EditForm({ apiKey, onDone }: { apiKey: KeyShape; onDone: () => void }) {
  const groups = useGroupsOf(apiKey.account);
  // The form needs the groups of the account to recognize a key without groups of its own.
  return groups === null ? null : <EditFields apiKey={apiKey} groups={groups} onDone={onDone} />;
}

interface EditFieldsProps {
  apiKey: KeyShape;
  groups: readonly string[];
  onDone: () => void;
}

function EditFields({ apiKey, groups, onDone }: EditFieldsProps) {
  const form = useForm<KeyValues>({ initialValues: valuesOf(apiKey, groups) });
  const change = useChange((body: object) => call('PATCH /keys/{id}', { id: apiKey.id, body }), {
    done: 'API key saved. Changes apply to new requests.',
    onDone,
  });
  const fields = Object.keys(emptyValues);
  const submit = form.onSubmit((values) => {
    const body = changeBody(form.getInitialValues(), values, Date.now());
    if (Object.keys(body).length === 0) return onDone();
    change.mutate(body, { onError: (failure) => form.setErrors(fieldFaults(failure, fields) ?? {}) });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <KeyFields form={form} accountGroups={groups} />
        <FormFailure failure={change.error} fields={fields} />
        <FormActions onCancel={onDone} label="Save" isPending={change.isPending} />
      </Stack>
    </form>
  );
}

export function ToggleKey({ apiKey }: { apiKey: KeyShape }) {
  const isDisabled = apiKey.status === 'disabled';
  const change = useChange(
    (status: 'enabled' | 'disabled') => call('PATCH /keys/{id}', { id: apiKey.id, body: { status } }),
    { done: isDisabled ? 'API key enabled.' : 'API key disabled.' },
  );
  if (isDisabled)
    return (
      <ActionButton label="Enable" isPrimary loading={change.isPending} onClick={() => change.mutate('enabled')} />
    );
  return (
    <ConfirmButton
      label="Disable"
      title="Disable this API key?"
      text="New requests with this key are rejected until you enable it. Running requests complete."
      change={change}
      input={'disabled'}
    />
  );
}

export function RotateKey({ apiKey }: { apiKey: KeyShape }) {
  const [isOpen, dialog] = useDisclosure(false);
  const [rotated, setRotated] = useState<RotatedKeyShape | null>(null);
  const close = () =>
    leaveSecret(() => {
      dialog.close();
      setRotated(null);
    });
  return (
    <>
      <ActionButton label="Rotate" onClick={dialog.open} />
      <Modal
        opened={isOpen}
        onClose={close}
        title={rotated === null ? 'Rotate this API key?' : 'API key rotated'}
        size="lg"
      >
        {rotated === null ? (
          <RotateForm apiKey={apiKey} onRotated={setRotated} onCancel={close} />
        ) : (
          <Rotated rotated={rotated} onClose={close} />
        )}
      </Modal>
    </>
  );
}

interface RotateFormProps {
  apiKey: KeyShape;
  onRotated: (rotated: RotatedKeyShape) => void;
  onCancel: () => void;
}

function RotateForm({ apiKey, onRotated, onCancel }: RotateFormProps) {
  const [grace, setGrace] = useState('24h');
  const rotate = useCreate('POST /keys/{id}/rotate', { id: apiKey.id, onDone: onRotated });
  return (
    <Stack>
      <Text size="sm">Creates a new secret for this key. Its name, limits and usage stay the same.</Text>
      <NativeSelect
        label="Old secret expires"
        value={grace}
        onChange={({ currentTarget }) => setGrace(currentTarget.value)}
        data={optionsOf(graceLabels)}
        data-autofocus
      />
      <FailureNotice failure={rotate.error} />
      <Group justify="flex-end">
        <ActionButton label="Cancel" onClick={onCancel} />
        <ActionButton label="Rotate" isPrimary loading={rotate.isPending} onClick={() => rotate.mutate({ grace })} />
      </Group>
    </Stack>
  );
}

function Rotated({ rotated, onClose }: { rotated: RotatedKeyShape; onClose: () => void }) {
  return (
    <Stack>
      <SecretOnce secret={rotated.key} label="Secret" />
      <Text size="sm">
        {'The old secret expires on'} <When at={rotated.grace_ends_at} isPrecise />
      </Text>
      <Group justify="flex-end">
        <ActionButton label="Done" isPrimary onClick={onClose} />
      </Group>
    </Stack>
  );
}

export function RevokeKey({ apiKey }: { apiKey: KeyShape }) {
  const [endsMessages, setEndsMessages] = useState(false);
  const revoke = useChange((now: boolean) => call('POST /keys/{id}/revoke', { id: apiKey.id, body: { now } }), {
    onDone: () => {
      notifications.show({
        message: endsMessages ? 'API key revoked. Its running requests were stopped.' : 'API key revoked.',
        color: 'road',
      });
    },
  });
  return (
    <ConfirmButton
      label="Revoke"
      color="red"
      variant="light"
      title="Revoke this API key permanently?"
      text={
        <Stack>
          <Text size="sm">All requests with this key are rejected. You cannot undo this. Its usage stays visible.</Text>
          <Checkbox
            label="Also stop running requests"
            description="Their clients receive an error and pay for the output produced so far."
            checked={endsMessages}
            onChange={({ currentTarget }) => setEndsMessages(currentTarget.checked)}
          />
        </Stack>
      }
      change={revoke}
      input={endsMessages}
    />
  );
}
