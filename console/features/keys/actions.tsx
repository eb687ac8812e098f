// Edits, enables, disables, rotates and revokes a key.

import { Checkbox, Group, NumberInput, Radio, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import type { KeyShape, RotatedKeyShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { ConfirmButton, DialogButton, FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { Modal } from '../../parts/later.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useCreate } from '../../queries.ts';
import { leaveSecret } from '../../unsaved.ts';
import { KeyFields, useGroupsOf } from './form.tsx';
import { changeBody, emptyValues, type KeyValues, valuesOf } from './values.ts';

const HOURS_MAX = 720;
const DEFAULT_HOURS = 24;

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
  const [choice, setChoice] = useState<'now' | 'later' | null>(null);
  const [hours, setHours] = useState<number | string>(DEFAULT_HOURS);
  const [isAsked, setAsked] = useState(false);
  const rotate = useCreate('POST /keys/{id}/rotate', { id: apiKey.id, onDone: onRotated });
  const submit = () => {
    setAsked(true);
    if (choice !== null) rotate.mutate({ grace: choice === 'now' ? '0s' : `${hours}h` });
  };
  return (
    <Stack>
      <Text size="sm">Creates a new secret for this key. Its name, limits and usage stay the same.</Text>
      <Radio.Group
        label="Old secret"
        value={choice}
        onChange={(chosen) => setChoice(chosen as 'now' | 'later')}
        error={isAsked && choice === null && 'Choose what happens to the old secret.'}
      >
        <Stack gap="sm" my="xs">
          <Radio
            value="now"
            label="Revoke it now"
            description="If it may have leaked. Requests with it are rejected at once."
            data-autofocus
          />
          <Radio value="later" label="Keep it for some hours" description="Until your applications have the new one." />
        </Stack>
      </Radio.Group>
      {choice === 'later' && (
        <NumberInput
          label="Hours"
          description={`1 to ${HOURS_MAX}`}
          min={1}
          max={HOURS_MAX}
          allowDecimal={false}
          value={hours}
          onChange={setHours}
          maw={160}
        />
      )}
      <FailureNotice failure={rotate.error} />
      <Group justify="flex-end">
        <ActionButton label="Cancel" onClick={onCancel} />
        <ActionButton label="Rotate" isPrimary loading={rotate.isPending} onClick={submit} />
      </Group>
    </Stack>
  );
}

function Rotated({ rotated, onClose }: { rotated: RotatedKeyShape; onClose: () => void }) {
  return (
    <Stack>
      <SecretOnce secret={rotated.key} label="Secret" />
      <Text size="sm">
        {Date.parse(rotated.grace_ends_at) <= Date.now() ? (
          'The old secret is revoked.'
        ) : (
          <>
            {'The old secret expires on'} <When at={rotated.grace_ends_at} isPrecise />
          </>
        )}
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
